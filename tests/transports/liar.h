// SPDX-License-Identifier: GPL-3.0-or-later
// A rank 1 that speaks to an honest rank 0 by hand, and says what cannot be.
#pragma once
#include <future>
#include <memory>
#include <string>

#include <sys/socket.h>

#include "plugins/transports/control.h"
#include "plugins/transports/socket_meeting.h"
#include "tests/transports/ranks.h"

namespace ranks {

/// Rank 1: the run's store, and its two connections with rank 0.
struct Liar {
    std::shared_ptr<RunStore> store;
    Descriptor to, from;

    void say(std::uint64_t word, std::uint64_t size, std::span<const std::byte> bytes = {}) const {
        const MessageHead head{word, size};
        ::send(to.get(), &head, sizeof head, MSG_NOSIGNAL);
        if (!bytes.empty()) ::send(to.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
    }
    /// Rank 0 waits for it where it hands something over.
    void confirm() const {
        const MessageHead head{static_cast<std::uint64_t>(Word::received), 0};
        ::send(from.get(), &head, sizeof head, MSG_NOSIGNAL);
    }
    void hear(std::size_t bytes) const {
        std::string all(sizeof(MessageHead) + bytes, '\0');
        ::recv(from.get(), all.data(), all.size(), MSG_WAITALL);
    }
};

/// What rank 0's `honest` ended with.
inline std::string against(const std::function<void(ControlTransport&)>& honest,
                           const std::function<void(Liar&)>& lies) {
    std::promise<int> port;
    const auto token = make_token();
    std::promise<void> over;
    auto told = std::async(std::launch::async, [&]() -> std::string {
        Rendezvous rendezvous(launch_of(0, 2, 0, token), 20);
        port.set_value(rendezvous.port());
        ControlTransport control(rendezvous);
        std::string said;
        try {
            honest(control);
        } catch (const PeerFault& fault) {
            said = fault.what();
        } catch (const std::exception& error) {
            said = std::string("untyped: ") + error.what();
        }
        over.set_value();
        return said;
    });
    Rendezvous rendezvous(launch_of(1, 2, port.get_future().get(), token), 20);
    Liar liar{rendezvous.connect(), Descriptor(), Descriptor()};
    {
        const SocketParty party{{0, 1}, 1, "127.0.0.1", "0", std::chrono::seconds(20)};
        SocketMeeting meeting(*liar.store, party);
        liar.to = std::move(meeting.connect().at(0));
        liar.from = std::move(meeting.admit().at(0));
    }
    // Whose clock it is: the same host's.
    const double same = 0;
    liar.say(static_cast<std::uint64_t>(Word::values), sizeof same, std::as_bytes(std::span(&same, 1)));
    liar.hear(2 * sizeof same);
    lies(liar);
    over.get_future().wait_for(std::chrono::seconds(20));
    return told.get();
}

}  // namespace ranks
