// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/run_feed.h"

#include <algorithm>
#include <atomic>
#include <set>

#include <QTimer>

#include "views/runs/run_loader.h"

namespace skippipe {
namespace {

constexpr int running_ms = 250, idle_ms = 1000, loading_ms = 1;

bool same_row(const RunInfo& a, const RunInfo& b) {
    return a.id == b.id && a.state == b.state && a.paused == b.paused && a.iterations_done == b.iterations_done &&
           a.machine_s == b.machine_s && a.tags == b.tags && a.note == b.note && a.warning == b.warning &&
           a.last_validation_loss == b.last_validation_loss && a.finished_utc == b.finished_utc &&
           a.iteration_s == b.iteration_s && a.iterations == b.iterations && a.silent == b.silent &&
           a.tokens_per_second == b.tokens_per_second && a.checkpoint == b.checkpoint;
}

const RunInfo* find_run(const std::vector<RunInfo>& runs, RunId id) {
    const auto it = std::find_if(runs.begin(), runs.end(), [&](const RunInfo& run) { return run.id == id; });
    return it == runs.end() ? nullptr : &*it;
}

const RunInfo* find_running(const std::vector<RunInfo>& runs) {
    const auto it =
        std::find_if(runs.begin(), runs.end(), [](const RunInfo& run) { return run.state == RunState::running; });
    return it == runs.end() ? nullptr : &*it;
}

}  // namespace

/// What a look at the record found that is new.
struct RunFeed::News {
    std::shared_ptr<const std::vector<RunInfo>> runs;  ///< null: as before
    std::map<RunId, std::shared_ptr<const RunData>> grown;
    QString error;
    bool loading = false;
    int heard = 0;
};

/// Lives on the feed's thread; the only one in the window that touches the record.
class RecordThread : public QObject {
public:
    RecordThread(RunFeed& feed, std::filesystem::path file) : feed_(feed), file_(std::move(file)), timer_(this) {
        timer_.setSingleShot(true);
        connect(&timer_, &QTimer::timeout, this, [this] { look(); });
    }

    void look();
    void look_soon() { timer_.start(0); }
    void watch(RunId id);
    void unwatch(RunId id) {
        asked_.erase(id);
        watched_.erase(id);
    }
    void want(RunId id, double begin_s, double end_s);
    void heard_of(int request) { heard_ = request; }
    /// Returns what went wrong.
    QString attempt(const std::function<void(Reader&)>& work);

private:
    bool has_changed();
    void open();
    void read();
    void tell();

    RunFeed& feed_;
    std::filesystem::path file_;
    QTimer timer_;
    std::unique_ptr<Reader> reader_;
    std::vector<RunInfo> runs_;
    std::set<RunId> asked_;  ///< to be watched; one that is not there yet waits
    std::map<RunId, RunLoader> watched_;
    std::set<RunId> grown_;  ///< not told yet
    bool runs_changed_ = true, loading_ = false, told_loading_ = false, told_ = false;
    QString error_, told_error_;
    int heard_ = 0, told_heard_ = 0;
    std::filesystem::file_time_type file_time_{}, log_time_{};
    std::uintmax_t log_size_ = 0;
    std::shared_ptr<std::atomic<int>> on_their_way_ = std::make_shared<std::atomic<int>>(0);
};

void RecordThread::open() {
    std::error_code none;
    if (reader_ || !std::filesystem::exists(file_, none)) return;
    try {
        reader_ = std::make_unique<Reader>(file_);
        reader_->sweep_dead();
        error_.clear();
    } catch (const InputError& error) {
        reader_.reset();
        error_ = QString::fromStdString(error.what());
    }
}

bool RecordThread::has_changed() {
    std::error_code error;
    const auto log = std::filesystem::path{file_} += "-wal";
    const auto file_time = std::filesystem::last_write_time(file_, error);
    const auto log_time = std::filesystem::last_write_time(log, error);
    const auto log_size = std::filesystem::file_size(log, error);
    const bool changed = file_time != file_time_ || log_time != log_time_ || log_size != log_size_;
    file_time_ = file_time;
    log_time_ = log_time;
    log_size_ = log_size;
    return changed;
}

QString RecordThread::attempt(const std::function<void(Reader&)>& work) {
    open();
    if (!reader_) return error_.isEmpty() ? QObject::tr("There is no record yet") : error_;
    try {
        work(*reader_);
        return {};
    } catch (const std::exception& error) {
        return QString::fromStdString(error.what());
    }
}

void RecordThread::watch(RunId id) {
    asked_.insert(id);
    loading_ = true;
    look_soon();
}

void RecordThread::want(RunId id, double begin_s, double end_s) {
    const auto it = watched_.find(id);
    if (it == watched_.end() || !it->second.want(begin_s, end_s)) return;
    loading_ = true;
    look_soon();
}

void RecordThread::look() {
    open();
    // A run whose process dies writes nothing: while one is told as running, look whether it lives.
    if (!reader_)
        loading_ = false;
    else if (has_changed() || loading_ || !error_.isEmpty() || find_running(runs_) != nullptr)
        error_ = attempt([this](Reader&) { read(); });
    if (!error_.isEmpty()) loading_ = false;  // tried again with the next tick
    tell();
    timer_.start(loading_ ? loading_ms : find_running(runs_) != nullptr ? running_ms : idle_ms);
}

void RecordThread::read() {
    auto runs = reader_->runs();
    runs_changed_ = runs_changed_ || !std::equal(runs.begin(), runs.end(), runs_.begin(), runs_.end(), same_row);
    const auto before = std::exchange(runs_, std::move(runs));
    const bool died = std::any_of(before.begin(), before.end(), [&](const RunInfo& old) {
        const auto* now = find_run(runs_, old.id);
        return old.state == RunState::running && now != nullptr && now->state == RunState::died;
    });
    if (died) {
        reader_->sweep_dead();
        runs_ = reader_->runs();
        runs_changed_ = true;
    }
    loading_ = false;
    // What a run that is resumed or goes back had recorded after its checkpoint is gone: it is read anew.
    for (const auto& now : runs_)
        if (const auto* old = find_run(before, now.id);
            old != nullptr && now.state == RunState::running &&
            (old->state != RunState::running || old->pid != now.pid || now.iterations_done < old->iterations_done))
            watched_.erase(now.id);
    for (const RunId id : asked_)
        if (!watched_.count(id) && find_run(runs_, id) != nullptr) {
            watched_.emplace(id, RunLoader(*reader_, id));
            grown_.insert(id);
        }
    for (auto& [id, loader] : watched_) {
        const auto* info = find_run(runs_, id);
        if (info == nullptr) continue;
        bool more = false;
        const auto* old = find_run(before, id);
        if (loader.poll(*reader_, *info, more) || old == nullptr || !same_row(*old, *info)) grown_.insert(id);
        loading_ = loading_ || more;
    }
}

/// One message at a time: what comes while the window is busy is told with the next.
void RecordThread::tell() {
    const bool news = !told_ || runs_changed_ || !grown_.empty() || error_ != told_error_ || heard_ != told_heard_ ||
                      loading_ != told_loading_;
    if (!news || *on_their_way_ > 0) return;
    auto message = std::make_shared<RunFeed::News>();
    if (runs_changed_) message->runs = std::make_shared<const std::vector<RunInfo>>(runs_);
    for (const RunId id : std::exchange(grown_, {}))
        if (const auto it = watched_.find(id); it != watched_.end()) message->grown[id] = it->second.snapshot();
    message->error = told_error_ = error_;
    message->loading = told_loading_ = loading_;
    message->heard = told_heard_ = heard_;
    runs_changed_ = false;
    told_ = true;
    ++*on_their_way_;
    QMetaObject::invokeMethod(
        &feed_,
        [feed = &feed_, message, count = on_their_way_] {
            --*count;
            feed->hear(*message);
        },
        Qt::QueuedConnection);
}

RunFeed::RunFeed(std::filesystem::path file, QObject* parent)
    : QObject(parent), file_(std::move(file)), record_(new RecordThread(*this, file_)) {
    thread_.setObjectName("record");
    record_->moveToThread(&thread_);
    connect(&thread_, &QThread::finished, record_, &QObject::deleteLater);
    thread_.start();
    poll();
}

RunFeed::~RunFeed() {
    // Behind all that was told before.
    QMetaObject::invokeMethod(record_, [this] { thread_.quit(); });
    thread_.wait();
}

void RunFeed::hear(const News& news) {
    const bool was_loading = is_loading();
    looked_ = true;
    loading_ = news.loading;
    heard_ = news.heard;
    if (news.runs) runs_ = *news.runs;
    for (const auto& [id, data] : news.grown)
        if (const auto it = data_.find(id); it != data_.end()) it->second = data;
    if (news.error != error_) {
        error_ = news.error;
        Q_EMIT error_changed();
    }
    if (news.runs) Q_EMIT runs_changed();
    for (const auto& [id, data] : news.grown) Q_EMIT run_grew(id);
    if (was_loading && !is_loading()) Q_EMIT loading_ended();
}

const RunInfo* RunFeed::run(RunId id) const { return find_run(runs_, id); }
const RunInfo* RunFeed::running() const { return find_running(runs_); }

std::shared_ptr<const RunData> RunFeed::data(RunId id) const {
    const auto it = data_.find(id);
    return it == data_.end() ? nullptr : it->second;
}

void RunFeed::watch(RunId id) {
    if (watchers_[id]++ > 0) return;
    data_.emplace(id, nullptr);
    QMetaObject::invokeMethod(record_, [record = record_, id, request = ++asked_] {
        record->watch(id);
        record->heard_of(request);
    });
}

void RunFeed::unwatch(RunId id) {
    const auto found = watchers_.find(id);
    if (found == watchers_.end() || --found->second > 0) return;
    forget(id);
}

void RunFeed::forget(RunId id) {
    watchers_.erase(id);
    data_.erase(id);
    QMetaObject::invokeMethod(record_, [record = record_, id] { record->unwatch(id); });
}

void RunFeed::want(RunId id, double begin_s, double end_s) {
    QMetaObject::invokeMethod(record_, [record = record_, id, begin_s, end_s, request = ++asked_] {
        record->want(id, begin_s, end_s);
        record->heard_of(request);
        record->look_soon();
    });
}

void RunFeed::ask(std::function<void(Reader&)> work, std::function<void(const QString&)> done) {
    QMetaObject::invokeMethod(record_, [this, record = record_, work = std::move(work), done = std::move(done)] {
        const QString fault = record->attempt(work);
        record->look_soon();
        QMetaObject::invokeMethod(
            this, [done, fault] { done(fault); }, Qt::QueuedConnection);
    });
}

void RunFeed::write(std::function<void(Reader&)> work) {
    ask(std::move(work), [this](const QString& fault) {
        if (!fault.isEmpty()) Q_EMIT refused(fault);
    });
}

void RunFeed::send(RunId id, const std::string& command, const std::string& payload_json) {
    write([=](Reader& reader) { reader.send_command(id, command, payload_json); });
}

void RunFeed::set_tags(RunId id, const std::vector<std::string>& tags) {
    write([id, tags](Reader& reader) { reader.set_tags(id, tags); });
}

void RunFeed::set_note(RunId id, const std::string& note) {
    write([id, note](Reader& reader) { reader.set_note(id, note); });
}

void RunFeed::remove(RunId id) {
    forget(id);
    write([id](Reader& reader) { reader.remove(id); });
}

void RunFeed::poll() {
    QMetaObject::invokeMethod(record_, [record = record_] { record->look(); });
}

}  // namespace skippipe
