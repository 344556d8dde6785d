// SPDX-License-Identifier: GPL-3.0-or-later
// c10d as it differs between LibTorch 1.13 and 2.x. The concrete classes have the same signatures; their base does not,
// so nothing here names it.
#pragma once
#ifndef USE_C10D_GLOO
#define USE_C10D_GLOO  // LibTorch was built with it; the header asks again
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#pragma GCC diagnostic pop

namespace skippipe {

using Group = c10::intrusive_ptr<c10d::ProcessGroupGloo>;
using Store = c10::intrusive_ptr<c10d::Store>;

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

/// A group of `size` processes that never gives up waiting: a time-out would close all of its connections.
inline Group make_group(const Store& store, int rank, int size,
                        const std::shared_ptr<::gloo::transport::Device>& device) {
    auto options = c10d::ProcessGroupGloo::Options::create(std::chrono::hours(24 * 30));
    options->devices = {device};
    options->threads = 1;
    return c10::make_intrusive<c10d::ProcessGroupGloo>(store, rank, size, options);
}

}  // namespace skippipe
