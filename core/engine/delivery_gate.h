// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <utility>

namespace skippipe {

/// What calls from a transport's threads into the engine go through, so that none comes after `close`.
class DeliveryGate {
public:
    /// Runs `work` while the gate is open; false, without running it, where it is closed.
    template <class Work>
    bool pass(Work&& work) {
        {
            const std::lock_guard lock(mutex_);
            if (closed_) return false;
            ++inside_;
        }
        const Inside here(*this);
        std::forward<Work>(work)();
        return true;
    }

    /// Returns when nobody is inside any more; called from inside, at once. Any number of times.
    void close() {
        std::unique_lock lock(mutex_);
        closed_ = true;
        if (within_ == this) return;
        left_.wait(lock, [this] { return inside_ == 0; });
    }

private:
    struct Inside {
        explicit Inside(DeliveryGate& entered) : gate(entered), outer(std::exchange(within_, &entered)) {}
        ~Inside() {
            within_ = outer;
            const std::lock_guard lock(gate.mutex_);
            if (--gate.inside_ == 0) gate.left_.notify_all();
        }
        DeliveryGate& gate;
        const DeliveryGate* outer;
    };

    static inline thread_local const DeliveryGate* within_ = nullptr;
    std::mutex mutex_;
    std::condition_variable left_;
    int inside_ = 0;
    bool closed_ = false;
};

/// Tells the engine, once, that its iteration will not come to its end.
class BreakSignal {
public:
    using Tell = std::function<void(std::exception_ptr)>;

    /// Who is told; nobody with none. When it returns, the one before is not being told any more.
    void set(Tell tell) {
        const std::lock_guard lock(mutex_);
        tell_ = std::move(tell);
        raised_ = false;
    }
    /// False where there is nobody to tell.
    bool raise(std::exception_ptr error) {
        const std::lock_guard lock(mutex_);
        if (!tell_) return false;
        if (!std::exchange(raised_, true)) tell_(std::move(error));
        return true;
    }

private:
    std::recursive_mutex mutex_;  // who is told may abort, which tells
    Tell tell_;
    bool raised_ = false;
};

}  // namespace skippipe
