// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/gloo.h"

#include <fmt/format.h>

#include "plugins/transports/gloo_groups.h"
#include "plugins/transports/store_line_book.h"

namespace skippipe {
namespace {

/// Meetings in a row that nobody missed and that led to nothing: some of those who are there do not reach each other.
constexpr int most_fruitless = 3;

}  // namespace

GlooTransport::GlooTransport(Rendezvous& rendezvous, const RankSchedule& schedule, GlooOptions options)
    : must_regroup_(rendezvous.came_back()), groups_(std::make_shared<GlooGroups>(rendezvous, std::move(options))) {
    auto& groups = *groups_;
    if (must_regroup_) {
        groups.set_aborted();  // it is connected to nobody
        return;
    }
    try {
        groups.open({0, rendezvous.members(), {}}, nullptr);
        groups.follow(schedule);
    } catch (const std::exception& error) {
        throw InputError(
            "/execution/transport", fmt::format("rank {} cannot connect to the others", rank()), error.what(),
            "Check that all ranks run and reach each other; GLOO_SOCKET_IFNAME names the network interface to use");
    }
    groups.find_clocks();
}

GlooTransport::~GlooTransport() {
    abort();
    groups_->clear_edges();  // their threads end before what they use
}

std::shared_ptr<GlooGroups> GlooTransport::present() const {
    const std::lock_guard lock(mutex_);
    return groups_;
}

int GlooTransport::rank() const { return groups_->rank(); }
int GlooTransport::ranks() const { return groups_->ranks(); }
std::vector<int> GlooTransport::members() const { return groups_->rendezvous().members(); }
void GlooTransport::abort() noexcept { present()->abort(); }
double GlooTransport::now_s() const { return groups_->clock().now_s(); }
double GlooTransport::common_s(double local_s) const { return groups_->clock().common_s(local_s); }
void GlooTransport::follow(const RankSchedule& schedule) { groups_->follow(schedule); }
void GlooTransport::outlive_losses(bool outlives) {
    outlives_ = outlives;
    groups_->rendezvous().outlive_losses(outlives);
}
bool GlooTransport::somebody_waits() const { return groups_->rendezvous().somebody_waits(); }
double GlooTransport::clock_error_s() const { return groups_->clock().error_s(); }

/// Not that of rank 0, which decides, nor of this one, nor where a rank says that it cannot go on.
bool GlooTransport::lose(const LostRank& loss) noexcept {
    if (!outlives_ || loss.rank == 0 || loss.rank == rank() || !loss.faults.empty()) return false;
    must_regroup_ = true;
    abort();
    return true;
}

/// The new groups are there to be aborted before anybody can be told of the next loss.
Regrouping GlooTransport::regroup() {
    const auto before = present();
    auto next = std::make_shared<GlooGroups>(before->rendezvous(), before->options());
    {
        const std::lock_guard lock(mutex_);
        groups_ = next;
    }
    must_regroup_ = false;
    try {
        auto meeting = next->rendezvous().meet(next->aborted());
        before->abort();  // nobody waits there any more
        before->clear_edges();
        fruitless_ = meeting.members == before->meeting().members && meeting.loss.rank < 0 ? fruitless_ + 1 : 0;
        if (fruitless_ > most_fruitless)
            throw InputError("ranks", fmt::format("rank {} and others do not reach each other", rank()),
                             meeting.loss.how, "Look at the network between the hosts; `skippipe resume` goes on");
        next->open(meeting, before->device());
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

void GlooTransport::when_broken(std::function<void(std::exception_ptr)> broken) {
    groups_->broken().set(std::move(broken));
}

void GlooTransport::begin_iteration(std::function<std::size_t(const RankTransfer&)> bytes,
                                    std::function<void(Delivery)> deliver) {
    groups_->check();
    fruitless_ = 0;
    groups_->rendezvous().settle();
    groups_->begin_iteration(bytes, deliver);
}

void GlooTransport::send(Delivery message) {
    groups_->check();
    groups_->send(std::move(message));
}

void GlooTransport::end_iteration() { groups_->end_iteration(); }

void GlooTransport::all_reduce(int stage, std::span<float> values) { groups_->all_reduce(stage, values); }

std::vector<std::vector<double>> GlooTransport::gather_stage(int stage, const std::vector<double>& values) {
    return groups_->gather_stage(stage, values);
}

std::vector<std::vector<double>> GlooTransport::all_gather(const std::vector<double>& values) {
    return groups_->all_gather(values);
}

std::vector<std::string> GlooTransport::gather(const std::string& text) {
    groups_->check();
    auto texts = groups_->star().gather(text);
    if (texts.empty()) return {};
    std::vector<std::string> by_rank(static_cast<std::size_t>(ranks()));
    const auto& members = groups_->meeting().members;
    for (std::size_t i = 0; i < members.size(); ++i)
        by_rank[static_cast<std::size_t>(members[i])] = std::move(texts[i]);
    return by_rank;
}

std::string GlooTransport::broadcast(const std::string& text) {
    groups_->check();
    return groups_->star().broadcast(text);
}

void GlooTransport::send_to(int peer, std::span<const std::byte> bytes) { groups_->star().send_to(peer, bytes); }

void GlooTransport::receive_from(int peer, std::span<std::byte> bytes) { groups_->star().receive_from(peer, bytes); }

std::unique_ptr<LineBook> GlooTransport::line_book(std::size_t) {
    groups_->check();
    return std::make_unique<StoreLineBook>(groups_->rendezvous().connect(groups_->aborted()), rank());
}

}  // namespace skippipe
