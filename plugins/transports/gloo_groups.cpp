// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/gloo_groups.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "core/engine/launch.h"
#include "core/planner/timeline/memory.h"
#include "plugins/transports/gloo_mesh.h"

namespace skippipe {
namespace {

/// What a call that met a broken connection waits for the end of the run.
constexpr auto patience_after_break = std::chrono::seconds(10);

/// Those who have met are there at once. One that dies between saying where it is and connecting is waited for so long.
std::chrono::milliseconds connect_within(std::size_t members) {
    return std::chrono::seconds(4) + std::chrono::milliseconds(500) * members;
}

/// The interface that leads to the other ranks.
std::shared_ptr<::gloo::transport::Device> make_device(Rendezvous& rendezvous, RunStore& store) {
    using Gloo = c10d::ProcessGroupGloo;
    const auto& launch = rendezvous.launch();
    if (const auto name = environment_variable("GLOO_SOCKET_IFNAME"); name && !name->empty())
        return Gloo::createDeviceForInterface(*name);
    if (launch.local_world_size == launch.world_size) return Gloo::createDeviceForHostname("127.0.0.1");
    const auto key = [](int rank) { return fmt::format("address/{}", rank); };
    auto own = address_towards(launch.master_address);
    store.set_text(key(launch.rank), own);
    if (own.empty() && launch.rank + 1 < launch.world_size) {  // MASTER_ADDR is a loopback name here: ask the last rank
        const auto peer = store.get(key(launch.world_size - 1));
        own = address_towards(std::string(peer.begin(), peer.end()));
    }
    return own.empty() ? Gloo::createDefaultDevice() : Gloo::createDeviceForHostname(own);
}

}  // namespace

GlooGroups::GlooGroups(Rendezvous& rendezvous, GlooOptions options)
    : rendezvous_(rendezvous),
      options_(std::move(options)),
      clock_(options_.local_s, options_.one_clock_a_host, options_.compare_clocks_every_s),
      edge_context_{[this](int peer, const std::function<void()>& work) { guarded(peer, work); },
                    [this](std::exception_ptr error) { tell_broken(error); }, [this] { return clock_.now_s(); },
                    aborted_.get(), &gate_},
      star_(Group(), {}, rank(), edge_context_.guarded) {}

void GlooGroups::check() const {
    if (*aborted_) throw Aborted();
}

void GlooGroups::open(Meeting meeting, std::shared_ptr<::gloo::transport::Device> device) {
    meeting_ = std::move(meeting);
    store_ = rendezvous_.connect(aborted_);
    device_ = device ? std::move(device) : make_device(rendezvous_, *store_);
    const auto& members = meeting_.members;
    const int count = static_cast<int>(members.size());
    Group group;
    if (count > 1) {
        const int peer = count == 2 ? members[rank() == members[0] ? 1 : 0] : -1;
        const auto place = std::lower_bound(members.begin(), members.end(), rank()) - members.begin();
        group = connect("world", peer, static_cast<int>(place), count);
    }
    const std::lock_guard lock(mutex_);
    star_ = GlooStar(std::move(group), members, rank(), edge_context_.guarded);
}

/// The world's group names who is not there; the others are made by who has met already.
Group GlooGroups::connect(const std::string& name, int peer, int group_rank, int size) {
    check();
    Group group;
    const auto make = [&](std::chrono::milliseconds patience) {
        const auto of_meeting = fmt::format("{}/{}", meeting_.number, name);
        group = make_group(c10::make_intrusive<c10d::PrefixStore>(of_meeting, store_->shared()), group_rank, size,
                           device_, patience);
    };
    if (meeting_.number == 0) {
        guarded(peer, [&] { make(std::chrono::minutes(2)); });
    } else {
        try {
            make(connect_within(meeting_.members.size()));
        } catch (const std::exception& error) {
            check();
            rendezvous_.call_meeting(fmt::format("rank {} cannot connect: {}", rank(), error.what()));
            wait_for_abort();
            throw;
        }
    }
    if (*aborted_) group->break_up();
    check();
    return group;
}

void GlooGroups::follow(const RankSchedule& schedule) {
    check();
    edge_of_.clear();
    for (int from = 0; from < ranks(); ++from)
        for (int to = 0; to < ranks(); ++to) {
            if (from == to || (from != rank() && to != rank())) continue;
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
        if (hosts.size() > 1 && std::find(hosts.begin(), hosts.end(), rank()) != hosts.end())
            stages_[stage] = &group_of(stage, hosts);
    }
    check();
}

/// That is there, or is made now: under a name that no other ranks of the stage have had since they met.
GlooGroups::StageGroup& GlooGroups::group_of(int stage, const std::vector<int>& hosts) {
    if (const auto known = hosts_.find({stage, hosts}); known != hosts_.end()) return known->second;
    const auto me = std::find(hosts.begin(), hosts.end(), rank());
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
    const bool sends = from == rank();
    const int peer = sends ? to : from;
    auto edge = std::make_unique<Edge>(
        edge_context_, connect(fmt::format("edge/{}-{}", from, to), peer, sends ? 0 : 1, 2), peer, sends);
    const std::lock_guard lock(mutex_);
    return *edges_.emplace(std::pair(from, to), std::move(edge)).first->second;
}

/// Runs what talks to a peer (-1: to several). A broken connection is reported: this rank hears what comes of it.
void GlooGroups::guarded(int peer, const std::function<void()>& work) {
    check();
    try {
        work();
        return;
    } catch (const std::exception& failure) {
        check();
        const std::string why = failure.what();
        rendezvous_.report_broken(peer, fmt::format("its connection broke ({})", why.substr(0, why.find('\n'))));
        wait_for_abort();
        const auto who = peer < 0 ? std::string("several ranks") : fmt::format("rank {}", peer);
        throw InputError(who, fmt::format("rank {} lost its connection to {}", rank(), who), why,
                         "Look at the other ranks' messages and hosts, then start the run again");
    }
}

/// For what comes of a loss that was reported.
void GlooGroups::wait_for_abort() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience_after_break, [this] { return aborted_->load(); });
    check();
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
        rendezvous_.report_broken(fault.rank(), fault.faults().front().what);
    } catch (...) {
        // A broken connection has been reported; anything else is the engine's own.
    }
    if (!broken_.raise(failure)) abort();
}

void GlooGroups::abort() noexcept {
    if (!aborted_->exchange(true)) {
        const std::lock_guard lock(mutex_);
        changed_.notify_all();
        for (const auto& [ends, edge] : edges_) edge->wake();
        for (const auto& [ends, edge] : edges_) edge->break_up();
        for (const auto& [hosts, made] : hosts_) made.group->break_up();
        star_.break_up();
    }
    broken_.raise(std::make_exception_ptr(Aborted()));
    gate_.close();
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
    check();
}

void GlooGroups::all_reduce(int stage, std::span<float> values) {
    check();
    const auto found = stages_.find(stage);
    if (found == stages_.end() || values.empty()) return;
    guarded(found->second->peer, [&] { mesh_all_reduce(found->second->group, values); });
}

std::vector<std::vector<double>> GlooGroups::gather_stage(int stage, const std::vector<double>& values) {
    check();
    const auto found = stages_.find(stage);
    if (found == stages_.end()) return {values};
    std::vector<std::vector<double>> result;
    guarded(found->second->peer, [&] { result = mesh_all_gather(found->second->group, values); });
    for (const auto& of_rank : result)
        for (const double value : of_rank)
            if (!std::isfinite(value)) throw PeerFault(found->second->peer, "told a number that is none");
    return result;
}

std::vector<std::vector<double>> GlooGroups::all_gather(std::vector<double> values) {
    values.push_back(rank() == 0 && clock_.is_due() ? 1 : 0);  // rank 0 says when clocks are compared
    const auto size = static_cast<std::ptrdiff_t>(values.size());
    const auto all = star_.all_gather(std::move(values));
    std::vector<std::vector<double>> result(static_cast<std::size_t>(ranks()));
    auto first = all.begin();
    for (const int member : meeting_.members) {
        result[static_cast<std::size_t>(member)] = {first, first + size - 1};
        first += size;
    }
    if (all[static_cast<std::size_t>(size) - 1] == 1) clock_.compare(star_, 5);
    return result;
}

}  // namespace skippipe
