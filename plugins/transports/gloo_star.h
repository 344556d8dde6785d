// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <string>
#include <vector>

#include "plugins/transports/gloo_posts.h"

namespace skippipe {

/// What messages of this group are.
namespace star_tag {
constexpr int size = 1, text = 2, data = 3, question = 4, answer = 5, values = 6, spread = 7;
}

/// Runs what talks to a peer (-1: to several); what a broken connection comes to.
using Guarded = std::function<void(int peer, const std::function<void()>& work)>;

/// What all ranks of a meeting say to each other, small and seldom, in a group of all of them. It goes by way of rank
/// 0, so that who is gone is known by name. Every rank calls the same; `send_to` and `receive_from` go in pairs.
class GlooStar {
public:
    /// `members`: ascending, rank 0 among them; `group`: none where `rank` is alone.
    GlooStar(Group group, std::vector<int> members, int rank, Guarded guarded);

    bool alone() const { return members_.size() == 1; }
    int rank() const { return rank_; }
    const Group& group() const { return group_; }
    void guarded(int peer, const std::function<void()>& work) const { guarded_(peer, work); }
    void break_up() {
        if (group_) group_->break_up();
    }

    /// Equally many values of each, on every rank: one member's after the other's.
    std::vector<double> all_gather(std::vector<double> values) const;
    /// On rank 0 everybody's text by member; elsewhere nothing.
    std::vector<std::string> gather(const std::string& text) const;
    /// Rank 0's text on every rank.
    std::string broadcast(const std::string& text) const;
    void send_to(int rank, std::span<const std::byte> bytes) const;
    void receive_from(int rank, std::span<std::byte> bytes) const;

private:
    int place(int member) const;
    void exchange(std::vector<double>& mine, std::vector<double>& all) const;
    void meet_at_first(std::vector<double>& mine, std::vector<double>& all) const;
    void spread(void* data, std::size_t size) const;

    Group group_;
    std::vector<int> members_;
    int rank_ = 0;
    Guarded guarded_;
};

}  // namespace skippipe
