// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/gloo/mesh.h"

#include <algorithm>

#include "core/base/index.h"
#include "kernels/vector.h"

namespace skippipe {
namespace {

constexpr int parts_tag = 1, sums_tag = 2;

/// The share of one member, as equal as whole values allow.
std::span<float> share(std::span<float> values, int member, int members) {
    const auto from = [&](int k) { return values.size() * static_cast<std::size_t>(k) / at(members); };
    return values.subspan(from(member), from(member + 1) - from(member));
}

template <class Work>
void for_others(const Group& group, const Work& work) {
    for (int k = 1; k < group->getSize(); ++k) work((group->getRank() + k) % group->getSize());
}

/// One message to each other member and one from each, all under way at once; empty ones stay at home.
template <class Out, class In>
void exchange(const Group& group, int tag, const Out& out, const In& in) {
    std::vector<Posting> postings;
    for_others(group, [&](int peer) {
        if (const auto bytes = std::as_writable_bytes(in(peer)); !bytes.empty())
            postings.push_back(post_receive(group, bytes, peer, tag));
    });
    for_others(group, [&](int peer) {
        if (const auto bytes = std::as_bytes(out(peer)); !bytes.empty())
            postings.push_back(post_send(group, bytes, peer, tag));
    });
    for (const auto& posting : postings) group->finish(posting);
}

}  // namespace

void mesh_all_reduce(const Group& group, std::span<float> values) {
    const int members = group->getSize(), me = group->getRank();
    const auto mine = share(values, me, members);
    std::vector<std::vector<float>> parts(at(members));
    for_others(group, [&](int peer) { parts[at(peer)].resize(mine.size()); });
    exchange(
        group, parts_tag, [&](int peer) { return share(values, peer, members); },
        [&](int peer) { return std::span(parts[at(peer)]); });
    parts[at(me)].assign(mine.begin(), mine.end());
    std::copy(parts.front().begin(), parts.front().end(), mine.begin());
    for (int k = 1; k < members; ++k) kernels::sum_into(mine.data(), parts[at(k)].data(), mine.size());
    exchange(
        group, sums_tag, [&](int) { return mine; }, [&](int peer) { return share(values, peer, members); });
}

}  // namespace skippipe
