// SPDX-License-Identifier: GPL-3.0-or-later
// Sending and receiving of bytes in a group.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <torch/types.h>

#include "plugins/transports/gloo/breakable_group.h"

namespace skippipe {

inline torch::Tensor bytes_of(const void* data, std::size_t size) {
    return torch::from_blob(const_cast<void*>(data), {static_cast<std::int64_t>(size)}, torch::kUInt8);
}

/// Posts at once; the bytes must live until both have been waited for.
inline Posting post_send(const Group& group, std::span<const std::byte> bytes, int peer, int tag) {
    std::vector<torch::Tensor> tensors{bytes_of(bytes.data(), bytes.size())};
    return group->send(tensors, peer, tag);
}
inline Posting post_receive(const Group& group, std::span<std::byte> bytes, int peer, int tag) {
    std::vector<torch::Tensor> tensors{bytes_of(bytes.data(), bytes.size())};
    return group->recv(tensors, peer, tag);
}
}  // namespace skippipe
