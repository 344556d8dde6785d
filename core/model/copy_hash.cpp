// SPDX-License-Identifier: GPL-3.0-or-later
#define XXH_INLINE_ALL
#include "core/model/copy_hash.h"

#include <xxhash.h>

#include <algorithm>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "core/base/rng.h"

namespace skippipe {

namespace {

constexpr std::int64_t piece = 1 << 22;

/// Drawn once a device.
torch::Tensor keys_on(const torch::Device& device) {
    static std::mutex mutex;
    static auto& known = *new std::map<std::string, torch::Tensor>;  // CUDA may have ended before what is static does
    const std::lock_guard lock(mutex);
    auto& keys = known[device.str()];
    if (!keys.defined()) {
        std::vector<std::int64_t> drawn(piece);
        Rng rng(0x636f7079);
        for (auto& key : drawn) key = static_cast<std::int64_t>(rng.next() | 1);
        keys = torch::from_blob(drawn.data(), {piece}, torch::kInt64).to(device, torch::kInt64, false, true);
    }
    return keys;
}

}  // namespace

std::uint64_t keyed_hash(const torch::Tensor& flat) {
    if (flat.numel() == 0) return 0;
    torch::NoGradGuard no_gradient;
    const auto keys = keys_on(flat.device()), bits = flat.detach().contiguous().view(torch::kInt32);
    std::vector<torch::Tensor> sums;
    for (const auto& part : bits.split(piece))
        sums.push_back((part.to(torch::kInt64) * keys.narrow(0, 0, part.numel())).sum());
    const auto all = torch::stack(sums).to(torch::kCPU);
    return XXH3_64bits(all.data_ptr<std::int64_t>(), static_cast<std::size_t>(all.nbytes()));
}

std::uint64_t hash_of(const torch::Tensor& flat) {
    if (!flat.device().is_cpu()) return keyed_hash(flat);
    const auto values = flat.contiguous();
    return XXH3_64bits(values.data_ptr<float>(), static_cast<std::size_t>(values.nbytes()));
}

}  // namespace skippipe
