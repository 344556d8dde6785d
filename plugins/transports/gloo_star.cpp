// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/gloo_star.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "core/engine/transport.h"

namespace skippipe {
namespace {

/// A size that another rank states, before it is allocated.
std::size_t checked_size(std::int64_t size, std::size_t most, int rank) {
    if (size < 0 || static_cast<std::size_t>(size) > most)
        throw PeerFault(rank, fmt::format("announced a text of {} bytes, where at most {} are taken", size, most));
    return static_cast<std::size_t>(size);
}

std::span<std::byte> writable(std::string& text) { return std::as_writable_bytes(std::span(text)); }

}  // namespace

GlooStar::GlooStar(Group group, std::vector<int> members, int rank, Guarded guarded)
    : group_(std::move(group)), members_(std::move(members)), rank_(rank), guarded_(std::move(guarded)) {}

/// Of a rank, as the group numbers those that are there.
int GlooStar::place(int member) const {
    return static_cast<int>(std::lower_bound(members_.begin(), members_.end(), member) - members_.begin());
}

std::vector<double> GlooStar::all_gather(std::vector<double> values) const {
    if (alone()) return values;
    std::vector<double> all(members_.size() * values.size());
    if (members_.size() == 2)
        exchange(values, all);
    else
        meet_at_first(values, all);
    return all;
}

/// To and from each other at once.
void GlooStar::exchange(std::vector<double>& mine, std::vector<double>& all) const {
    const int other = 1 - place(rank_);
    const auto part = [&](int i) {
        return std::span(all).subspan(static_cast<std::size_t>(i) * mine.size(), mine.size());
    };
    std::copy(mine.begin(), mine.end(), part(1 - other).begin());
    guarded_(members_[static_cast<std::size_t>(other)], [&] {
        const auto heard = post_receive(group_, std::as_writable_bytes(part(other)), other, star_tag::values);
        group_->finish(post_send(group_, std::as_bytes(std::span(mine)), other, star_tag::values));
        group_->finish(heard);
    });
}

/// All to rank 0 at once, and from there to each.
void GlooStar::meet_at_first(std::vector<double>& mine, std::vector<double>& all) const {
    if (rank_ != 0) {
        guarded_(0, [&] { group_->finish(post_send(group_, std::as_bytes(std::span(mine)), 0, star_tag::values)); });
    } else {
        std::copy(mine.begin(), mine.end(), all.begin());
        std::vector<Posting> postings(members_.size());
        const auto of_member = [&](std::size_t i) {
            return std::as_writable_bytes(std::span(all).subspan(i * mine.size(), mine.size()));
        };
        for (std::size_t i = 1; i < members_.size(); ++i)
            guarded_(members_[i],
                     [&] { postings[i] = post_receive(group_, of_member(i), static_cast<int>(i), star_tag::values); });
        for (std::size_t i = 1; i < members_.size(); ++i) guarded_(members_[i], [&] { group_->finish(postings[i]); });
    }
    spread(all.data(), all.size() * sizeof(double));
}

/// From rank 0 to each.
void GlooStar::spread(void* data, std::size_t size) const {
    if (alone()) return;
    const std::span bytes(static_cast<std::byte*>(data), size);
    if (rank_ != 0) return guarded_(0, [&] { group_->finish(post_receive(group_, bytes, 0, star_tag::spread)); });
    std::vector<Posting> postings(members_.size());
    for (std::size_t i = 1; i < members_.size(); ++i)
        guarded_(members_[i], [&] { postings[i] = post_send(group_, bytes, static_cast<int>(i), star_tag::spread); });
    for (std::size_t i = 1; i < members_.size(); ++i) guarded_(members_[i], [&] { group_->finish(postings[i]); });
}

/// Everybody's size at once, then everybody's text.
std::vector<std::string> GlooStar::gather(const std::string& text) const {
    if (text.size() > most_gathered_bytes) throw std::length_error("a text beyond what rank 0 takes");
    if (rank_ != 0) {
        const auto size = static_cast<std::int64_t>(text.size());
        guarded_(0, [&] {
            group_->finish(post_send(group_, std::as_bytes(std::span(&size, 1)), 0, star_tag::size));
            if (size > 0) group_->finish(post_send(group_, std::as_bytes(std::span(text)), 0, star_tag::text));
        });
        return {};
    }
    std::vector<std::string> texts(members_.size());
    std::vector<std::int64_t> sizes(members_.size(), 0);
    std::vector<Posting> postings(members_.size());
    texts[0] = text;
    for (std::size_t i = 1; i < members_.size(); ++i)
        guarded_(members_[i], [&] {
            postings[i] = post_receive(group_, std::as_writable_bytes(std::span(&sizes[i], 1)), static_cast<int>(i),
                                       star_tag::size);
        });
    for (std::size_t i = 1; i < members_.size(); ++i) {
        guarded_(members_[i], [&] { group_->finish(postings[i]); });
        texts[i].resize(checked_size(sizes[i], most_gathered_bytes, members_[i]));
        if (texts[i].empty()) continue;
        guarded_(members_[i],
                 [&] { postings[i] = post_receive(group_, writable(texts[i]), static_cast<int>(i), star_tag::text); });
    }
    for (std::size_t i = 1; i < members_.size(); ++i)
        if (!texts[i].empty()) guarded_(members_[i], [&] { group_->finish(postings[i]); });
    return texts;
}

/// A short text travels with its size.
std::string GlooStar::broadcast(const std::string& text) const {
    constexpr std::size_t short_bytes = 4096;
    if (alone()) return text;
    if (rank_ == 0 && text.size() > most_broadcast_bytes) throw std::length_error("a text beyond what ranks take");
    std::array<char, sizeof(std::int64_t) + short_bytes> first{};
    auto size = static_cast<std::int64_t>(text.size());
    if (rank_ == 0) {
        std::memcpy(first.data(), &size, sizeof size);
        std::memcpy(first.data() + sizeof size, text.data(), std::min(text.size(), short_bytes));
    }
    spread(first.data(), first.size());
    std::memcpy(&size, first.data(), sizeof size);
    const auto checked = checked_size(size, most_broadcast_bytes, 0);
    if (checked <= short_bytes) return {first.data() + sizeof size, checked};
    std::string result = rank_ == 0 ? text : std::string(checked, '\0');
    spread(result.data(), result.size());
    return result;
}

void GlooStar::send_to(int rank, std::span<const std::byte> bytes) const {
    guarded_(rank, [&] { group_->finish(post_send(group_, bytes, place(rank), star_tag::data)); });
}

void GlooStar::receive_from(int rank, std::span<std::byte> bytes) const {
    guarded_(rank, [&] { group_->finish(post_receive(group_, bytes, place(rank), star_tag::data)); });
}

}  // namespace skippipe
