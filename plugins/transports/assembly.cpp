// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/assembly.h"

#include <utility>

#include <fmt/format.h>

#include "core/engine/launch.h"
#include "core/engine/transport.h"

namespace skippipe {
namespace {

/// What a call that met a broken connection waits for the end of the run.
constexpr auto patience_after_break = std::chrono::seconds(10);

/// Those who have met are there at once. One that dies between saying where it is and connecting is waited for so long.
std::chrono::milliseconds connect_within(std::size_t members) {
    return std::chrono::seconds(4) + std::chrono::milliseconds(500) * members;
}

/// Of this host, where the other ranks reach it.
std::string own_address(const LaunchEnvironment& launch, RunStore& store) {
    if (const auto name = environment_variable("GLOO_SOCKET_IFNAME"); name && !name->empty())
        return address_of_interface(*name);
    if (launch.local_world_size == launch.world_size) return "127.0.0.1";
    const auto key = [](int rank) { return fmt::format("address/{}", rank); };
    auto own = address_towards(launch.master_address);
    store.set_text(key(launch.rank), own);
    if (own.empty() && launch.rank + 1 < launch.world_size) {  // MASTER_ADDR is a loopback name here: ask the last rank
        const auto peer = store.get(key(launch.world_size - 1));
        own = address_towards(std::string(peer.begin(), peer.end()));
    }
    return own.empty() ? host_name() : own;
}

}  // namespace

Assembly::Assembly(Rendezvous& rendezvous, const ControlOptions& options)
    : rendezvous_(rendezvous),
      clock_(options.local_s ? options.local_s : steady_s, options.one_clock_a_host, options.compare_clocks_every_s),
      star_(nullptr, {}, rank(), {}) {}

void Assembly::check() const {
    if (*aborted_) throw Aborted();
}

void Assembly::open(Meeting meeting, std::string address) {
    meeting_ = std::move(meeting);
    store_ = rendezvous_.connect(aborted_);
    const auto& members = meeting_.members;
    std::shared_ptr<RankSockets> sockets;
    if (members.size() > 1) {
        address_ = address.empty() ? own_address(rendezvous_.launch(), *store_) : std::move(address);
        const int peer = members.size() == 2 ? members[rank() == members[0] ? 1 : 0] : -1;
        connect(peer, [&](std::chrono::milliseconds patience) {
            sockets = std::make_shared<RankSockets>(
                *store_,
                SocketParty{members, rank(), address_, std::to_string(meeting_.number), patience, [this] { check(); }});
        });
    }
    const auto guard = [this](int peer, const std::function<void()>& work) { guarded(peer, work); };
    {
        const std::lock_guard lock(mutex_);
        star_ = Star(std::move(sockets), members, rank(), guard);
        if (*aborted_) star_.break_up();
    }
    check();
}

void Assembly::connect(int peer, const std::function<void(std::chrono::milliseconds patience)>& make, bool are_there) {
    const auto soon = connect_within(meeting_.members.size());
    if (meeting_.number == 0)
        return guarded(peer, [&] { make(are_there ? soon : std::chrono::milliseconds(std::chrono::minutes(2))); });
    check();
    try {
        make(soon);
    } catch (const std::exception& error) {
        check();
        rendezvous_.call_meeting(fmt::format("rank {} cannot connect: {}", rank(), error.what()));
        wait_for_abort();
        throw;
    }
}

void Assembly::guarded(int peer, const std::function<void()>& work) {
    check();
    try {
        work();
        return;
    } catch (const PeerFault&) {
        throw;
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
void Assembly::wait_for_abort() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, patience_after_break, [this] { return aborted_->load(); });
    check();
}

void Assembly::when_aborted(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    when_aborted_ = std::move(work);
}

/// Who calls it second returns when all is broken up as well.
void Assembly::abort() noexcept {
    {
        const std::lock_guard lock(mutex_);
        if (!aborted_->exchange(true)) {
            changed_.notify_all();
            if (when_aborted_) when_aborted_();
            star_.break_up();
        }
    }
    broken_.raise(std::make_exception_ptr(Aborted()));
    gate_.close();
}

}  // namespace skippipe
