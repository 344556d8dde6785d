// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/star.h"

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "core/engine/transport.h"

namespace skippipe {

Star::Star(std::shared_ptr<RankSockets> sockets, std::vector<int> members, int rank, Guarded guarded)
    : sockets_(std::move(sockets)), members_(std::move(members)), rank_(rank), guarded_(std::move(guarded)) {}

/// All to the first, and from there to each.
std::vector<double> Star::gather_among(const std::vector<int>& ranks, const std::vector<double>& values) const {
    std::vector<double> all(ranks.size() * values.size());
    const auto of = [&](std::size_t i) { return std::span(all).subspan(i * values.size(), values.size()); };
    const int first = ranks.front();
    if (rank_ != first) {
        guarded_(first, [&] {
            sockets_->send(first, Word::values, std::as_bytes(std::span(values)));
            sockets_->receive(first, Word::all_values, std::as_writable_bytes(std::span(all)));
        });
        return all;
    }
    std::copy(values.begin(), values.end(), all.begin());
    for (std::size_t i = 1; i < ranks.size(); ++i)
        guarded_(ranks[i], [&] { sockets_->receive(ranks[i], Word::values, std::as_writable_bytes(of(i))); });
    for (std::size_t i = 1; i < ranks.size(); ++i)
        guarded_(ranks[i], [&] { sockets_->send(ranks[i], Word::all_values, std::as_bytes(std::span(all))); });
    return all;
}

std::vector<std::string> Star::gather(const std::string& text) const {
    if (text.size() > most_gathered_bytes) throw std::length_error("a text beyond what rank 0 takes");
    if (rank_ != 0) {
        guarded_(0, [&] { sockets_->send(0, Word::text, std::as_bytes(std::span(text))); });
        return {};
    }
    std::vector<std::string> texts{text};
    for (std::size_t i = 1; i < members_.size(); ++i)
        guarded_(members_[i], [&] { texts.push_back(sockets_->receive_text(members_[i], most_gathered_bytes)); });
    return texts;
}

std::string Star::broadcast(const std::string& text) const {
    if (rank_ == 0 && text.size() > most_broadcast_bytes) throw std::length_error("a text beyond what ranks take");
    std::string told = text;
    if (rank_ != 0) guarded_(0, [&] { told = sockets_->receive_text(0, most_broadcast_bytes); });
    for (std::size_t i = 1; rank_ == 0 && i < members_.size(); ++i)
        guarded_(members_[i], [&] { sockets_->send(members_[i], Word::text, std::as_bytes(std::span(text))); });
    return told;
}

void Star::send_to(int rank, std::span<const std::byte> bytes) const {
    guarded_(rank, [&] { sockets_->hand_over(rank, bytes); });
}

void Star::receive_from(int rank, std::span<std::byte> bytes) const {
    guarded_(rank, [&] { sockets_->take_over(rank, bytes); });
}

}  // namespace skippipe
