// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>

#include <torch/types.h>

namespace skippipe {

/// Of an fp32 array's bits: equal arrays have equal hashes, others almost never. On the CPU XXH3; elsewhere where the
/// array lies (keyed_hash), so that hashes of different kinds of devices tell nothing of each other.
std::uint64_t hash_of(const torch::Tensor& flat);

/// Sums of 2^22 values' bits each, every value times an odd number that is drawn for its place, modulo 2^64; these sums
/// are hashed. One value that differs always shows in its sum, several by all but a chance of about 2^-64.
/// By LibTorch's operations, whole numbers: the order of the sums does not matter.
std::uint64_t keyed_hash(const torch::Tensor& flat);

}  // namespace skippipe
