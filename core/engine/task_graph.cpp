// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/task_graph.h"

#include <algorithm>
#include <utility>

namespace skippipe {

TaskGraph::TaskGraph(int threads, std::function<void()> at_start) {
    const auto count = threads > 0 ? static_cast<unsigned>(threads) : std::max(1u, std::thread::hardware_concurrency());
    for (unsigned i = 0; i < count; ++i)
        threads_.emplace_back([this, at_start] {
            at_start();
            run();
        });
}

TaskGraph::~TaskGraph() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
    }
    work_ready_.notify_all();
    threads_.clear();
}

TaskGraph::Id TaskGraph::add(std::function<void()> work, const std::vector<Id>& after) {
    const std::lock_guard lock(mutex_);
    const Id id = tasks_.size();
    tasks_.push_back({.work = std::move(work)});
    for (const Id before : after)
        if (auto& task = tasks_.at(before); !task.ended) {
            task.followers.push_back(id);
            ++tasks_[id].waits;
        }
    if (tasks_[id].waits == 0) {
        ready_.push_back(id);
        work_ready_.notify_one();
    }
    return id;
}

void TaskGraph::wait() {
    std::unique_lock lock(mutex_);
    all_ended_.wait(lock, [this] { return ended_ == tasks_.size(); });
    tasks_.clear();
    ended_ = 0;
    if (const auto error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
}

void TaskGraph::for_each(std::size_t count, const std::function<void(std::size_t)>& work) {
    for (std::size_t i = 0; i < count; ++i) add([&work, i] { work(i); });
    wait();
}

void TaskGraph::run() {
    std::unique_lock lock(mutex_);
    for (;;) {
        work_ready_.wait(lock, [this] { return stop_ || !ready_.empty(); });
        if (stop_) return;
        const Id id = ready_.front();
        ready_.pop_front();
        auto work = std::move(tasks_[id].work);
        const bool failed = error_ != nullptr;
        std::exception_ptr error;
        lock.unlock();
        if (!failed) try {
                work();
            } catch (...) {
                error = std::current_exception();
            }
        work = nullptr;  // what it holds is freed outside the lock, and before its followers run
        lock.lock();
        if (error && (!error_ || id < error_id_)) {
            error_ = error;
            error_id_ = id;
        }
        end(id);
    }
}

void TaskGraph::end(Id id) {
    tasks_[id].ended = true;
    for (const Id follower : tasks_[id].followers)
        if (--tasks_[follower].waits == 0) {
            ready_.push_back(follower);
            work_ready_.notify_one();
        }
    if (++ended_ == tasks_.size()) all_ended_.notify_all();
}

}  // namespace skippipe
