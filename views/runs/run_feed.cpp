// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/run_feed.h"

#include <algorithm>

namespace skippipe {
namespace {

constexpr int running_ms = 250, idle_ms = 1000, loading_ms = 1;

bool same_row(const RunInfo& a, const RunInfo& b) {
    return a.id == b.id && a.state == b.state && a.iterations_done == b.iterations_done && a.machine_s == b.machine_s &&
           a.tags == b.tags && a.note == b.note && a.last_validation_loss == b.last_validation_loss &&
           a.finished_utc == b.finished_utc && a.iteration_s == b.iteration_s &&
           a.tokens_per_second == b.tokens_per_second;
}

}  // namespace

RunFeed::RunFeed(std::filesystem::path file, QObject* parent) : QObject(parent), file_(std::move(file)) {
    timer_.setSingleShot(true);
    connect(&timer_, &QTimer::timeout, this, &RunFeed::poll);
    timer_.start(0);
}

RunFeed::~RunFeed() = default;

const RunInfo* RunFeed::run(RunId id) const {
    const auto it = std::find_if(runs_.begin(), runs_.end(), [&](const RunInfo& run) { return run.id == id; });
    return it == runs_.end() ? nullptr : &*it;
}

const RunInfo* RunFeed::running() const {
    const auto it =
        std::find_if(runs_.begin(), runs_.end(), [](const RunInfo& run) { return run.state == RunState::running; });
    return it == runs_.end() ? nullptr : &*it;
}

const RunData* RunFeed::data(RunId id) const {
    const auto it = watched_.find(id);
    return it == watched_.end() ? nullptr : &it->second.data();
}

const RunData* RunFeed::watch(RunId id) {
    if (!watched_.count(id)) {
        attempt([&] {
            watched_.emplace(id, RunLoader(*reader_, id));
            loading_ = true;
        });
        timer_.start(0);
    }
    return data(id);
}

void RunFeed::unwatch(RunId id) { watched_.erase(id); }

void RunFeed::fail(const QString& error) {
    if (error == error_) return;
    error_ = error;
    Q_EMIT error_changed();
}

template <class Action>
void RunFeed::attempt(const Action& action) {
    open();
    if (!reader_) return;
    try {
        action();
        fail({});
    } catch (const InputError& error) {
        fail(QString::fromStdString(error.what()));
    }
}

void RunFeed::open() {
    std::error_code none;
    if (reader_ || !std::filesystem::exists(file_, none)) return;
    try {
        reader_ = std::make_unique<Reader>(file_);
        reader_->sweep_dead();
        fail({});
    } catch (const InputError& error) {
        reader_.reset();
        fail(QString::fromStdString(error.what()));
    }
}

bool RunFeed::has_changed() {
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

void RunFeed::poll() {
    open();
    // A run whose process dies writes nothing: while one is told as running, look whether it lives.
    if (reader_ && (has_changed() || loading_ || running() != nullptr)) attempt([this] { read(); });
    timer_.start(loading_ ? loading_ms : running() != nullptr ? running_ms : idle_ms);
}

void RunFeed::read() {
    auto runs = reader_->runs();
    const bool changed = !std::equal(runs.begin(), runs.end(), runs_.begin(), runs_.end(), same_row);
    const auto before = std::move(runs_);
    runs_ = std::move(runs);
    for (const auto& old : before)
        if (const auto* now = run(old.id);
            old.state == RunState::running && now != nullptr && now->state == RunState::died) {
            reader_->sweep_dead();
            break;
        }
    loading_ = false;
    std::vector<RunId> grown;
    for (auto& [id, loader] : watched_) {
        const auto* info = run(id);
        if (info == nullptr) continue;
        bool more = false;
        const RunState state = loader.data().info.state;
        if (loader.poll(*reader_, *info, more) || state != info->state) grown.push_back(id);
        loading_ = loading_ || more;
    }
    if (changed) Q_EMIT runs_changed();
    for (const RunId id : grown) Q_EMIT run_grew(id);
}

void RunFeed::stop(RunId id) {
    attempt([&] { reader_->send_command(id, "stop"); });
    timer_.start(0);
}

void RunFeed::set_tags(RunId id, const std::vector<std::string>& tags) {
    attempt([&] { reader_->set_tags(id, tags); });
    timer_.start(0);
}

void RunFeed::set_note(RunId id, const std::string& note) {
    attempt([&] { reader_->set_note(id, note); });
    timer_.start(0);
}

void RunFeed::remove(RunId id) {
    unwatch(id);
    attempt([&] { reader_->remove(id); });
    timer_.start(0);
}

}  // namespace skippipe
