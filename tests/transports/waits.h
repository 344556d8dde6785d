// SPDX-License-Identifier: GPL-3.0-or-later
// Waits that are to end, in threads of their own.
#pragma once
#include <chrono>
#include <exception>
#include <functional>
#include <future>
#include <thread>
#include <utility>

namespace waits {

/// Whether it threw, told by a thread that nobody joins: it may never end.
inline std::future<bool> threw(const std::function<void()>& waits) {
    std::packaged_task<bool()> task([waits] {
        try {
            waits();
        } catch (const std::exception&) {
            return true;
        }
        return false;
    });
    auto told = task.get_future();
    std::thread(std::move(task)).detach();
    return told;
}

inline bool is_told(const std::future<bool>& told, std::chrono::seconds patience) {
    return told.wait_for(patience) == std::future_status::ready;
}

}  // namespace waits
