// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <vector>

#include <QObject>
#include <QThread>

#include "views/runs/run_data.h"

namespace skippipe {

class RecordThread;

/// The record for all views: the run list, and the runs that someone looks at. A thread of its own reads and writes it,
/// so that no window waits for a disk or a lock; what it hands over never changes. Four times a second while a run goes
/// on, else once a second a look at the file's time only.
class RunFeed : public QObject {
    Q_OBJECT
public:
    explicit RunFeed(std::filesystem::path file, QObject* parent = nullptr);
    /// Waits until what was told to be written is.
    ~RunFeed() override;

    const std::filesystem::path& file() const { return file_; }
    /// Newest first.
    const std::vector<RunInfo>& runs() const { return runs_; }
    const RunInfo* run(RunId id) const;
    /// The newest run that goes on; null: none.
    const RunInfo* running() const;
    /// Keeps a run loaded and growing until as many have let it go: `run_grew` tells when there is more of it.
    void watch(RunId id);
    void unwatch(RunId id);
    /// The run as it was last told; null: nobody watches it, or nothing was read yet.
    std::shared_ptr<const RunData> data(RunId id) const;
    /// Spans of this network time are wanted too: of a long run only the newest are read unasked.
    void want(RunId id, double begin_s, double end_s);
    /// Whether the record was looked at since this feed began.
    bool has_looked() const { return looked_; }
    /// True while rows of a watched run are still being read in.
    bool is_loading() const { return loading_ || heard_ < asked_; }
    const QString& error() const { return error_; }

    /// "stop", "pause", "resume", or "fail" with its payload.
    void send(RunId id, const std::string& command, const std::string& payload_json = "{}");
    void set_tags(RunId id, const std::vector<std::string>& tags);
    void set_note(RunId id, const std::string& note);
    void remove(RunId id);
    /// Does `work` with the record on its thread, then `done` on this one with what went wrong (empty: nothing).
    void ask(std::function<void(Reader&)> work, std::function<void(const QString& fault)> done);
    /// Looks now instead of at the next tick; does not wait for it.
    void poll();

Q_SIGNALS:
    void runs_changed();
    void run_grew(qint64 id);  ///< spans or metrics were added
    void loading_ended();
    void error_changed();              ///< whether and why the record cannot be read
    void refused(const QString& why);  ///< a command, tag or note that could not be written

private:
    friend class RecordThread;
    struct News;
    void hear(const News& news);
    void write(std::function<void(Reader&)> work);
    void forget(RunId id);

    std::filesystem::path file_;
    std::vector<RunInfo> runs_;
    std::map<RunId, std::shared_ptr<const RunData>> data_;  ///< of every watched run; null: not read yet
    std::map<RunId, int> watchers_;
    QString error_;
    bool looked_ = false, loading_ = false;
    int asked_ = 0, heard_ = 0;  ///< requests that change what is read
    QThread thread_;
    RecordThread* record_;
};

}  // namespace skippipe
