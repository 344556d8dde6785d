// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace skippipe {

/// Work that runs on a fixed set of threads, each piece after the pieces it names. Driven from one thread.
class TaskGraph {
public:
    using Id = std::size_t;

    /// `threads` 0: one a core. `at_start` runs first on every thread.
    TaskGraph(int threads, std::function<void()> at_start);
    /// Drops what has not begun.
    ~TaskGraph();
    TaskGraph(const TaskGraph&) = delete;
    TaskGraph& operator=(const TaskGraph&) = delete;

    /// Runs `work` once all of `after` have ended. Ids hold until the next wait().
    Id add(std::function<void()> work, const std::vector<Id>& after = {});
    /// Until all work has ended. Once a piece has thrown, those not yet begun are passed over; of what was thrown, the
    /// exception of the lowest id is thrown again here.
    void wait();
    /// Runs work(0) .. work(count - 1) and waits.
    void for_each(std::size_t count, const std::function<void(std::size_t)>& work);

    int threads() const { return static_cast<int>(threads_.size()); }

private:
    struct Task {
        std::function<void()> work;
        int waits = 0;
        bool ended = false;
        std::vector<Id> followers;
    };
    void run();
    void end(Id id);

    std::mutex mutex_;
    std::condition_variable work_ready_, all_ended_;
    std::deque<Task> tasks_;
    std::deque<Id> ready_;
    std::size_t ended_ = 0;
    std::exception_ptr error_;
    Id error_id_ = 0;
    bool stop_ = false;
    std::vector<std::jthread> threads_;
};

}  // namespace skippipe
