// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/socket_meeting.h"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <system_error>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include "core/engine/launch.h"
#include "core/engine/transport.h"
#include "plugins/transports/run_store.h"

namespace skippipe {
namespace {

using namespace std::chrono_literals;

/// Between two looks whether it is to go on.
constexpr auto look_every = 50ms;
/// Who has not said who it is; one more takes the oldest one's place.
constexpr std::size_t most_strangers = 256;

std::system_error system_error(const std::string& what) { return {errno, std::generic_category(), what}; }

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

Addresses addresses_of(const std::string& host, int port) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_STREAM;
    addrinfo* list = nullptr;
    if (const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &list); error != 0)
        throw std::runtime_error(fmt::format("{} is no address: {}", host, ::gai_strerror(error)));
    return {list, &::freeaddrinfo};
}

Descriptor socket_for(const addrinfo& address) {
    return Descriptor(::socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

Descriptor listen_at(const std::string& address) {
    const auto found = addresses_of(address, 0);
    for (const addrinfo* one = found.get(); one; one = one->ai_next)
        if (auto socket = socket_for(*one); socket.get() >= 0 &&
                                            ::bind(socket.get(), one->ai_addr, one->ai_addrlen) == 0 &&
                                            ::listen(socket.get(), SOMAXCONN) == 0)
            return socket;
    throw system_error("cannot listen at " + address);
}

/// The numeric address and the port that it is bound to: the others need ask no name server.
std::pair<std::string, std::string> place_of(const Descriptor& socket) {
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    std::array<char, NI_MAXHOST> host{};
    std::array<char, NI_MAXSERV> port{};
    auto* bound = reinterpret_cast<sockaddr*>(&address);
    if (::getsockname(socket.get(), bound, &size) != 0) throw system_error("a socket without a port");
    if (::getnameinfo(bound, size, host.data(), host.size(), port.data(), port.size(),
                      NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        throw std::runtime_error("a socket without an address");
    return {host.data(), port.data()};
}

/// From now on calls wait, and what is small goes at once; a line that says nothing for long is not forgotten on its
/// way.
Descriptor ready(Descriptor socket) {
    const int on = 1;
    constexpr int idle_s = 60;
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    ::setsockopt(socket.get(), SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    ::setsockopt(socket.get(), IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    ::fcntl(socket.get(), F_SETFL, ::fcntl(socket.get(), F_GETFL) & ~O_NONBLOCK);
    return socket;
}

}  // namespace

std::string SocketMeeting::key(const std::string& meeting, int rank) {
    return fmt::format("{}/socket/{}", meeting, rank);
}

SocketMeeting::Place SocketMeeting::read_place(const std::string& text, int rank) {
    Place place;
    const auto first = text.find(' '), second = text.find(' ', first + 1);
    const auto port_end = text.data() + std::min(first, text.size());
    const bool is_port = std::from_chars(text.data(), port_end, place.port).ptr == port_end;
    if (first == std::string::npos || second != first + 1 + sizeof Hello::secret || !is_port || place.port < 1 ||
        place.port > 65535)
        throw PeerFault(rank, "says that it listens where nobody can");
    place.secret = text.substr(first + 1, sizeof Hello::secret);
    place.address = text.substr(second + 1);
    return place;
}

SocketMeeting::SocketMeeting(RunStore& store, SocketParty party)
    : store_(store),
      party_(std::move(party)),
      until_(std::chrono::steady_clock::now() + party_.patience),
      secret_(make_token()),
      listening_(listen_at(party_.address)) {
    const auto [address, port] = place_of(listening_);
    store.set_text(key(party_.name, party_.rank), fmt::format("{} {} {}", port, secret_, address));
}

/// Until a socket is so far.
void SocketMeeting::wait(int socket, short events, const char* what) const {
    for (pollfd waiting{socket, events, 0};;) {
        party_.check();
        if (::poll(&waiting, 1, static_cast<int>(look_every.count())) > 0) return;
        if (std::chrono::steady_clock::now() > until_) throw std::runtime_error(what);
    }
}

/// Where a rank is far from the store each question takes a round trip: one for all that they are there, one for each
/// where it is; the handshakes go on at once.
std::map<int, Descriptor> SocketMeeting::connect() {
    std::vector<std::string> names;
    for (const int member : party_.members)
        if (member != party_.rank) names.push_back(key(party_.name, member));
    store_.wait(names, std::max(1ms, std::chrono::duration_cast<std::chrono::milliseconds>(
                                         until_ - std::chrono::steady_clock::now())));
    std::map<int, Descriptor> begun;
    for (const int member : party_.members)
        if (member != party_.rank) begun.emplace(member, begin(member));
    for (auto& [rank, socket] : begun) socket = greet(std::move(socket), rank);
    return begun;
}

Descriptor SocketMeeting::begin(int rank) {
    const auto said = store_.get(key(party_.name, rank));
    const auto place = read_place(std::string(said.begin(), said.end()), rank);
    secrets_[rank] = place.secret;
    const auto addresses = addresses_of(place.address, place.port);
    auto socket = socket_for(*addresses);
    if (socket.get() < 0 ||
        (::connect(socket.get(), addresses->ai_addr, addresses->ai_addrlen) != 0 && errno != EINPROGRESS))
        throw system_error(fmt::format("rank {} at {}", rank, place.address));
    return socket;
}

/// Once it is connected: says who it is.
Descriptor SocketMeeting::greet(Descriptor socket, int rank) const {
    wait(socket.get(), POLLOUT, "a rank does not let itself be connected to");
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) throw std::system_error(error, std::generic_category(), fmt::format("rank {}", rank));
    Hello hello{{}, party_.rank};
    std::memcpy(hello.secret, secrets_.at(rank).data(), sizeof hello.secret);
    if (::send(socket.get(), &hello, sizeof hello, MSG_NOSIGNAL) != sizeof hello)
        throw system_error(fmt::format("rank {}", rank));
    return ready(std::move(socket));
}

std::map<int, Descriptor> SocketMeeting::admit() {
    while (admitted_.size() + 1 < party_.members.size()) {
        party_.check();
        if (std::chrono::steady_clock::now() > until_) {
            for (const int member : party_.members)
                if (member != party_.rank && !admitted_.contains(member))
                    throw std::runtime_error(fmt::format("rank {} does not connect", member));
        }
        look();
    }
    return std::move(admitted_);
}

/// At who comes, and at what those say who have come.
void SocketMeeting::look() {
    std::vector<pollfd> waiting{{listening_.get(), POLLIN, 0}};
    for (const auto& stranger : strangers_) waiting.push_back({stranger.socket.get(), POLLIN, 0});
    if (::poll(waiting.data(), waiting.size(), static_cast<int>(look_every.count())) <= 0) return;
    for (std::size_t i = strangers_.size(); i-- > 0;)
        if (waiting[i + 1].revents != 0 && !hear(strangers_[i]))
            strangers_.erase(strangers_.begin() + static_cast<std::ptrdiff_t>(i));
    if (waiting[0].revents == 0) return;
    if (strangers_.size() == most_strangers) strangers_.erase(strangers_.begin());
    Descriptor socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.get() >= 0)
        strangers_.push_back({std::move(socket), {}});
    else if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
        throw system_error("nobody can be let in");
}

/// False where it is none any more: a member, or gone, or one that does not know the secret.
bool SocketMeeting::hear(Stranger& stranger) {
    std::byte chunk[sizeof(Hello)];
    const auto received = ::recv(stranger.socket.get(), chunk, sizeof chunk - stranger.said.size(), 0);
    if (received <= 0) return received < 0 && (errno == EAGAIN || errno == EINTR);
    stranger.said.insert(stranger.said.end(), chunk, chunk + received);
    if (stranger.said.size() < sizeof(Hello)) return true;
    Hello hello;
    std::memcpy(&hello, stranger.said.data(), sizeof hello);
    const bool known = std::binary_search(party_.members.begin(), party_.members.end(), static_cast<int>(hello.rank));
    if (equal_secret({hello.secret, sizeof hello.secret}, secret_) && known && hello.rank != party_.rank)
        admitted_.try_emplace(hello.rank, ready(std::move(stranger.socket)));
    return false;
}

}  // namespace skippipe
