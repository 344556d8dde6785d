// SPDX-License-Identifier: GPL-3.0-or-later
#include <array>
#include <memory>
#include <stdexcept>

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "core/engine/launch.h"

namespace skippipe {

namespace {

/// The near end of a datagram socket that was pointed at the far one.
std::string near_end(const addrinfo& far) {
    const int socket = ::socket(far.ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (socket < 0) return "";
    sockaddr_storage address{};
    socklen_t size = sizeof address;
    std::array<char, NI_MAXHOST> text{};
    const bool found = ::connect(socket, far.ai_addr, far.ai_addrlen) == 0 &&
                       ::getsockname(socket, reinterpret_cast<sockaddr*>(&address), &size) == 0 &&
                       ::getnameinfo(reinterpret_cast<sockaddr*>(&address), size, text.data(), text.size(), nullptr, 0,
                                     NI_NUMERICHOST) == 0;
    ::close(socket);
    return found ? text.data() : "";
}

}  // namespace

std::string address_towards(const std::string& host) {
    addrinfo hints{};
    hints.ai_family = AF_UNSPEC;
    hints.ai_socktype = SOCK_DGRAM;
    addrinfo* list = nullptr;
    // Port 9 (discard): one must be named, and nothing goes there.
    if (::getaddrinfo(host.c_str(), "9", &hints, &list) != 0) return "";
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owner(list, &::freeaddrinfo);
    for (const addrinfo* far = list; far; far = far->ai_next)
        if (auto near = near_end(*far); !near.empty() && !is_loopback(near)) return near;
    return "";
}

std::string address_of_interface(const std::string& name) {
    ifaddrs* list = nullptr;
    if (::getifaddrs(&list) != 0) list = nullptr;
    const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(list, &::freeifaddrs);
    for (const int family : {AF_INET, AF_INET6})
        for (const ifaddrs* one = list; one; one = one->ifa_next) {
            if (name != one->ifa_name || !one->ifa_addr || one->ifa_addr->sa_family != family) continue;
            const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
            std::array<char, NI_MAXHOST> text{};
            if (::getnameinfo(one->ifa_addr, size, text.data(), text.size(), nullptr, 0, NI_NUMERICHOST) == 0)
                return text.data();
        }
    throw std::runtime_error("no network interface " + name + " with an address");
}

std::string host_name() {
    utsname system{};
    ::uname(&system);
    return system.nodename;
}

}  // namespace skippipe
