// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace skippipe {

/// Things that become due: any thread puts, one takes, each no earlier than its time and those of one time in the order
/// put. What shapes links, and a rank's inbox.
template <class Item>
class DelayQueue {
public:
    using Time = std::chrono::steady_clock::time_point;

    void put(Item item, Time due = Time::min()) {
        const std::lock_guard lock(mutex_);
        entries_.push_back({due, next_++, std::move(item)});
        std::push_heap(entries_.begin(), entries_.end(), later);
        // The taker sleeps until the earliest: only that one can wake it earlier.
        if (entries_.front().number + 1 == next_) changed_.notify_one();
    }

    /// Waits for the next that is due.
    Item take() {
        std::unique_lock lock(mutex_);
        for (;;) {
            if (entries_.empty())
                changed_.wait(lock);
            else if (const Time due = entries_.front().due; due > std::chrono::steady_clock::now())
                changed_.wait_until(lock, due);
            else
                break;
        }
        std::pop_heap(entries_.begin(), entries_.end(), later);
        Item item = std::move(entries_.back().item);
        entries_.pop_back();
        return item;
    }

    /// The earliest, due or not; nothing where there is none.
    std::optional<Item> take_any() {
        const std::lock_guard lock(mutex_);
        if (entries_.empty()) return std::nullopt;
        std::pop_heap(entries_.begin(), entries_.end(), later);
        std::optional<Item> item(std::move(entries_.back().item));
        entries_.pop_back();
        return item;
    }

private:
    struct Entry {
        Time due;
        std::uint64_t number;
        Item item;
    };
    static bool later(const Entry& a, const Entry& b) { return a.due != b.due ? a.due > b.due : a.number > b.number; }

    std::mutex mutex_;
    std::condition_variable changed_;
    std::vector<Entry> entries_;
    std::uint64_t next_ = 0;
};

}  // namespace skippipe
