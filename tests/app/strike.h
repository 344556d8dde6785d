// SPDX-License-Identifier: GPL-3.0-or-later
// Where a rank of tests/app/struck_worker.cpp is struck down, as it is told by its environment.
#pragma once
#include <cstdlib>
#include <optional>
#include <sstream>
#include <string>

/// The first `n` that come to this place in the iteration pass.
struct Strike {
    enum class In { forward, loss, backward, all_reduce, step, checkpoint } in = In::forward;
    int rank = 1, signal = 9, iteration = 0, n = 0;
    std::string mark;  ///< a file that is there once it has happened
};

constexpr const char* strike_variable = "SKIPPIPE_TEST_STRIKE";
/// Set: libraries of every rank print to its standard output.
constexpr const char* chatter_variable = "SKIPPIPE_TEST_CHATTER";
constexpr const char* chatter = "rank: NCCL INFO Channel 00 : 0[0] -> 1[1]";

inline std::string to_text(const Strike& strike) {
    std::ostringstream out;
    out << static_cast<int>(strike.in) << ' ' << strike.rank << ' ' << strike.signal << ' ' << strike.iteration << ' '
        << strike.n << ' ' << strike.mark;
    return out.str();
}

inline std::optional<Strike> read_strike() {
    const char* text = std::getenv(strike_variable);
    if (!text) return std::nullopt;
    std::istringstream in(text);
    Strike strike;
    int place = 0;
    if (!(in >> place >> strike.rank >> strike.signal >> strike.iteration >> strike.n >> strike.mark))
        return std::nullopt;
    strike.in = static_cast<Strike::In>(place);
    return strike;
}
