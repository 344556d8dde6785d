// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <QObject>
#include <QTimer>

#include "core/experiment/sweep.h"

namespace skippipe {

class FileWorker;

/// A sweep as a person asks for it.
struct SweepSetup {
    std::vector<std::string> axes;  ///< as `skippipe sweep --vary` takes them
    int seeds = 1;
    int draws = 0;  ///< 0: every combination
    std::uint64_t draw_seed = 1;
    int iterations = 0;  ///< 0: the experiment's
    int parallel = 1;    ///< runs at a time
    bool operator==(const SweepSetup&) const = default;
};

/// The points that `skippipe sweep` makes of it. `folder`: where relative files of the experiment lie;
/// `full_pipelines`: planners that skip nothing. Throws InputError. Any thread may call it.
std::vector<SweepPoint> points_of(Experiment experiment, const std::filesystem::path& folder, const SweepSetup& setup,
                                  std::set<std::string> full_pipelines);

/// Starts `skippipe sweep` as a process of its own that outlives the window. What comes of it stands in the record.
class Sweeper : public QObject {
    Q_OBJECT
public:
    /// `folder` takes the experiment as it was and what the process said; `files`, which outlives this, writes there.
    Sweeper(FileWorker& files, std::filesystem::path record, std::filesystem::path folder, QObject* parent = nullptr);

    /// Where relative files of the document `of` (empty: never saved) lie.
    std::filesystem::path base_of(const std::filesystem::path& of) const;
    void start(const Experiment& experiment, const std::filesystem::path& of, const SweepSetup& setup);
    /// Ends its runs after the iteration at hand; a later start goes on with them where they have checkpoints.
    void cancel();
    bool is_running() const { return running_; }

Q_SIGNALS:
    void running_changed();
    void ended(const QString& said);  ///< what it said was wrong; empty: nothing

private:
    void launch(const std::filesystem::path& file, const SweepSetup& setup);
    bool lives() const;
    void look();
    void end(const QString& said);

    FileWorker& files_;
    std::filesystem::path record_, folder_, errors_;
    std::int64_t pid_ = 0, process_start_ = 0;  ///< of the sweep's process; 0: none yet
    bool running_ = false, cancelled_ = false;
    QTimer timer_;
};

}  // namespace skippipe
