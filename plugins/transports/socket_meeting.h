// SPDX-License-Identifier: GPL-3.0-or-later
// How the sockets of ranks find each other.
#pragma once
#include <chrono>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "plugins/transports/rank_sockets.h"

namespace skippipe {

/// Listens for as long as it lives, and says so in the store. A connection counts once the other one has said who it is
/// and what lets in; who says something else, or nothing, keeps nobody waiting.
class SocketMeeting {
public:
    SocketMeeting(RunStore& store, SocketParty party);

    /// To all others, by rank.
    std::map<int, Descriptor> connect();
    /// From all others, by rank.
    std::map<int, Descriptor> admit();

    /// What a rank says of itself first: the secret of whom it turns to, and its own number.
    struct Hello {
        char secret[32];
        std::int32_t rank;
    };
    /// Where a rank listens, as it lies in the store: "PORT SECRET ADDRESS", of `MEETING/socket/RANK`.
    struct Place {
        int port = 0;
        std::string secret, address;
    };
    static std::string key(const std::string& meeting, int rank);
    static Place read_place(const std::string& text, int rank);

private:
    struct Stranger {
        Descriptor socket;
        std::vector<std::byte> said;
    };
    Descriptor begin(int rank);
    Descriptor greet(Descriptor socket, int rank) const;
    void look();
    bool hear(Stranger& stranger);
    void wait(int socket, short events, const char* what) const;

    RunStore& store_;
    SocketParty party_;
    std::chrono::steady_clock::time_point until_;
    std::string secret_;
    Descriptor listening_;
    std::vector<Stranger> strangers_;
    std::map<int, Descriptor> admitted_;
    std::map<int, std::string> secrets_;  ///< of the others, by rank
};

}  // namespace skippipe
