// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/transport.h"

#include <chrono>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include <fmt/format.h>

namespace skippipe {

using std::chrono::steady_clock;

double steady_s() { return std::chrono::duration<double>(steady_clock::now().time_since_epoch()).count(); }

steady_clock::time_point steady_point(double seconds) {
    return steady_clock::time_point(
        std::chrono::duration_cast<steady_clock::duration>(std::chrono::duration<double>(seconds)));
}

PeerFault::PeerFault(int rank, const std::string& what)
    : InputError(rank < 0 ? "ranks" : fmt::format("rank {}", rank),
                 rank < 0 ? "one of the ranks " + what : fmt::format("rank {} {}", rank, what),
                 "what comes from another rank is checked before it is used, and this cannot be",
                 "Start the same program on every rank; if it is the same, report this"),
      rank_(rank) {}

std::vector<int> RankTransport::members() const {
    std::vector<int> all(static_cast<std::size_t>(ranks()));
    std::iota(all.begin(), all.end(), 0);
    return all;
}

Regrouping RankTransport::regroup() { throw std::logic_error("this transport cannot go on without a rank"); }

bool plausible(const TransferTimes& times, double now_s) {
    constexpr double day_s = 86400;
    return std::abs(times.handed_over_s - now_s) <= day_s && std::abs(times.arrival_s - now_s) <= day_s &&
           times.handed_over_s <= times.start_s && times.start_s <= times.arrival_s;
}

namespace {
[[noreturn]] void no_peer() { throw std::logic_error("one rank has no other to talk to"); }
}  // namespace

void LocalTransport::abort() noexcept {
    aborted_ = true;
    broken_.raise(std::make_exception_ptr(Aborted()));
}

double LocalTransport::now_s() const { return steady_s(); }
void LocalTransport::send(Delivery) { no_peer(); }
void LocalTransport::send_to(int, std::span<const std::byte>) { no_peer(); }
void LocalTransport::receive_from(int, std::span<std::byte>) { no_peer(); }

}  // namespace skippipe
