// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "plugins/transports/rank_sockets.h"

namespace skippipe {

/// Runs what talks to a peer (-1: to several); what a broken connection comes to.
using Guarded = std::function<void(int peer, const std::function<void()>& work)>;

/// What the ranks of a meeting say to each other, small and seldom. It goes by way of the first of them, so that who is
/// gone is known by name. Every rank calls the same; `send_to` and `receive_from` go in pairs.
class Star {
public:
    /// `members`: ascending, rank 0 among them; `sockets`: none where `rank` is alone.
    Star(std::shared_ptr<RankSockets> sockets, std::vector<int> members, int rank, Guarded guarded);

    int rank() const { return rank_; }
    const std::vector<int>& members() const { return members_; }
    const RankSockets& sockets() const { return *sockets_; }
    void guarded(int peer, const std::function<void()>& work) const { guarded_(peer, work); }
    void break_up() const {
        if (sockets_) sockets_->break_up();
    }

    /// Equally many values of each, on every rank: one member's after the other's.
    std::vector<double> all_gather(const std::vector<double>& values) const { return gather_among(members_, values); }
    /// The same of some ranks, ascending, which all call it.
    std::vector<double> gather_among(const std::vector<int>& ranks, const std::vector<double>& values) const;
    /// On rank 0 everybody's text by member; elsewhere nothing.
    std::vector<std::string> gather(const std::string& text) const;
    /// Rank 0's text on every rank.
    std::string broadcast(const std::string& text) const;
    /// Both wait until it is there.
    void send_to(int rank, std::span<const std::byte> bytes) const;
    void receive_from(int rank, std::span<std::byte> bytes) const;

private:
    std::shared_ptr<RankSockets> sockets_;
    std::vector<int> members_;
    int rank_ = 0;
    Guarded guarded_;
};

}  // namespace skippipe
