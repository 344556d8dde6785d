// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/record/writer.h"

#include <algorithm>

#include <fmt/format.h>
#include <sqlite3.h>
#include <unistd.h>

#include "core/record/resume.h"
#include "core/record/values.h"
#include "core/record/write.h"

namespace skippipe::record {

namespace {

using std::chrono::milliseconds;

constexpr auto batch_age = milliseconds{250};
constexpr auto look_for_commands = milliseconds{50};
constexpr auto room_patience = milliseconds{400}, working_room_patience = milliseconds{2'000};
constexpr int lock_patience_ms = 2'000;  ///< the thread's; `begin` waits as long as every opener does
constexpr int begin_patience_ms = 10'000;
constexpr auto first_pause = milliseconds{200}, longest_pause = milliseconds{10'000};
constexpr auto reopen_pause = milliseconds{1'000};  ///< what lasts this long may be the connection's own trouble
constexpr auto end_patience = milliseconds{6'000};  ///< locked at the very end: then the end is spilled

bool is_lock(int code) { return (code & 0xFF) == SQLITE_BUSY || (code & 0xFF) == SQLITE_LOCKED; }

InputError replaced(const std::filesystem::path& file) {
    return InputError{file.string(), "another file, or none, is in the record's place", "",
                      "Put the record back: stop the run before it is replaced"};
}

std::string dropped_words(std::int64_t spans) {
    return fmt::format("{} spans could not be kept while the record was not writable; losses and times are all there",
                       spans);
}

}  // namespace

Writer::Writer(std::filesystem::path file, const RecorderLimits& limits) : file_(std::move(file)), limits_(limits) {
    database_.emplace(open(file_, OpenMode::create));
    told(file_, [&] {
        // Whether it can be written to is found out here, before anything is trained.
        SQLite::Transaction{*database_, SQLite::TransactionBehavior::IMMEDIATE};
        database_->setBusyTimeout(lock_patience_ms);
    });
    remember_file();
    take_in_spills(*database_, file_);
    thread_ = std::thread{[this] { work(); }};
}

Writer::~Writer() {
    {
        const std::lock_guard lock{mutex_};
        stop_ = true;
        wake_.notify_one();
    }
    thread_.join();
    struct stat now {};
    if (database_ && (::stat(file_.c_str(), &now) != 0 || !same_file(now, seen_))) forget_log(*database_);
}

RunId Writer::begin(const RunStart& start) {
    const std::lock_guard database_lock{database_mutex_};
    return told(file_, [&] {
        follow_file();
        RunIdentity identity{start, this_process(), utc_now()};
        RunId run = 0;
        write_durably([&] {
            SQLite::Transaction transaction{*database_, SQLite::TransactionBehavior::IMMEDIATE};
            run = insert_run(*database_, 0, start, identity.process, identity.started_utc);
            transaction.commit();
        });
        own_.insert_or_assign(run, Own{identity, run, Spill{file_, run, identity, limits_.spill_bytes}});
        return run;
    });
}

ResumedRun Writer::resume(RunId run, const RunCommit& commit, const std::optional<RunExtension>& extension) {
    const std::lock_guard database_lock{database_mutex_};
    return told(file_, [&] {
        follow_file();
        TakenUp taken;
        write_durably([&] { taken = take_up_run(*database_, file_, run, commit, extension, this_process()); });
        own_.insert_or_assign(run, Own{taken.identity, run, Spill{file_, run, taken.identity, limits_.spill_bytes}});
        const std::lock_guard lock{mutex_};
        last_span_[run] = taken.last_span;
        last_metric_[run] = taken.last_metric;
        end_is_kept_[run] = false;
        return taken.resumed;
    });
}

void Writer::keep_spans(RunId run, const SpanRetention& retention) {
    const std::lock_guard database_lock{database_mutex_};
    if (const auto own = own_.find(run); own != own_.end()) own->second.retention = retention;
}

/// With as much patience as every opener has; on the disk when it returns.
template <class Work>
void Writer::write_durably(const Work& work) {
    const auto prepare = [&](int patience_ms, const char* synchronous) {
        database_->setBusyTimeout(patience_ms);
        database_->exec(std::string{"PRAGMA synchronous = "} + synchronous);
    };
    prepare(begin_patience_ms, "FULL");
    try {
        work();
    } catch (...) {
        prepare(lock_patience_ms, "NORMAL");
        throw;
    }
    prepare(lock_patience_ms, "NORMAL");
}

std::int64_t Writer::take_span_rows(RunId run, std::size_t count) {
    const std::lock_guard lock{mutex_};
    auto& last = last_span_[run];
    last += static_cast<std::int64_t>(count);
    return last - static_cast<std::int64_t>(count) + 1;
}

std::int64_t Writer::take_metric_row(RunId run) {
    const std::lock_guard lock{mutex_};
    return ++last_metric_[run];
}

void Writer::make_room(std::unique_lock<std::mutex>& lock, std::size_t bytes) {
    const auto is_full = [&] { return queued_bytes_ > 0 && queued_bytes_ + bytes > limits_.memory_bytes / 2; };
    if (is_full()) wake_.notify_one();
    // While it writes, waiting loses nothing; while it cannot, nobody shall wait long.
    const auto patience = health_.writable ? working_room_patience : room_patience;
    if (settled_.wait_for(lock, patience, [&] { return !is_full(); })) return;
    for (auto& [run, rows] : queue_) queue_dropped_[run] += rows.drop_oldest_spans(rows.bytes() / 2);
    queued_bytes_ = 0;
    for (const auto& [run, rows] : queue_) queued_bytes_ += rows.bytes();
}

bool Writer::flush(milliseconds patience) {
    std::unique_lock lock{mutex_};
    const auto asked = given_;
    const auto looks = polls_wanted_ = polled_ + 2;  // one may have looked before the call and not said so yet
    urgent_ = true;
    wake_.notify_one();
    return settled_.wait_for(lock, patience, [&] { return written_ >= asked && polled_ >= looks; });
}

/// A heartbeat is a write of its own: flushing its log flushes all that was written before.
bool Writer::commit(RunId run, milliseconds patience) {
    {
        const std::lock_guard lock{mutex_};
        durable_ = true;
    }
    give(run, 0, [](RunRows& all) { all.heartbeat = true; });
    return flush(patience);
}

void Writer::wait_for_end(RunId run, milliseconds patience) {
    std::unique_lock lock{mutex_};
    settled_.wait_for(lock, patience, [&] { return end_is_kept_[run]; });
}

std::vector<Command> Writer::take_commands(RunId run) {
    const std::lock_guard lock{mutex_};
    return std::exchange(commands_[run], {});
}

RecordHealth Writer::health() const {
    const std::lock_guard lock{mutex_};
    return health_;
}

Faults Writer::take_warnings() {
    const std::lock_guard lock{mutex_};
    return std::exchange(warnings_, {});
}

bool Writer::is_due() const {
    if (stop_ || urgent_ || queued_bytes_ >= batch_bytes) return true;
    return given_ > taken_ && Steady::now() - settled_at_ >= batch_age;
}

void Writer::work() {
    std::unique_lock lock{mutex_};
    while (true) {
        wake_.wait_for(lock, look_for_commands, [this] { return is_due() || polled_ < polls_wanted_; });
        const bool last = stop_, fresh = is_due(), down = !health_.writable;
        lock.unlock();
        {
            const std::lock_guard database_lock{database_mutex_};
            if (fresh) take_queue();
            if (last) end_what_is_left();
            if (fresh || down || !backlog_.empty()) settle(last);
            poll_commands();
        }
        lock.lock();
        ++polled_;
        settled_.notify_all();
        if (last) return;
    }
}

void Writer::take_queue() {
    std::unique_lock lock{mutex_};
    settled_at_ = Steady::now();
    taken_ = given_;
    urgent_ = false;
    queued_bytes_ = 0;
    auto taken = std::exchange(queue_, {});
    for (const auto& [run, dropped] : std::exchange(queue_dropped_, {}))
        if (const auto own = own_.find(run); own != own_.end()) own->second.dropped += dropped;
    lock.unlock();
    settled_.notify_all();
    for (auto& [run, rows] : taken) backlog_[run].append(std::move(rows));
    drop_strangers();
}

/// Rows of runs that were never begun here (`begin` threw) have no place.
void Writer::drop_strangers() {
    for (auto it = backlog_.begin(); it != backlog_.end();) {
        if (own_.count(it->first)) {
            ++it;
            continue;
        }
        const std::lock_guard lock{mutex_};
        end_is_kept_[it->first] = true;
        it = backlog_.erase(it);
    }
}

void Writer::end_what_is_left() {
    for (auto& [run, own] : own_) {
        auto& rows = backlog_[run];
        if (own.ended || rows.end) continue;
        rows.end = RunEnd{RunState::died, {}, {}};
        rows.end->summary.error = "it ended without saying how";
    }
}

std::size_t Writer::backlog_bytes() const {
    std::size_t sum = 0;
    for (const auto& [run, rows] : backlog_) sum += rows.bytes();
    return sum;
}

/// Tries to bring the backlog into the record; where that fails, keeps it within its bounds. `last`: there is no later.
void Writer::settle(bool last) {
    if (Steady::now() >= retry_at_ || last) try {
            write_all();
            recover();
            const std::lock_guard lock{mutex_};
            written_ = taken_;
            return;
        } catch (const SQLite::Exception& error) {
            const bool locked = is_lock(error.getErrorCode());
            must_open_ = !locked && pause_ >= reopen_pause;
            fail(error_of(error, file_).faults().front(), locked && !last);
        } catch (const InputError& error) {
            fail(error.faults().front(), false);
        } catch (const std::exception& error) {
            fail({file_.string(), error.what(), "", "Look at the record's folder"}, false);
        }
    make_spills();
}

void Writer::write_all() {
    follow_file();
    for (auto& [run, own] : own_)
        if (own.spill.has_rows()) own.spill.take_in(*database_, own.row);
    note_dropped();
    write_backlog();
}

void Writer::write_backlog() {
    const bool ends = std::any_of(backlog_.begin(), backlog_.end(), [](const auto& one) { return !!one.second.end; });
    bool durable = ends;
    {
        const std::lock_guard lock{mutex_};
        durable = durable || durable_;
    }
    if (durable) database_->exec("PRAGMA synchronous = FULL");
    {
        SQLite::Transaction transaction{*database_, SQLite::TransactionBehavior::IMMEDIATE};
        for (const auto& [run, rows] : backlog_)
            if (!rows.empty()) {
                const auto& own = own_.at(run);
                write_rows(*database_, own.row, rows);
                if (rows.done) thin_spans(*database_, own.row, own.retention, rows.done->first);
            }
        transaction.commit();
    }
    if (durable) {
        database_->exec("PRAGMA synchronous = NORMAL");
        const std::lock_guard lock{mutex_};
        durable_ = given_ > taken_ && durable_;  // asked for by somebody whose rows come next
    }
    // Only now: what a failed commit did not take is tried again with the next.
    for (auto& [run, rows] : backlog_) {
        if (!rows.end) continue;
        own_.at(run).ended = true;
        const std::lock_guard lock{mutex_};
        end_is_kept_[run] = true;
    }
    backlog_.clear();
}

void Writer::remember_file() {
    ::stat(file_.c_str(), &seen_);
    ::stat((file_.string() + "-shm").c_str(), &seen_index_);
}

/// Without a database where it throws: then the next to write tries again. `same`: the file at the path is the one it
/// had.
void Writer::open_again(bool same) {
    if (!same) throw replaced(file_);
    database_.reset();  // first: closing one would drop the locks of the other
    database_.emplace(open(file_, OpenMode::existing));
    database_->setBusyTimeout(lock_patience_ms);
    remember_file();
    must_open_ = false;
}

/// Writes to the file that is at the path, not to one that was moved away or deleted.
void Writer::follow_file() {
    struct stat now {};
    const bool there = ::stat(file_.c_str(), &now) == 0, same = there && same_file(now, seen_);
    if (must_open_ && (same || !database_)) return open_again(same);
    if (same) return;
    // What is left of the old file's log and index is of no use to a new one, and would be taken for its own.
    struct stat index {};
    const std::string index_file = file_.string() + "-shm";
    if (::stat(index_file.c_str(), &index) == 0 && same_file(index, seen_index_)) {
        if (there) throw replaced(file_);
        ::unlink(index_file.c_str());
        ::unlink((file_.string() + "-wal").c_str());
    }
    move_to_new_file();
}

void Writer::move_to_new_file() {
    auto fresh = open(file_, OpenMode::create);
    fresh.setBusyTimeout(lock_patience_ms);
    forget_log(*database_);
    {
        SQLite::Statement attach{*database_, "ATTACH ? AS target"};
        attach.bind(1, file_.string());
        attach.exec();
        try {
            SQLite::Transaction transaction{*database_, SQLite::TransactionBehavior::IMMEDIATE};
            for (auto& [run, own] : own_) {
                if (own.ended) continue;
                const RunId place = place_of_run(*database_, "main", own.row, "target");
                copy_run(*database_, "main", own.row, "target", place);
                SQLite::Statement leave{*database_, "UPDATE main.runs SET state = 'died', error = ? WHERE id = ?"};
                SQLite::bind(leave, "its record was moved away; it went on in " + file_.string(), own.row);
                leave.exec();
                own.row = place;
            }
            transaction.commit();
        } catch (...) {
            database_->tryExec("DETACH target");
            throw;
        }
        database_->exec("DETACH target");
    }
    database_.emplace(std::move(fresh));
    remember_file();
    const std::lock_guard lock{mutex_};
    warnings_.push_back({file_.string(), "the record was deleted or moved away while a run wrote to it",
                         "it was made again with what this run had recorded; other runs are where the old file went",
                         "Put the old file back once no run goes on, if it was not meant to go",
                         Fault::Severity::warning});
}

void Writer::poll_commands() {
    for (auto& [run, own] : own_) {
        if (own.ended || !database_) continue;
        try {
            const auto commands = waiting_commands(*database_, own.row, own.last_command);
            if (commands.empty()) continue;
            own.last_command = commands.back().id;
            const std::lock_guard lock{mutex_};
            auto& rows = queue_[run];
            rows.taken_command = own.last_command;
            for (const auto& command : commands) {
                if (command.kind == "pause") rows.paused = true;
                if (command.kind == "resume") rows.paused = false;
                commands_[run].push_back(command);
            }
            ++given_;
            urgent_ = true;
        } catch (const SQLite::Exception&) {
            // Whoever cannot read commands cannot write either, and that is told.
        }
    }
}

/// `may_wait`: what is in the way is likely to go soon, so that an end may wait for it a moment.
void Writer::fail(Fault fault, bool may_wait) {
    const auto now = Steady::now();
    const bool ends = std::any_of(backlog_.begin(), backlog_.end(), [](const auto& one) { return !!one.second.end; });
    pause_ = std::clamp(pause_ * 2, first_pause, ends ? first_pause : longest_pause);
    retry_at_ = now + pause_;
    fault.severity = Fault::Severity::warning;
    fault.why = "the run goes on; what it gives is kept aside and written once that is possible";
    bool fresh = false;
    {
        const std::lock_guard lock{mutex_};
        if (health_.writable) failing_since_ = now;
        fresh = health_.writable || health_.trouble.what != fault.what;
        health_.writable = false;
        health_.trouble = fault;
        if (fresh) warnings_.push_back(fault);
    }
    if (fresh)
        for (auto& [run, own] : own_)
            if (!own.ended) own.spill.tell(fault);
    if (ends && !(may_wait && now - failing_since_ < end_patience)) keep_ends();
}

/// Moves rows of a run from memory to its spill; false where nothing takes them.
bool Writer::spill(RunId run, RunRows& rows) {
    auto& own = own_.at(run);
    try {
        own.spill.write(rows);
    } catch (const std::exception&) {
        return false;
    }
    const bool ends = rows.end.has_value();
    rows = {};
    own.ended = own.ended || ends;
    const std::lock_guard lock{mutex_};
    health_.spill = own.spill.file();
    if (!ends) return true;
    end_is_kept_[run] = true;
    warnings_.push_back({file_.string(), fmt::format("the end of run {} could not be written", run),
                         "it lies in " + own.spill.file().string(),
                         "Make the record writable: the next run, or the next window, takes it in",
                         Fault::Severity::warning});
    return true;
}

/// Ends are brought into safety beside the record. Where that fails, readers see by the process that the run is over.
void Writer::keep_ends() {
    for (auto& [run, rows] : backlog_)
        if (rows.end) spill(run, rows);
}

void Writer::recover() {
    pause_ = {};
    retry_at_ = {};
    std::int64_t dropped = 0;
    {
        const std::lock_guard lock{mutex_};
        if (health_.writable) return;
    }
    for (auto& [run, own] : own_) {
        own.spill.take_in(*database_, own.row);
        dropped += own.told_dropped;
    }
    const std::lock_guard lock{mutex_};
    health_ = {.dropped_spans = dropped};
    warnings_.push_back({file_.string(), "the record can be written again",
                         dropped > 0 ? dropped_words(dropped) : "nothing was lost", "", Fault::Severity::warning});
}

/// Says in the record itself what a run lost.
void Writer::note_dropped() {
    for (auto& [run, own] : own_) {
        const auto all = own.dropped + own.spill.dropped_spans();
        if (all <= own.told_dropped) continue;
        own.told_dropped = all;
        backlog_[run].warning = dropped_words(all);
    }
}

/// Keeps the backlog within memory's bound: into the spill, or, where nothing takes it, without its oldest spans.
void Writer::make_spills() {
    if (backlog_bytes() <= limits_.memory_bytes / 2) return;
    std::int64_t dropped = 0;
    for (auto& [run, rows] : backlog_) {
        auto& own = own_.at(run);
        if (!rows.empty() && !spill(run, rows)) own.dropped += rows.drop_oldest_spans(limits_.memory_bytes / 4);
        dropped += own.dropped + own.spill.dropped_spans();
    }
    const std::lock_guard lock{mutex_};
    health_.dropped_spans = std::max(health_.dropped_spans, dropped);
}

}  // namespace skippipe::record
