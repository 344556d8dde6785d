// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/envelope.h"

#include <cstdint>
#include <cstring>
#include <type_traits>

#include <fmt/format.h>

namespace skippipe {
namespace {

struct Envelope {
    std::int64_t number = 0;
    TransferTimes times;
};
static_assert(std::is_trivially_copyable_v<Envelope> && sizeof(Envelope) == Buffer::envelope_bytes);

}  // namespace

void write_envelope(const Delivery& message, std::byte* to) {
    const Envelope envelope{message.transfer.number, message.times};
    std::memcpy(to, &envelope, sizeof envelope);
}

TransferTimes read_envelope(const std::byte* from, const RankTransfer& expected, int peer, double now_s) {
    Envelope envelope;
    std::memcpy(&envelope, from, sizeof envelope);
    if (envelope.number != expected.number)
        throw PeerFault(peer, fmt::format("sent transfer {} where {} was due", envelope.number, expected.number));
    const auto& times = envelope.times;
    if (!plausible(times, now_s))
        throw PeerFault(peer, fmt::format("sent transfer {} with times that cannot be: {} s, {} s, {} s",
                                          envelope.number, times.handed_over_s, times.start_s, times.arrival_s));
    return times;
}

}  // namespace skippipe
