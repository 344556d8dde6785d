// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "plugins/transports/gloo.h"
#include "plugins/transports/gloo_clock.h"
#include "plugins/transports/gloo_edge.h"
#include "plugins/transports/gloo_star.h"
#include "plugins/transports/run_store.h"

namespace skippipe {

/// A rank's connections from one meeting to the next: who is there, the group of all, an edge for each pair and
/// direction of the schedule, and a group for each stage that several ranks hold; and what becomes of one that breaks.
class GlooGroups {
public:
    GlooGroups(Rendezvous& rendezvous, GlooOptions options);

    /// Who is there, and the group of all of them; `device`: as before, else found.
    void open(Meeting meeting, std::shared_ptr<::gloo::transport::Device> device);
    /// Makes what the schedule needs and is not there. Every rank makes its groups in the same order, so that none
    /// waits for a group that its peer makes later.
    void follow(const RankSchedule& schedule);
    void find_clocks() { clock_.find(star_, *store_); }
    /// From here on it is connected to nobody; who waits ends with Aborted. From any thread.
    void abort() noexcept;
    /// It never was connected to anybody.
    void set_aborted() { *aborted_ = true; }
    /// Ends the edges' threads.
    void clear_edges() { edges_.clear(); }
    /// Throws Aborted after `abort`.
    void check() const;

    int rank() const { return rendezvous_.launch().rank; }
    int ranks() const { return rendezvous_.launch().world_size; }
    Rendezvous& rendezvous() const { return rendezvous_; }
    const GlooOptions& options() const { return options_; }
    const Meeting& meeting() const { return meeting_; }
    const std::shared_ptr<::gloo::transport::Device>& device() const { return device_; }
    const std::shared_ptr<std::atomic<bool>>& aborted() const { return aborted_; }
    const GlooStar& star() const { return star_; }
    const GlooClock& clock() const { return clock_; }
    BreakSignal& broken() { return broken_; }

    void begin_iteration(const std::function<std::size_t(const RankTransfer&)>& bytes,
                         const std::function<void(Delivery)>& deliver);
    void send(Delivery message) { edge_of_.at(message.transfer.number)->put(std::move(message)); }
    /// What the edges' threads ended with is thrown.
    void end_iteration();
    void all_reduce(int stage, std::span<float> values);
    std::vector<std::vector<double>> gather_stage(int stage, const std::vector<double>& values);
    /// By rank, empty where none is there. Every so often the clocks are compared as well.
    std::vector<std::vector<double>> all_gather(std::vector<double> values);

private:
    /// The ranks of a stage; `peer`: the other one where there are two, else -1.
    struct StageGroup {
        Group group;
        int peer = -1;
    };

    Group connect(const std::string& name, int peer, int group_rank, int size);
    Edge& edge_between(int from, int to);
    StageGroup& group_of(int stage, const std::vector<int>& hosts);
    void guarded(int peer, const std::function<void()>& work);
    void wait_for_abort();
    void tell_broken(std::exception_ptr error);

    Rendezvous& rendezvous_;
    GlooOptions options_;
    Meeting meeting_;
    std::shared_ptr<std::atomic<bool>> aborted_ = std::make_shared<std::atomic<bool>>(false);
    DeliveryGate gate_;
    std::shared_ptr<RunStore> store_;
    std::shared_ptr<::gloo::transport::Device> device_;
    GlooClock clock_;
    EdgeContext edge_context_;

    std::mutex mutex_;  ///< of the maps' shape, and of what follows
    std::condition_variable changed_;
    std::map<std::pair<int, int>, std::unique_ptr<Edge>> edges_;    ///< by both ranks, sender first
    std::map<std::pair<int, std::vector<int>>, StageGroup> hosts_;  ///< by stage and its ranks, once made
    std::map<int, StageGroup*> stages_;                             ///< of the schedule
    GlooStar star_;
    std::unordered_map<int, Edge*> edge_of_;  ///< by number of the transfer
    BreakSignal broken_;
    std::exception_ptr error_;  ///< the first of the edges'
};

}  // namespace skippipe
