// SPDX-License-Identifier: GPL-3.0-or-later
// c10d as it differs between LibTorch 1.13 and 2.x. The concrete classes have the same signatures; their base does not,
// so nothing here names it.
#pragma once
#ifndef USE_C10D_GLOO
#define USE_C10D_GLOO  // LibTorch was built with it; the header asks again
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <gloo/transport/unbound_buffer.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#pragma GCC diagnostic pop

namespace skippipe {

/// Longer than any run: a wait that ends for its time-out closes all connections of its group.
constexpr auto forever = std::chrono::hours(24 * 30);

/// Gloo's group, with an end to all that waits in it.
class BreakableGroup final : public c10d::ProcessGroupGloo {
public:
    BreakableGroup(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                   const c10::intrusive_ptr<Options>& options)
        : ProcessGroupGloo(store, rank, size, options) {
        for (const auto& context : contexts_) context->setTimeout(forever);  // of collectives
    }

    /// Everything under way in the group, and all that is begun later, ends with an exception, here and on the other
    /// ranks: Gloo closes a group's connections where one of its waits runs out of time.
    void break_up() noexcept {
        for (const auto& context : contexts_) try {
                char nothing = 0;
                context->createUnboundBuffer(&nothing, 1)->waitRecv(nullptr, std::chrono::milliseconds(1));
            } catch (const std::exception&) {
                // As intended.
            }
    }
};

using Group = c10::intrusive_ptr<BreakableGroup>;
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

/// A group of `size` processes, which must meet within `patience` and then never gives up waiting. `collectives`:
/// besides sending and receiving, for which it needs no thread of its own.
inline Group make_group(const StorePointer& store, int rank, int size,
                        const std::shared_ptr<::gloo::transport::Device>& device, std::chrono::milliseconds patience,
                        bool collectives) {
    auto options = c10d::ProcessGroupGloo::Options::create(patience);
    options->devices = {device};
    options->threads = collectives ? 1 : 0;
    return c10::make_intrusive<BreakableGroup>(store, rank, size, options);
}

}  // namespace skippipe
