// SPDX-License-Identifier: GPL-3.0-or-later
// Requests and answers: the length (4 bytes) of what follows, an operation (1 byte), then texts with their lengths.
#include "plugins/transports/local_store.h"

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <optional>
#include <random>
#include <stdexcept>
#include <system_error>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "core/engine/launch.h"
#include "core/engine/transport.h"

namespace skippipe {

namespace {

using namespace std::chrono_literals;

enum class Request : char {
    hello = 'h',
    set = 's',
    get = 'g',
    compare_set = 'c',
    add = 'a',
    remove = 'd',
    check = 'k',
    count = 'n'
};

constexpr std::size_t most_bytes = std::size_t{1} << 28;  // of a request or an answer

std::system_error system_error(const char* what) { return {errno, std::generic_category(), what}; }

std::pair<sockaddr_un, socklen_t> address_of(int number) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    const auto name = fmt::format("skippipe/{}/{}", ::geteuid(), number);  // behind a first byte of 0: abstract
    std::memcpy(address.sun_path + 1, name.data(), name.size());
    return {address, static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size())};
}

bool is_own_user(int socket) {
    ucred peer{};
    socklen_t size = sizeof peer;
    return ::getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == ::geteuid();
}

void put_length(std::string& text, std::size_t length) {
    const auto number = static_cast<std::uint32_t>(length);
    text.append(reinterpret_cast<const char*>(&number), sizeof number);
}

void put(std::string& text, std::string_view part) {
    put_length(text, part.size());
    text += part;
}

/// The next text of a message; nothing where it is shorter than it says.
std::optional<std::string_view> take(std::string_view& message) {
    std::uint32_t length = 0;
    if (message.size() < sizeof length) return std::nullopt;
    std::memcpy(&length, message.data(), sizeof length);
    message.remove_prefix(sizeof length);
    if (message.size() < length) return std::nullopt;
    const auto part = message.substr(0, length);
    message.remove_prefix(length);
    return part;
}

std::string_view view(const std::vector<uint8_t>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// How long an answer may take, and who may end the waiting.
struct Patience {
    std::chrono::milliseconds left;
    const std::atomic<bool>* stop;

    /// Until the socket is ready for that. Counted in short looks: where this process stood still too, its clock went
    /// on.
    void wait(int socket, short event) {
        constexpr auto look = 50ms;
        for (;; left -= look) {
            pollfd one{socket, event, 0};
            const int ready = ::poll(&one, 1, static_cast<int>(look.count()));
            if (ready > 0) return;
            if (ready < 0 && errno != EINTR) throw system_error("the ranks' store is gone");
            if (stop && *stop) throw Aborted();
            if (left <= 0ms) throw std::runtime_error("the ranks' store does not answer");
        }
    }
};

void send_all(int socket, std::string_view bytes, Patience& patience) {
    while (!bytes.empty()) {
        patience.wait(socket, POLLOUT);
        const auto sent = ::send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (sent <= 0) throw system_error("the ranks' store is gone");
        bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
}

void receive_all(int socket, char* bytes, std::size_t size, Patience& patience) {
    while (size > 0) {
        patience.wait(socket, POLLIN);
        const auto received = ::recv(socket, bytes, size, MSG_DONTWAIT);
        if (received < 0 && (errno == EINTR || errno == EAGAIN)) continue;
        if (received < 0) throw system_error("the ranks' store is gone");
        if (received == 0) throw std::runtime_error("the ranks' store is gone, or refused this process");
        bytes += received;
        size -= static_cast<std::size_t>(received);
    }
}

}  // namespace

LocalStoreServer::LocalStoreServer(int number, std::string token) : number_(number), token_(std::move(token)) {
    listening_ = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    std::random_device random;
    for (int tries = 0;; ++tries) {
        if (number == 0) number_ = 1 + static_cast<int>(random() % 65535);
        const auto [address, size] = address_of(number_);
        if (::bind(listening_.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0) break;
        if (errno != EADDRINUSE || number != 0 || tries == 100) throw system_error("the ranks' store");
    }
    int ends[2];
    if (::listen(listening_.get(), SOMAXCONN) != 0 || ::pipe2(ends, O_CLOEXEC) != 0)
        throw system_error("the ranks' store");
    wake_read_ = Descriptor(ends[0]);
    wake_write_ = Descriptor(ends[1]);
    thread_ = std::thread([this] { serve(); });
}

LocalStoreServer::~LocalStoreServer() {
    wake_write_ = Descriptor();  // the reading end hears of it
    thread_.join();
}

void LocalStoreServer::serve() {
    for (;;) {
        std::vector<pollfd> waiting{{wake_read_.get(), POLLIN, 0}, {listening_.get(), POLLIN, 0}};
        for (const auto& client : clients_)
            waiting.push_back({client.socket.get(), static_cast<short>(client.to_send.empty() ? POLLIN : POLLOUT), 0});
        if (::poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) return;
        if (waiting[0].revents != 0) return;
        for (std::size_t i = clients_.size(); i-- > 0;) {
            const auto events = waiting[i + 2].revents;
            if (events == 0) continue;
            auto& client = clients_[i];
            if (!(events & POLLOUT ? send(client) : receive(client)))
                clients_.erase(clients_.begin() + static_cast<std::ptrdiff_t>(i));
        }
        if (waiting[1].revents != 0) admit();
    }
}

void LocalStoreServer::admit() {
    Descriptor socket(::accept4(listening_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (socket.get() >= 0 && is_own_user(socket.get())) clients_.push_back({std::move(socket), false, {}, {}});
}

/// False where the client is gone or talks nonsense.
bool LocalStoreServer::receive(Client& client) {
    char chunk[65536];
    const auto received = ::recv(client.socket.get(), chunk, sizeof chunk, 0);
    if (received < 0) return errno == EAGAIN || errno == EINTR;
    if (received == 0) return false;
    client.received.append(chunk, static_cast<std::size_t>(received));
    std::uint32_t length = 0;
    while (client.received.size() >= sizeof length) {
        std::memcpy(&length, client.received.data(), sizeof length);
        if (length == 0 || length > (client.admitted ? most_bytes : 1024)) return false;
        if (client.received.size() < sizeof length + length) break;
        if (!answer(client, std::string_view(client.received).substr(sizeof length, length))) return false;
        client.received.erase(0, sizeof length + length);
    }
    return client.to_send.empty() || send(client);
}

bool LocalStoreServer::send(Client& client) {
    const auto sent = ::send(client.socket.get(), client.to_send.data(), client.to_send.size(), MSG_NOSIGNAL);
    if (sent < 0) return errno == EAGAIN || errno == EINTR;
    client.to_send.erase(0, static_cast<std::size_t>(sent));
    return true;
}

bool LocalStoreServer::answer(Client& client, std::string_view request) {
    const auto what = static_cast<Request>(request.front());
    request.remove_prefix(1);
    std::vector<std::string> texts;
    while (!request.empty()) {
        const auto text = take(request);
        if (!text) return false;
        texts.emplace_back(*text);
    }
    const auto given = [&](std::size_t count) { return client.admitted && texts.size() == count; };
    const auto found = texts.empty() ? values_.end() : values_.find(texts[0]);
    std::string result;
    if (what == Request::hello && !client.admitted && texts.size() == 1) {
        if (!equal_secret(texts[0], token_)) return false;
        client.admitted = true;
    } else if (what == Request::set && given(2)) {
        values_[texts[0]] = texts[1];
    } else if (what == Request::get && given(1)) {
        result = found == values_.end() ? "-" : "+" + found->second;
    } else if (what == Request::compare_set && given(3)) {
        const bool fits = found == values_.end() ? texts[1].empty() : found->second == texts[1];
        if (fits) values_[texts[0]] = texts[2];
        result = fits ? texts[2] : found == values_.end() ? texts[1] : found->second;
    } else if (what == Request::add && given(2)) {
        const auto sum =
            (found == values_.end() ? 0 : std::atoll(found->second.c_str())) + std::atoll(texts[1].c_str());
        result = values_[texts[0]] = std::to_string(sum);
    } else if (what == Request::remove && given(1)) {
        result = values_.erase(texts[0]) > 0 ? "+" : "-";
    } else if (what == Request::check && client.admitted) {
        result =
            std::all_of(texts.begin(), texts.end(), [&](const auto& key) { return values_.contains(key); }) ? "+" : "-";
    } else if (what == Request::count && given(0)) {
        result = std::to_string(values_.size());
    } else {
        return false;
    }
    put(client.to_send, result);
    return true;
}

LocalStore::LocalStore(int number, const std::string& token, std::chrono::milliseconds patience,
                       std::chrono::milliseconds silence, std::shared_ptr<const std::atomic<bool>> stop)
    : number_(number), token_(token), silence_(silence), stop_(std::move(stop)) {
    timeout_ = patience;
    const auto until = std::chrono::steady_clock::now() + patience;
    const auto [address, size] = address_of(number);
    for (;;) {
        socket_ = Descriptor(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
        if (::connect(socket_.get(), reinterpret_cast<const sockaddr*>(&address), size) == 0) break;
        if (std::chrono::steady_clock::now() > until) throw system_error("nobody serves the ranks' store");
        std::this_thread::sleep_for(20ms);
    }
    if (!is_own_user(socket_.get())) throw std::runtime_error("another user serves the ranks' store");
    std::string hello(1, static_cast<char>(Request::hello));
    put(hello, token);
    ask(hello);
}

std::string LocalStore::ask(const std::string& request) {
    const std::lock_guard lock(mutex_);
    if (request.size() > most_bytes) throw std::runtime_error("too large for the ranks' store");
    // What broke off in the middle of an answer would read the rest of it as the next one: it is used no more.
    if (socket_.get() < 0) throw std::runtime_error("the ranks' store did not answer before");
    Descriptor socket = std::move(socket_);
    Patience patience{silence_, stop_.get()};
    std::string framed;
    put(framed, request);
    send_all(socket.get(), framed, patience);
    std::uint32_t length = 0;
    receive_all(socket.get(), reinterpret_cast<char*>(&length), sizeof length, patience);
    std::string result(length, '\0');
    receive_all(socket.get(), result.data(), length, patience);
    socket_ = std::move(socket);
    return result;
}

namespace {
std::string request(Request what, std::initializer_list<std::string_view> texts) {
    std::string message(1, static_cast<char>(what));
    for (const auto text : texts) put(message, text);
    return message;
}
}  // namespace

void LocalStore::set(const std::string& key, const std::vector<uint8_t>& value) {
    ask(request(Request::set, {key, view(value)}));
}

std::vector<uint8_t> LocalStore::compareSet(const std::string& key, const std::vector<uint8_t>& expected,
                                            const std::vector<uint8_t>& desired) {
    const auto now = ask(request(Request::compare_set, {key, view(expected), view(desired)}));
    return {now.begin(), now.end()};
}

std::vector<uint8_t> LocalStore::get(const std::string& key) {
    wait({key});
    const auto found = ask(request(Request::get, {key}));
    if (!found.starts_with('+')) throw std::runtime_error("the ranks' store has lost " + key);
    return {found.begin() + 1, found.end()};
}

int64_t LocalStore::add(const std::string& key, int64_t value) {
    return std::stoll(ask(request(Request::add, {key, std::to_string(value)})));
}

bool LocalStore::deleteKey(const std::string& key) { return ask(request(Request::remove, {key})) == "+"; }

bool LocalStore::check(const std::vector<std::string>& keys) {
    auto message = request(Request::check, {});
    for (const auto& key : keys) put(message, key);
    return ask(message) == "+";
}

int64_t LocalStore::getNumKeys() { return std::stoll(ask(request(Request::count, {}))); }

void LocalStore::wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) {
    const auto until = std::chrono::steady_clock::now() + timeout;
    for (auto pause = 1ms; !check(keys); pause = std::min(2 * pause, 20ms)) {
        if (std::chrono::steady_clock::now() > until)
            throw std::runtime_error("the ranks' store never got " + keys.front());
        std::this_thread::sleep_for(pause);
    }
}

c10::intrusive_ptr<c10d::Store> LocalStore::clone() {
    return c10::make_intrusive<LocalStore>(number_, token_, timeout_, silence_, stop_);
}

}  // namespace skippipe
