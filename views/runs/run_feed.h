// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <map>
#include <memory>
#include <vector>

#include <QDateTime>
#include <QObject>
#include <QTimer>

#include "views/runs/run_data.h"

namespace skippipe {

/// Reads the record for all views: the run list, and the runs that someone looks at. Four times a second while a run
/// goes on, else once a second a look at the file's time only.
class RunFeed : public QObject {
    Q_OBJECT
public:
    explicit RunFeed(std::filesystem::path file, QObject* parent = nullptr);
    ~RunFeed() override;

    const std::filesystem::path& file() const { return file_; }
    /// Newest first.
    const std::vector<RunInfo>& runs() const { return runs_; }
    const RunInfo* run(RunId id) const;
    /// The newest run that goes on; null: none.
    const RunInfo* running() const;
    /// Keeps a run loaded and growing; null where it cannot be read (see `error`).
    const RunData* watch(RunId id);
    void unwatch(RunId id);
    const RunData* data(RunId id) const;
    /// True while rows of a watched run are still being read in.
    bool is_loading() const { return loading_; }
    const QString& error() const { return error_; }

    void stop(RunId id);
    void set_tags(RunId id, const std::vector<std::string>& tags);
    void set_note(RunId id, const std::string& note);
    void remove(RunId id);
    /// Looks now instead of at the next tick.
    void poll();

Q_SIGNALS:
    void runs_changed();
    void run_grew(qint64 id);  ///< spans or metrics were added
    void error_changed();

private:
    bool has_changed();
    void open();
    void read();
    void fail(const QString& error);
    template <class Action>
    void attempt(const Action& action);

    std::filesystem::path file_;
    std::unique_ptr<Reader> reader_;
    std::vector<RunInfo> runs_;
    std::map<RunId, RunLoader> watched_;
    QTimer timer_;
    std::filesystem::file_time_type file_time_{}, log_time_{};
    std::uintmax_t log_size_ = 0;
    QString error_;
    bool loading_ = false;
};

}  // namespace skippipe
