// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <exception>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/transports/assembly.h"
#include "plugins/transports/gloo/edge.h"

namespace skippipe {

/// A rank's groups from one meeting to the next: an edge for each pair and direction of the schedule, and a group for
/// each stage that several ranks hold.
class GlooGroups {
public:
    using Device = std::shared_ptr<::gloo::transport::Device>;

    /// `device`: as before, else found.
    GlooGroups(std::shared_ptr<Assembly> assembly, Device device);
    ~GlooGroups();

    /// Makes what the schedule needs and is not there. Every rank makes its groups in the same order, so that none
    /// waits for a group that its peer makes later.
    void follow(const RankSchedule& schedule);
    const Device& device() const { return device_; }

    void begin_iteration(const std::function<std::size_t(const RankTransfer&)>& bytes,
                         const std::function<void(Delivery)>& deliver);
    void send(Delivery message) { edge_of_.at(message.transfer.number)->put(std::move(message)); }
    /// What the edges' threads ended with is thrown.
    void end_iteration();
    void all_reduce(int stage, std::span<float> values);

    /// Whether there is a line from one rank to another, one of them this, for what is not the plan's.
    bool has_line(int from, int to) const;
    /// Both ranks at once, where there is no line yet; one thread for each pair and direction.
    void open_line(int from, int to);
    void send_to(int rank, std::span<const std::byte> bytes);
    void receive_from(int rank, std::span<std::byte> bytes);

private:
    /// The ranks of a stage; `peer`: the other one where there are two, else -1.
    struct StageGroup {
        Group group;
        int peer = -1;
    };

    const Device& found_device();
    Group connect(const std::string& name, int peer, int group_rank, int size, bool are_there = false);
    Group line(int from, int to) const;
    Edge& edge_between(int from, int to);
    StageGroup& group_of(int stage, const std::vector<int>& hosts);
    void break_up();
    void tell_broken(std::exception_ptr error);

    std::shared_ptr<Assembly> assembly_;
    Device device_;
    EdgeContext edge_context_;

    mutable std::mutex mutex_;                                      ///< of the maps' shape, and of what follows
    std::map<std::pair<int, int>, std::unique_ptr<Edge>> edges_;    ///< by both ranks, sender first
    std::map<std::pair<int, std::vector<int>>, StageGroup> hosts_;  ///< by stage and its ranks, once made
    std::map<int, StageGroup*> stages_;                             ///< of the schedule
    std::map<std::pair<int, int>, Group> lines_;                    ///< by both ranks, sender first
    std::unordered_map<int, Edge*> edge_of_;                        ///< by number of the transfer
    std::exception_ptr error_;                                      ///< the first of the edges'
};

}  // namespace skippipe
