// SPDX-License-Identifier: GPL-3.0-or-later
// The thread that writes a record, so that whoever gives it rows never waits for a disk or a lock.
#pragma once
#include <sys/stat.h>

#include <chrono>
#include <condition_variable>
#include <map>
#include <mutex>
#include <thread>

#include "core/record/rows.h"
#include "core/record/schema.h"
#include "core/record/spill.h"

namespace skippipe::record {

using Steady = std::chrono::steady_clock;

class Writer {
public:
    Writer(std::filesystem::path file, const RecorderLimits& limits);
    /// Writes what is left; a run that was not ended is told as died.
    ~Writer();

    /// Throws InputError.
    RunId begin(const RunStart& start);
    ResumedRun resume(RunId run, const RunCommit& commit, const std::optional<RunExtension>& extension);
    void keep_spans(RunId run, const SpanRetention& retention);
    /// Adds rows to what waits: `add` is given them. Waits up to `room_patience` where memory is full.
    template <class Add>
    void give(RunId run, std::size_t bytes, const Add& add) {
        std::unique_lock lock{mutex_};
        make_room(lock, bytes);
        auto& rows = queue_[run];
        add(rows);
        if (rows.end) urgent_ = true;
        queued_bytes_ += bytes;
        ++given_;
        if (urgent_ || queued_bytes_ >= batch_bytes) wake_.notify_one();
    }
    /// The number of the next span or metric of a run, `count` of which are taken.
    std::int64_t take_span_rows(RunId run, std::size_t count);
    std::int64_t take_metric_row(RunId run);
    bool flush(std::chrono::milliseconds patience);
    bool commit(RunId run, std::chrono::milliseconds patience);
    /// Waits until the run's end is in the record or in its spill.
    void wait_for_end(RunId run, std::chrono::milliseconds patience);
    std::vector<Command> take_commands(RunId run);

    RecordHealth health() const;
    Faults take_warnings();

private:
    static constexpr std::size_t batch_bytes = 1000 * sizeof(Span);

    /// A run begun here.
    struct Own {
        RunIdentity identity;
        RunId row = 0;  ///< its number in the file; another than it is known by where the file was replaced
        Spill spill;
        SpanRetention retention = {};
        std::int64_t last_command = 0;
        std::int64_t dropped = 0,
                     told_dropped = 0;  ///< spans that memory could not keep; of all lost, those in `warning`
        bool ended = false;
    };

    template <class Work>
    void write_durably(const Work& work);
    void make_room(std::unique_lock<std::mutex>& lock, std::size_t bytes);
    void work();
    bool is_due() const;
    void take_queue();
    void settle(bool last);
    void write_all();
    void write_backlog();
    void remember_file();
    void open_again(bool same);
    void follow_file();
    void move_to_new_file();
    void poll_commands();
    void fail(Fault fault, bool may_wait);
    void keep_ends();
    bool spill(RunId run, RunRows& rows);
    void recover();
    void make_spills();
    void note_dropped();
    void drop_strangers();
    void end_what_is_left();
    std::size_t backlog_bytes() const;

    const std::filesystem::path file_;
    const RecorderLimits limits_;

    std::mutex database_mutex_;  ///< held by whoever uses what follows: the thread, and `begin`
    std::optional<SQLite::Database> database_;
    struct stat seen_ {
    }, seen_index_{};  ///< the file, and its "-shm"
    std::map<RunId, Own> own_;
    std::map<RunId, RunRows> backlog_;  ///< taken from the queue, not in the record yet
    bool must_open_ = false;
    Steady::time_point retry_at_{}, failing_since_{};
    std::chrono::milliseconds pause_{};

    mutable std::mutex mutex_;  ///< of all that follows
    std::condition_variable wake_, settled_;
    std::map<RunId, RunRows> queue_;
    std::map<RunId, std::int64_t> last_span_, last_metric_;
    std::map<RunId, std::vector<Command>> commands_;
    std::map<RunId, bool> end_is_kept_;
    std::size_t queued_bytes_ = 0;
    std::map<RunId, std::int64_t> queue_dropped_;
    std::uint64_t given_ = 0, taken_ = 0, written_ = 0;  ///< calls of `give`: all, seen by the thread, in the record
    std::uint64_t polled_ = 0, polls_wanted_ = 0;        ///< looks at the commands
    bool urgent_ = false, stop_ = false;
    bool durable_ = false;  ///< what is written next is to outlive a loss of power
    Steady::time_point settled_at_ = Steady::now();
    RecordHealth health_;
    Faults warnings_;

    std::thread thread_;
};

}  // namespace skippipe::record
