// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/nccl/nccl.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include <fmt/format.h>

#include "core/base/index.h"

namespace skippipe {
namespace {

/// Of rank 0's answer to all who introduced themselves: who is on whose device, or ids.
constexpr char refuses = '!', connects = '+';

/// "!0 and 2 on GPU-..." where two have one device.
std::string twice(const std::vector<std::string>& devices) {
    for (std::size_t a = 0; a < devices.size(); ++a)
        for (std::size_t b = a + 1; b < devices.size(); ++b)
            if (!devices[a].empty() && devices[a] == devices[b]) return fmt::format("{}ranks {} and {}", refuses, a, b);
    return {};
}

}  // namespace

RankSchedule without_transfers(RankSchedule schedule) {
    schedule.transfers.clear();
    schedule.reduce_after.clear();
    return schedule;
}

NcclTransport::NcclTransport(RankTransport& control, const NcclApi& api, std::shared_ptr<DeviceQueue> queue,
                             const RankSchedule& schedule, NcclOptions options)
    : BesideControl(control), api_(api), queue_(std::move(queue)), options_(options) {
    open_lane();
    if (control_.must_regroup()) {
        aborted_ = true;
        return;
    }
    listen();
    follow(schedule);
}

NcclTransport::~NcclTransport() {
    abort();
    control_.when_broken({});
}

void NcclTransport::check() const {
    if (aborted_) throw Aborted();
}

void NcclTransport::open_lane() {
    lane_.reset();  // it may be about to deliver, which its own gate alone keeps from those who are gone
    gate_ = std::make_unique<DeliveryGate>();
    lane_ = std::make_unique<Lane>(api_, queue_, options_, [this] { return control_.now_s(); });
    connected_.clear();
    warm_.clear();
}

/// Whoever is lost, and whatever else ends what `control` does, ends what goes over the lane.
void NcclTransport::listen() {
    control_.when_broken([this](std::exception_ptr error) {
        aborted_ = true;
        lane_->abort();
        broken_.raise(std::move(error));
    });
}

void NcclTransport::abort() noexcept {
    aborted_ = true;
    lane_->abort();
    control_.abort();
    broken_.raise(std::make_exception_ptr(Aborted()));
    gate_->close();
}

Regrouping NcclTransport::regroup() {
    aborted_ = true;
    lane_->abort();
    control_.when_broken({});
    auto met = control_.regroup();
    open_lane();
    aborted_ = false;
    listen();
    return met;
}

/// Groups of ranks whose communicator is not there yet: all that are there, and those of each stage.
std::vector<std::vector<int>> NcclTransport::missing_groups(const RankSchedule& schedule) const {
    std::vector<std::vector<int>> groups{control_.members()};
    for (int stage = 0; stage < static_cast<int>(schedule.plan.stages.size()); ++stage)
        groups.push_back(schedule.ranks_of_stage(stage));
    std::vector<std::vector<int>> missing;
    for (const auto& group : groups)
        if (group.size() > 1 && !connected_.contains(group) &&
            std::find(missing.begin(), missing.end(), group) == missing.end())
            missing.push_back(group);
    return missing;
}

/// All say on which device they are; rank 0 gives as many ids.
std::string NcclTransport::introduce(std::size_t groups) {
    const auto devices = control_.gather(queue_->identity());
    std::string answer;
    if (rank() == 0) answer = twice(devices);
    if (rank() == 0 && answer.empty()) {
        answer = connects;
        for (std::size_t i = 0; i < groups; ++i) {
            const auto id = make_unique_id(api_);
            answer.append(id.internal, nccl_id_bytes);
        }
    }
    answer = control_.broadcast(answer);
    if (answer.front() == refuses)
        throw InputError("/execution/transport", answer.substr(1) + " are on one GPU",
                         "NCCL takes one rank a GPU; nodes of one rank exchange in memory",
                         "Start as many ranks as there are GPUs (execution.ranks), each on its own");
    if (answer.size() != 1 + groups * nccl_id_bytes) throw PeerFault(0, "gave another number of NCCL's ids");
    return answer.substr(1);
}

/// Every rank in the same order.
void NcclTransport::connect(const RankSchedule& schedule) {
    const auto groups = missing_groups(schedule);
    if (!groups.empty()) {
        const auto ids = introduce(groups.size());
        for (std::size_t i = 0; i < groups.size(); ++i) {
            connected_.insert(groups[i]);
            if (!std::binary_search(groups[i].begin(), groups[i].end(), rank())) continue;
            NcclUniqueId id{};
            std::memcpy(id.internal, ids.data() + i * nccl_id_bytes, nccl_id_bytes);
            lane_->connect(groups[i], rank(), id);
        }
    }
    std::vector<LaneTask> unused;
    for (const auto& transfer : schedule.transfers) {
        const std::pair ends{schedule.rank_of[at(transfer.from_node)], schedule.rank_of[at(transfer.to_node)]};
        if (!warm_.insert(ends).second) continue;
        if (ends.first == rank()) unused.push_back({LaneTask::Kind::send, {}, ends.second, -1, {}});
        if (ends.second == rank()) unused.push_back({LaneTask::Kind::receive, {}, ends.first, -1, {}});
    }
    lane_->warm_up(unused);
    of_stage_.clear();
    for (int stage = 0; stage < static_cast<int>(schedule.plan.stages.size()); ++stage)
        if (auto hosts = schedule.ranks_of_stage(stage);
            hosts.size() > 1 && std::binary_search(hosts.begin(), hosts.end(), rank()))
            of_stage_[stage] = std::move(hosts);
    lane_->follow(lane_tasks(schedule, rank()));
}

void NcclTransport::follow(const RankSchedule& schedule) {
    check();
    control_.follow(without_transfers(schedule));
    connect(schedule);
}

void NcclTransport::begin_iteration(std::function<std::size_t(const RankTransfer&)> bytes,
                                    std::function<void(Delivery)> deliver) {
    check();
    control_.begin_iteration(bytes, [](Delivery) {});
    lane_->begin({std::move(bytes),
                  [this, deliver = std::move(deliver)](Delivery message) {
                      if (!gate_->pass([&] { deliver(std::move(message)); })) throw Aborted();
                  },
                  [this](std::exception_ptr error) {
                      if (!broken_.raise(error)) abort();
                  }});
}

void NcclTransport::send(Delivery message) {
    check();
    lane_->put(std::move(message));
}

void NcclTransport::end_iteration() {
    lane_->end();
    control_.end_iteration();
    check();
}

void NcclTransport::all_reduce(int stage, std::span<float> values) {
    check();
    if (const auto found = of_stage_.find(stage); found != of_stage_.end()) lane_->sum(found->second, stage, values);
}

}  // namespace skippipe
