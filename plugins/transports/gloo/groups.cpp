// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/gloo/groups.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/planner/timeline/memory.h"
#include "plugins/transports/gloo/mesh.h"

namespace skippipe {

GlooGroups::GlooGroups(std::shared_ptr<Assembly> assembly, Device device)
    : assembly_(std::move(assembly)),
      device_(std::move(device)),
      edge_context_{[this](int peer, const std::function<void()>& work) { assembly_->guarded(peer, work); },
                    [this](std::exception_ptr error) { tell_broken(error); },
                    [this] { return assembly_->clock().now_s(); }, assembly_->aborted().get(), &assembly_->gate()} {
    assembly_->when_aborted([this] { break_up(); });
}

/// After `abort`, or with nothing under way: the edges' threads end.
GlooGroups::~GlooGroups() {
    assembly_->when_aborted({});
    edges_.clear();
}

const GlooGroups::Device& GlooGroups::found_device() {
    const std::lock_guard lock(mutex_);
    if (!device_) device_ = c10d::ProcessGroupGloo::createDeviceForHostname(assembly_->address());
    return device_;
}

Group GlooGroups::connect(const std::string& name, int peer, int group_rank, int size, bool are_there) {
    assembly_->check();
    const auto& device = found_device();
    Group group;
    assembly_->connect(
        peer,
        [&](std::chrono::milliseconds patience) {
            const auto of_meeting = fmt::format("{}/{}", assembly_->meeting().number, name);
            group = make_group(c10::make_intrusive<c10d::PrefixStore>(of_meeting, assembly_->store().shared()),
                               group_rank, size, device, patience);
        },
        are_there);
    if (*assembly_->aborted()) group->break_up();
    assembly_->check();
    return group;
}

void GlooGroups::follow(const RankSchedule& schedule) {
    assembly_->check();
    edge_of_.clear();
    for (int from = 0; from < assembly_->ranks(); ++from)
        for (int to = 0; to < assembly_->ranks(); ++to) {
            if (from == to || (from != assembly_->rank() && to != assembly_->rank())) continue;
            auto transfers = schedule.between(from, to);
            if (transfers.empty() && !edges_.contains({from, to})) continue;
            auto& edge = edge_between(from, to);
            edge.follow(std::move(transfers));
            if (edge.sends())
                for (const auto& transfer : edge.transfers()) edge_of_[transfer.number] = &edge;
        }
    stages_.clear();
    for (int stage = 0; stage < static_cast<int>(schedule.plan.stages.size()); ++stage) {
        const auto hosts = schedule.ranks_of_stage(stage);
        if (hosts.size() > 1 && std::find(hosts.begin(), hosts.end(), assembly_->rank()) != hosts.end())
            stages_[stage] = &group_of(stage, hosts);
    }
    assembly_->check();
}

/// That is there, or is made now: under a name that no other ranks of the stage have had since they met.
GlooGroups::StageGroup& GlooGroups::group_of(int stage, const std::vector<int>& hosts) {
    if (const auto known = hosts_.find({stage, hosts}); known != hosts_.end()) return known->second;
    const auto me = std::find(hosts.begin(), hosts.end(), assembly_->rank());
    const int peer = hosts.size() == 2 ? hosts[*me == hosts[0] ? 1 : 0] : -1;
    StageGroup group{connect(fmt::format("stage/{}/{}", stage, fmt::join(hosts, "-")), peer,
                             static_cast<int>(me - hosts.begin()), static_cast<int>(hosts.size())),
                     peer};
    const std::lock_guard lock(mutex_);
    return hosts_.emplace(std::pair(stage, hosts), std::move(group)).first->second;
}

/// That is there, or is made now.
Edge& GlooGroups::edge_between(int from, int to) {
    if (const auto known = edges_.find({from, to}); known != edges_.end()) return *known->second;
    const bool sends = from == assembly_->rank();
    const int peer = sends ? to : from;
    auto edge = std::make_unique<Edge>(
        edge_context_, connect(fmt::format("edge/{}-{}", from, to), peer, sends ? 0 : 1, 2), peer, sends);
    const std::lock_guard lock(mutex_);
    return *edges_.emplace(std::pair(from, to), std::move(edge)).first->second;
}

void GlooGroups::tell_broken(std::exception_ptr failure) {
    {
        const std::lock_guard lock(mutex_);
        if (error_) return;
        error_ = failure;
    }
    try {
        std::rethrow_exception(failure);
    } catch (const PeerFault& fault) {
        assembly_->rendezvous().report_broken(fault.rank(), fault.faults().front().what);
    } catch (...) {
        // A broken connection has been reported; anything else is the engine's own.
    }
    if (!assembly_->broken().raise(failure)) assembly_->abort();
}

void GlooGroups::break_up() {
    const std::lock_guard lock(mutex_);
    for (const auto& [ends, edge] : edges_) edge->wake();
    for (const auto& [ends, edge] : edges_) edge->break_up();
    for (const auto& [hosts, made] : hosts_) made.group->break_up();
    for (const auto& [ends, line] : lines_) line->break_up();
}

void GlooGroups::begin_iteration(const std::function<std::size_t(const RankTransfer&)>& bytes,
                                 const std::function<void(Delivery)>& deliver) {
    std::size_t receiving = 0, largest = 0;
    for (const auto& [ends, edge] : edges_) {
        if (edge->sends() || edge->transfers().empty()) continue;
        ++receiving;
        for (const auto& transfer : edge->transfers()) largest = std::max(largest, bytes(transfer));
    }
    const auto ahead = posted_ahead(receiving, static_cast<double>(largest));
    for (const auto& [ends, edge] : edges_) edge->begin(bytes, deliver, ahead);
}

void GlooGroups::end_iteration() {
    for (const auto& [ends, edge] : edges_) edge->end();
    std::exception_ptr error;
    {
        const std::lock_guard lock(mutex_);
        error = std::exchange(error_, nullptr);
    }
    if (error) std::rethrow_exception(error);
    assembly_->check();
}

void GlooGroups::all_reduce(int stage, std::span<float> values) {
    const auto found = stages_.find(stage);
    if (found == stages_.end() || values.empty()) return;
    assembly_->guarded(found->second->peer, [&] { mesh_all_reduce(found->second->group, values); });
}

bool GlooGroups::has_line(int from, int to) const {
    const std::lock_guard lock(mutex_);
    return lines_.contains({from, to});
}

void GlooGroups::open_line(int from, int to) {
    const bool sends = from == assembly_->rank();
    auto group = connect(fmt::format("line/{}-{}", from, to), sends ? to : from, sends ? 0 : 1, 2, true);
    const std::lock_guard lock(mutex_);
    lines_.emplace(std::pair(from, to), std::move(group));
}

Group GlooGroups::line(int from, int to) const {
    const std::lock_guard lock(mutex_);
    return lines_.at({from, to});
}

void GlooGroups::send_to(int rank, std::span<const std::byte> bytes) {
    const auto group = line(assembly_->rank(), rank);
    assembly_->guarded(rank, [&] { group->finish(post_send(group, bytes, 1, 1)); });
}

void GlooGroups::receive_from(int rank, std::span<std::byte> bytes) {
    const auto group = line(rank, assembly_->rank());
    assembly_->guarded(rank, [&] { group->finish(post_receive(group, bytes, 0, 1)); });
}

}  // namespace skippipe
