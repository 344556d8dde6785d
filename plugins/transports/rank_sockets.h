// SPDX-License-Identifier: GPL-3.0-or-later
// Connections between ranks that have met, over TCP, for what they say to each other besides transfers and sums.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "plugins/transports/descriptor.h"

namespace skippipe {

class RunStore;

/// What a message is. Who hears another one than it waits for has a peer that does something else.
enum class Word : std::uint8_t { text = 1, values, all_values, question, answer, data, received };

/// Before each message, in this machine's order of bytes: all ranks are one build.
struct MessageHead {
    std::uint64_t word = 0, size = 0;
};

/// Who connects to whom.
struct SocketParty {
    std::vector<int> members;  ///< ascending, `rank` among them
    int rank = 0;
    std::string address;                  ///< of this host, where the others reach it
    std::string name;                     ///< of their meeting, in the store's keys
    std::chrono::milliseconds patience;   ///< for all to come
    std::function<void()> check = [] {};  ///< throws where nothing may wait any longer
};

/// Each member has a connection to each other one, by which it alone speaks. Where it listens meanwhile, and a secret
/// that lets in, lie in the run's store, behind its token. All that waits here ends with an exception where the peer is
/// gone or after `break_up`; what came of a peer and cannot be is a PeerFault. One thread each for a peer and
/// direction.
class RankSockets {
public:
    /// Every member at once. Throws where one does not come.
    RankSockets(RunStore& store, const SocketParty& party);

    void send(int rank, Word word, std::span<const std::byte> bytes) const;
    /// As long as `bytes`.
    void receive(int rank, Word word, std::span<std::byte> bytes) const;
    std::string receive_text(int rank, std::size_t most) const;
    /// Until the other one has it by `take_over`.
    void hand_over(int rank, std::span<const std::byte> bytes) const;
    void take_over(int rank, std::span<std::byte> bytes) const;
    /// The first of some ranks that says something, or is gone.
    int first_of(const std::vector<int>& ranks) const;

    /// From any thread. To the others this rank is gone.
    void break_up() const noexcept;

private:
    struct Ends {
        Descriptor to, from;
    };
    std::size_t hear(int rank, Word word) const;

    std::map<int, Ends> ends_;  ///< by rank
};

}  // namespace skippipe
