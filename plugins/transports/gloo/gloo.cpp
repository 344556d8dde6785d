// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/gloo/gloo.h"

#include <utility>

#include <fmt/format.h>

#include "plugins/transports/gloo/groups.h"

namespace skippipe {

GlooTransport::GlooTransport(ControlTransport& control, const RankSchedule& schedule)
    : BesideControl(control), groups_(std::make_unique<GlooGroups>(control.assembly(), nullptr)) {
    if (control.must_regroup()) return;
    try {
        follow(schedule);
    } catch (const std::exception& error) {
        throw InputError(
            "/execution/transport", fmt::format("rank {} cannot connect to the others by Gloo", rank()), error.what(),
            "Check that all ranks run and reach each other; GLOO_SOCKET_IFNAME names the network interface to use");
    }
}

/// The groups' threads end before what they use.
GlooTransport::~GlooTransport() { abort(); }

Regrouping GlooTransport::regroup() {
    auto met = control_.regroup();
    const auto device = groups_->device();
    groups_.reset();
    groups_ = std::make_unique<GlooGroups>(control().assembly(), device);
    return met;
}

void GlooTransport::when_broken(std::function<void(std::exception_ptr)> broken) {
    control_.when_broken(std::move(broken));
}

void GlooTransport::follow(const RankSchedule& schedule) {
    control_.follow(schedule);
    groups_->follow(schedule);
}

void GlooTransport::begin_iteration(std::function<std::size_t(const RankTransfer&)> bytes,
                                    std::function<void(Delivery)> deliver) {
    control_.begin_iteration(bytes, deliver);
    groups_->begin_iteration(bytes, deliver);
}

void GlooTransport::send(Delivery message) {
    control().check();
    groups_->send(std::move(message));
}

void GlooTransport::end_iteration() {
    groups_->end_iteration();
    control_.end_iteration();
}

void GlooTransport::all_reduce(int stage, std::span<float> values) {
    control().check();
    groups_->all_reduce(stage, values);
}

/// Where it is first needed. Who makes a group has so long to come and no longer: first both wait for each other.
void GlooTransport::open_line(int from, int to) {
    if (groups_->has_line(from, to)) return;
    if (from == rank())
        control_.send_to(to, {});
    else
        control_.receive_from(from, {});
    groups_->open_line(from, to);
}

void GlooTransport::send_to(int peer, std::span<const std::byte> bytes) {
    if (bytes.empty()) return control_.send_to(peer, bytes);
    open_line(rank(), peer);
    groups_->send_to(peer, bytes);
}

void GlooTransport::receive_from(int peer, std::span<std::byte> bytes) {
    if (bytes.empty()) return control_.receive_from(peer, bytes);
    open_line(peer, rank());
    groups_->receive_from(peer, bytes);
}

}  // namespace skippipe
