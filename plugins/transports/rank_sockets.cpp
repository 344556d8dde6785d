// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/rank_sockets.h"

#include <cerrno>
#include <stdexcept>
#include <system_error>

#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>

#include "core/engine/transport.h"
#include "plugins/transports/socket_meeting.h"

namespace skippipe {
namespace {

std::system_error broken() { return {errno, std::generic_category(), "the connection broke"}; }

void send_all(int socket, std::span<const std::byte> bytes, int flags = 0) {
    while (!bytes.empty()) {
        const auto sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | flags);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) throw broken();
        bytes = bytes.subspan(static_cast<std::size_t>(sent));
    }
}

void receive_all(int socket, std::span<std::byte> bytes) {
    while (!bytes.empty()) {
        const auto received = ::recv(socket, bytes.data(), bytes.size(), MSG_WAITALL);
        if (received < 0 && errno == EINTR) continue;
        if (received < 0) throw broken();
        if (received == 0) throw std::runtime_error("the connection was closed");
        bytes = bytes.subspan(static_cast<std::size_t>(received));
    }
}

void send_head(int socket, Word word, std::size_t size) {
    const MessageHead head{static_cast<std::uint64_t>(word), size};
    send_all(socket, std::as_bytes(std::span(&head, 1)), size > 0 ? MSG_MORE : 0);
}

/// The size of what comes.
std::size_t receive_head(int socket, int rank, Word word) {
    MessageHead head;
    receive_all(socket, std::as_writable_bytes(std::span(&head, 1)));
    if (head.word != static_cast<std::uint64_t>(word))
        throw PeerFault(rank, fmt::format("said {}, where {} was due", head.word, static_cast<int>(word)));
    return head.size;
}

}  // namespace

RankSockets::RankSockets(RunStore& store, const SocketParty& party) {
    SocketMeeting meeting(store, party);
    for (auto& [rank, socket] : meeting.connect()) ends_[rank].to = std::move(socket);
    for (auto& [rank, socket] : meeting.admit()) ends_.at(rank).from = std::move(socket);
}

void RankSockets::send(int rank, Word word, std::span<const std::byte> bytes) const {
    const int socket = ends_.at(rank).to.get();
    send_head(socket, word, bytes.size());
    send_all(socket, bytes);
}

std::size_t RankSockets::hear(int rank, Word word) const { return receive_head(ends_.at(rank).from.get(), rank, word); }

void RankSockets::receive(int rank, Word word, std::span<std::byte> bytes) const {
    if (const auto size = hear(rank, word); size != bytes.size())
        throw PeerFault(rank, fmt::format("sent {} bytes, where {} were due", size, bytes.size()));
    receive_all(ends_.at(rank).from.get(), bytes);
}

std::string RankSockets::receive_text(int rank, std::size_t most) const {
    const auto size = hear(rank, Word::text);
    if (size > most)
        throw PeerFault(rank, fmt::format("announced a text of {} bytes, where at most {} are taken", size, most));
    std::string text(size, '\0');
    receive_all(ends_.at(rank).from.get(), std::as_writable_bytes(std::span(text)));
    return text;
}

void RankSockets::hand_over(int rank, std::span<const std::byte> bytes) const {
    send(rank, Word::data, bytes);
    if (receive_head(ends_.at(rank).to.get(), rank, Word::received) != 0)
        throw PeerFault(rank, "confirmed what it had not received");
}

void RankSockets::take_over(int rank, std::span<std::byte> bytes) const {
    receive(rank, Word::data, bytes);
    send_head(ends_.at(rank).from.get(), Word::received, 0);
}

int RankSockets::first_of(const std::vector<int>& ranks) const {
    std::vector<pollfd> waiting;
    for (const int rank : ranks) waiting.push_back({ends_.at(rank).from.get(), POLLIN, 0});
    while (::poll(waiting.data(), waiting.size(), -1) < 0)
        if (errno != EINTR) throw broken();
    for (std::size_t i = 0; i < ranks.size(); ++i)
        if (waiting[i].revents != 0) return ranks[i];
    throw std::logic_error("nobody of nobody says anything");
}

void RankSockets::break_up() const noexcept {
    for (const auto& [rank, ends] : ends_)
        for (const int socket : {ends.to.get(), ends.from.get()}) ::shutdown(socket, SHUT_RDWR);
}

}  // namespace skippipe
