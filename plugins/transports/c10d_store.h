// SPDX-License-Identifier: GPL-3.0-or-later
// c10d's stores as they differ between LibTorch 1.13 and 2.x. They need no Gloo.
#pragma once
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#pragma GCC diagnostic pop

#include <chrono>
#include <string>

namespace skippipe {

using StorePointer = c10::intrusive_ptr<c10d::Store>;

/// LibTorch's own server speaks a protocol of its own from 2.4 on where it may.
template <class Options>
void use_plain_sockets(Options& options) {
    if constexpr (requires { options.useLibUV; }) options.useLibUV = false;
}

/// `port` 0 with `server`: any that is free.
inline c10::intrusive_ptr<c10d::TCPStore> make_store(const std::string& host, int port, bool server,
                                                     std::chrono::milliseconds timeout) {
    c10d::TCPStoreOptions options;
    options.port = static_cast<std::uint16_t>(port);
    options.isServer = server;
    options.waitWorkers = false;
    options.timeout = timeout;
    use_plain_sockets(options);
    return c10::make_intrusive<c10d::TCPStore>(host, options);
}

}  // namespace skippipe
