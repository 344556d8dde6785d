// SPDX-License-Identifier: GPL-3.0-or-later
// What travels behind every message from rank to rank.
#pragma once
#include <cstddef>

#include "core/engine/transport.h"

namespace skippipe {

/// Writes number and times of the message behind it, envelope_bytes of them, to `to`.
void write_envelope(const Delivery& message, std::byte* to);

/// The times that were written so. Throws PeerFault naming `peer` where it is another transfer's, or the times cannot
/// be; `now_s`: of the common clock.
TransferTimes read_envelope(const std::byte* from, const RankTransfer& expected, int peer, double now_s);

}  // namespace skippipe
