// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/control.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>

#include "core/base/index.h"
#include "plugins/transports/store_line_book.h"

namespace skippipe {
namespace {

/// Meetings in a row that nobody missed and that led to nothing: some of those who are there do not reach each other.
constexpr int most_fruitless = 3;

}  // namespace

ControlTransport::ControlTransport(Rendezvous& rendezvous, ControlOptions options)
    : rendezvous_(rendezvous),
      options_(std::move(options)),
      must_regroup_(rendezvous.came_back()),
      assembly_(std::make_shared<Assembly>(rendezvous, options_)) {
    if (must_regroup_) {
        assembly_->set_aborted();  // it is connected to nobody
        return;
    }
    try {
        assembly_->open({0, rendezvous.members(), {}}, {});
    } catch (const std::exception& error) {
        throw InputError(
            "/execution/transport", fmt::format("rank {} cannot connect to the others", rank()), error.what(),
            "Check that all ranks run and reach each other; GLOO_SOCKET_IFNAME names the network interface to use");
    }
    assembly_->find_clocks();
}

ControlTransport::~ControlTransport() { abort(); }

std::shared_ptr<Assembly> ControlTransport::present() const {
    const std::lock_guard lock(mutex_);
    return assembly_;
}

void ControlTransport::abort() noexcept { present()->abort(); }

void ControlTransport::outlive_losses(bool outlives) {
    outlives_ = outlives;
    rendezvous_.outlive_losses(outlives);
}

/// Not that of rank 0, which decides, nor of this one, nor where a rank says that it cannot go on.
bool ControlTransport::lose(const LostRank& loss) noexcept {
    if (!outlives_ || loss.rank == 0 || loss.rank == rank() || !loss.faults.empty()) return false;
    must_regroup_ = true;
    abort();
    return true;
}

/// The new assembly is there to be aborted before anybody can be told of the next loss.
Regrouping ControlTransport::regroup() {
    const auto before = present();
    const auto next = std::make_shared<Assembly>(rendezvous_, options_);
    {
        const std::lock_guard lock(mutex_);
        assembly_ = next;
    }
    hosts_.clear();
    must_regroup_ = false;
    try {
        auto meeting = rendezvous_.meet(next->aborted());
        before->abort();  // nobody waits there any more
        fruitless_ = meeting.members == before->meeting().members && meeting.loss.rank < 0 ? fruitless_ + 1 : 0;
        if (fruitless_ > most_fruitless)
            throw InputError("ranks", fmt::format("rank {} and others do not reach each other", rank()),
                             meeting.loss.how, "Look at the network between the hosts; `skippipe resume` goes on");
        next->open(meeting, before->address());
        next->find_clocks();
        return {meeting.members, meeting.loss.how, meeting.loss.unnoticed_s};
    } catch (const Aborted&) {
        throw;
    } catch (const InputError&) {
        throw;
    } catch (const std::exception& error) {
        next->check();
        throw InputError("ranks", fmt::format("rank {} cannot connect to those that are left", rank()), error.what(),
                         "Look at the other ranks' messages and hosts; the run goes on with `skippipe resume`");
    }
}

void ControlTransport::when_broken(std::function<void(std::exception_ptr)> broken) {
    assembly_->broken().set(std::move(broken));
}

void ControlTransport::follow(const RankSchedule& schedule) {
    check();
    hosts_.clear();
    for (int stage = 0; stage < static_cast<int>(schedule.plan.stages.size()); ++stage)
        hosts_.push_back(schedule.ranks_of_stage(stage));
}

void ControlTransport::begin_iteration(std::function<std::size_t(const RankTransfer&)>, std::function<void(Delivery)>) {
    check();
    fruitless_ = 0;
    rendezvous_.settle();
}

void ControlTransport::send(Delivery) { throw std::logic_error("transfers go beside the control"); }

void ControlTransport::all_reduce(int, std::span<float>) { throw std::logic_error("sums go beside the control"); }

std::vector<std::vector<double>> ControlTransport::gather_stage(int stage, const std::vector<double>& values) {
    check();
    if (at(stage) >= hosts_.size()) return {values};
    const auto& hosts = hosts_[at(stage)];
    if (!std::binary_search(hosts.begin(), hosts.end(), rank())) return {values};
    const auto all = assembly_->star().gather_among(hosts, values);
    std::vector<std::vector<double>> result;
    for (auto from = all.begin(); result.size() < hosts.size(); from += static_cast<std::ptrdiff_t>(values.size())) {
        result.emplace_back(from, from + static_cast<std::ptrdiff_t>(values.size()));
        for (const double value : result.back())
            if (!std::isfinite(value)) throw PeerFault(hosts[result.size() - 1], "told a number that is none");
    }
    return result;
}

/// Nothing of those who are not there.
template <class Value>
std::vector<Value> ControlTransport::by_rank(std::vector<Value> of_members) const {
    std::vector<Value> all(at(ranks()));
    const auto& members = assembly_->meeting().members;
    for (std::size_t i = 0; i < members.size(); ++i) all[at(members[i])] = std::move(of_members[i]);
    return all;
}

std::vector<std::vector<double>> ControlTransport::all_gather(const std::vector<double>& values) {
    check();
    auto& assembly = *assembly_;
    auto mine = values;
    mine.push_back(rank() == 0 && assembly.clock().is_due() ? 1 : 0);  // rank 0 says when clocks are compared
    const auto all = assembly.star().all_gather(mine);
    std::vector<std::vector<double>> of_members;
    for (auto from = all.begin(); from != all.end(); from += static_cast<std::ptrdiff_t>(mine.size()))
        of_members.emplace_back(from, from + static_cast<std::ptrdiff_t>(values.size()));
    if (all[values.size()] == 1) assembly.clock().compare(assembly.star(), 5);
    return by_rank(std::move(of_members));
}

std::vector<std::string> ControlTransport::gather(const std::string& text) {
    check();
    auto texts = assembly_->star().gather(text);
    return texts.empty() ? texts : by_rank(std::move(texts));
}

std::string ControlTransport::broadcast(const std::string& text) {
    check();
    return assembly_->star().broadcast(text);
}

void ControlTransport::send_to(int peer, std::span<const std::byte> bytes) {
    check();
    assembly_->star().send_to(peer, bytes);
}

void ControlTransport::receive_from(int peer, std::span<std::byte> bytes) {
    check();
    assembly_->star().receive_from(peer, bytes);
}

std::unique_ptr<LineBook> ControlTransport::line_book(std::size_t) {
    check();
    return std::make_unique<StoreLineBook>(rendezvous_.connect(assembly_->aborted()), rank());
}

}  // namespace skippipe
