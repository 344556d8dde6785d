// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace skippipe {

struct ProcessOutput {
    bool started = false;
    int exit_code = -1;  ///< -1: ended by a signal
    bool timed_out = false;
    bool too_long = false;
    std::string text;  ///< standard output
};

/// Runs a program without a shell, with empty standard input, and reads what it prints. It is killed after `limit_s`
/// seconds or more than `limit_bytes`.
ProcessOutput run_process(const std::vector<std::string>& arguments, double limit_s, std::uint64_t limit_bytes);

}  // namespace skippipe
