// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/gloo.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <fstream>
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "core/engine/common_clock.h"
#include "core/engine/launch.h"
#include "core/planner/timeline/memory.h"
#include "plugins/transports/gloo_edge.h"
#include "plugins/transports/run_store.h"
#include "plugins/transports/store_line_book.h"

namespace skippipe {

namespace {

constexpr int size_tag = 1, text_tag = 2, data_tag = 3, question_tag = 4, answer_tag = 5, values_tag = 6,
              spread_tag = 7;

/// What a call that met a broken connection waits for the end of the run.
constexpr auto patience_after_break = std::chrono::seconds(10);

/// Those who have met are there at once. One that dies between saying where it is and connecting is waited for so long.
std::chrono::milliseconds connect_within(std::size_t members) {
    return std::chrono::seconds(4) + std::chrono::milliseconds(500) * members;
}

/// Meetings in a row that nobody missed and that led to nothing: some of those who are there do not reach each other.
constexpr int most_fruitless = 3;

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

std::string boot_id() {
    std::string id;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
    return id;
}

/// A size that another rank states, before it is allocated.
std::size_t checked_size(std::int64_t size, std::size_t most, int rank) {
    if (size < 0 || static_cast<std::size_t>(size) > most)
        throw PeerFault(rank, fmt::format("announced a text of {} bytes, where at most {} are taken", size, most));
    return static_cast<std::size_t>(size);
}

std::span<std::byte> writable(std::string& text) { return std::as_writable_bytes(std::span(text)); }

}  // namespace

struct GlooTransport::Impl {
    Impl(Rendezvous& met_at, GlooOptions given) : rendezvous(met_at), options(std::move(given)) {
        edge_context = {[this](int peer, const std::function<void()>& work) { guarded(peer, work); },
                        [this](std::exception_ptr error) { tell_broken(error); }, [this] { return now_s(); },
                        aborted.get(), &gate};
    }

    /// Several ranks; `peer`: the other one where there are two, else -1.
    struct Circle {
        Group group;
        int peer = -1;
    };

    int rank() const { return rendezvous.launch().rank; }
    int ranks() const { return rendezvous.launch().world_size; }
    /// Place of a rank among those that are there, as the world's group numbers them.
    int place(int member) const {
        return static_cast<int>(std::lower_bound(meeting.members.begin(), meeting.members.end(), member) -
                                meeting.members.begin());
    }
    bool alone() const { return meeting.members.size() == 1; }
    double now_s() const { return common_s(options.local_s()); }
    double common_s(double local_s) const { return one_clock ? local_s : clock.at(local_s); }
    void check() const {
        if (*aborted) throw Aborted();
    }

    void open(Meeting of, std::shared_ptr<::gloo::transport::Device> through);
    Group connect(const std::string& name, int peer, int group_rank, int size, bool collectives);
    void follow(const RankSchedule& schedule);
    void guarded(int peer, const std::function<void()>& work);
    void wait_for_abort();
    void tell_broken(std::exception_ptr error);
    void abort() noexcept;

    void find_clocks();
    void compare_clocks(int questions);
    void answer_questions(int questions);
    void ask_questions(int questions);
    std::vector<std::vector<double>> all_gather(std::vector<double> values);
    void exchange(std::vector<double>& mine, std::vector<double>& all);
    void meet_at_first(std::vector<double>& mine, std::vector<double>& all);
    void spread(void* data, std::size_t size);

    Rendezvous& rendezvous;
    GlooOptions options;
    Meeting meeting;
    std::shared_ptr<std::atomic<bool>> aborted = std::make_shared<std::atomic<bool>>(false);
    DeliveryGate gate;
    std::shared_ptr<RunStore> store;
    std::shared_ptr<::gloo::transport::Device> device;
    EdgeContext edge_context;

    std::mutex mutex;  ///< of the maps' shape, and of what follows
    std::condition_variable changed;
    std::map<std::pair<int, int>, std::unique_ptr<Edge>> edges;  ///< by both ranks, sender first
    std::map<int, Circle> stages;
    Circle world;
    std::unordered_map<int, Edge*> edge_of;  ///< by number of the transfer
    BreakSignal broken;
    std::exception_ptr error;  ///< the first of the edges'

    CommonClock clock;
    bool one_clock = true;      ///< rank 0's is this one
    std::vector<bool> compare;  ///< of each rank: its clock is not rank 0's
    double compared_at_s = 0;
};

/// Who is there, and the group of all of them.
void GlooTransport::Impl::open(Meeting of, std::shared_ptr<::gloo::transport::Device> through) {
    meeting = std::move(of);
    store = rendezvous.connect(aborted);
    device = through ? std::move(through) : make_device(rendezvous, *store);
    if (alone()) return;
    const int count = static_cast<int>(meeting.members.size());
    const int peer = count == 2 ? meeting.members[rank() == meeting.members[0] ? 1 : 0] : -1;
    auto group = connect("world", peer, place(rank()), count, false);
    const std::lock_guard lock(mutex);
    world = {std::move(group), peer};
}

/// The world's group names who is not there; the others are made by who has met already.
Group GlooTransport::Impl::connect(const std::string& name, int peer, int group_rank, int size, bool collectives) {
    check();
    Group group;
    const auto make = [&](std::chrono::milliseconds patience) {
        const auto of_meeting = fmt::format("{}/{}", meeting.number, name);
        group = make_group(c10::make_intrusive<c10d::PrefixStore>(of_meeting, store->shared()), group_rank, size,
                           device, patience, collectives);
    };
    if (meeting.number == 0) {
        guarded(peer, [&] { make(std::chrono::minutes(2)); });
    } else {
        try {
            make(connect_within(meeting.members.size()));
        } catch (const std::exception& error) {
            check();
            rendezvous.call_meeting(fmt::format("rank {} cannot connect: {}", rank(), error.what()));
            wait_for_abort();
            throw;
        }
    }
    if (*aborted) group->break_up();
    check();
    return group;
}

/// Every rank makes its groups in the same order, so that none waits for a group that its peer makes later.
void GlooTransport::Impl::follow(const RankSchedule& schedule) {
    check();
    edge_of.clear();
    for (int from = 0; from < ranks(); ++from)
        for (int to = 0; to < ranks(); ++to) {
            if (from == to || (from != rank() && to != rank())) continue;
            auto transfers = schedule.between(from, to);
            auto known = edges.find({from, to});
            if (transfers.empty() && known == edges.end()) continue;
            const bool sends = from == rank();
            if (known == edges.end()) {
                auto edge = std::make_unique<Edge>(
                    edge_context,
                    connect(fmt::format("edge/{}-{}", from, to), sends ? to : from, sends ? 0 : 1, 2, false),
                    sends ? to : from, sends);
                const std::lock_guard lock(mutex);
                known = edges.emplace(std::pair(from, to), std::move(edge)).first;
            }
            auto& edge = *known->second;
            edge.follow(std::move(transfers));
            if (sends)
                for (const auto& transfer : edge.transfers()) edge_of[transfer.number] = &edge;
        }
    for (int stage = 0; stage < static_cast<int>(schedule.plan.stages.size()); ++stage) {
        const auto hosts = schedule.ranks_of_stage(stage);
        const auto me = std::find(hosts.begin(), hosts.end(), rank());
        if (hosts.size() < 2 || me == hosts.end() || stages.contains(stage)) continue;
        const int peer = hosts.size() == 2 ? hosts[*me == hosts[0] ? 1 : 0] : -1;
        Circle circle{connect(fmt::format("stage/{}", stage), peer, static_cast<int>(me - hosts.begin()),
                              static_cast<int>(hosts.size()), true),
                      peer};
        const std::lock_guard lock(mutex);
        stages[stage] = std::move(circle);
    }
    check();
}

/// Runs what talks to a peer (-1: to several). A broken connection is reported: this rank hears what comes of it.
void GlooTransport::Impl::guarded(int peer, const std::function<void()>& work) {
    check();
    try {
        work();
        return;
    } catch (const std::exception& failure) {
        check();
        const std::string why = failure.what();
        rendezvous.report_broken(peer, fmt::format("its connection broke ({})", why.substr(0, why.find('\n'))));
        wait_for_abort();
        const auto who = peer < 0 ? std::string("several ranks") : fmt::format("rank {}", peer);
        throw InputError(who, fmt::format("rank {} lost its connection to {}", rank(), who), why,
                         "Look at the other ranks' messages and hosts, then start the run again");
    }
}

/// For what comes of a loss that was reported.
void GlooTransport::Impl::wait_for_abort() {
    std::unique_lock lock(mutex);
    changed.wait_for(lock, patience_after_break, [this] { return aborted->load(); });
    check();
}

void GlooTransport::Impl::tell_broken(std::exception_ptr failure) {
    {
        const std::lock_guard lock(mutex);
        if (error) return;
        error = failure;
    }
    try {
        std::rethrow_exception(failure);
    } catch (const PeerFault& fault) {
        rendezvous.report_broken(fault.rank(), fault.faults().front().what);
    } catch (...) {
        // A broken connection has been reported; anything else is the engine's own.
    }
    if (!broken.raise(failure)) abort();
}

void GlooTransport::Impl::abort() noexcept {
    if (!aborted->exchange(true)) {
        const std::lock_guard lock(mutex);
        changed.notify_all();
        for (const auto& [ends, edge] : edges) edge->wake();
        for (const auto& [ends, edge] : edges) edge->break_up();
        for (const auto& [stage, circle] : stages) circle.group->break_up();
        if (world.group) world.group->break_up();
    }
    broken.raise(std::make_exception_ptr(Aborted()));
    gate.close();
}

/// Whose clock is not rank 0's: that of another boot.
void GlooTransport::Impl::find_clocks() {
    std::string first = rank() == 0 ? boot_id() : "";
    if (rank() == 0)
        store->set_text("boot", first);
    else
        first = [&] {
            const auto bytes = store->get("boot");
            return std::string(bytes.begin(), bytes.end());
        }();
    const bool other = rank() != 0 && (!options.one_clock_a_host || first != boot_id());
    compared_at_s = steady_s();  // nothing is compared before it is known whose
    for (const auto& flags : all_gather({other ? 1.0 : 0.0})) compare.push_back(!flags.empty() && flags.front() == 1);
    compare_clocks(20);
    one_clock = !other;
}

/// What rank 0's clock shows when this one shows 0, by the quickest of some questions, which all ranks ask at once.
void GlooTransport::Impl::compare_clocks(int questions) {
    compared_at_s = steady_s();
    if (rank() == 0)
        answer_questions(questions);
    else if (compare[static_cast<std::size_t>(rank())])
        ask_questions(questions);
}

void GlooTransport::Impl::answer_questions(int questions) {
    const auto askers = std::count(compare.begin(), compare.end(), true);
    for (std::int64_t i = 0; i < questions * askers; ++i) {
        double question = 0, answer_s = 0;
        guarded(-1, [&] {
            std::vector<torch::Tensor> tensors{bytes_of(&question, sizeof question)};
            const auto asked = world.group->recvAnysource(tensors, question_tag);
            asked->wait(forever);
            answer_s = options.local_s();
            finish(post_send(world.group, std::as_bytes(std::span(&answer_s, 1)), asked->sourceRank(), answer_tag));
        });
    }
}

void GlooTransport::Impl::ask_questions(int questions) {
    double best_s = 1e9, offset_s = 0;
    for (int i = 0; i < questions; ++i) {
        double answered_s = 0;
        const double asked_s = options.local_s();
        guarded(0, [&] {
            const auto answer =
                post_receive(world.group, std::as_writable_bytes(std::span(&answered_s, 1)), 0, answer_tag);
            finish(post_send(world.group, std::as_bytes(std::span(&asked_s, 1)), 0, question_tag));
            finish(answer);
        });
        const double heard_s = options.local_s();
        if (!std::isfinite(answered_s)) throw PeerFault(0, "told a time that is none");
        if (heard_s - asked_s >= best_s) continue;
        best_s = heard_s - asked_s;
        offset_s = answered_s - (asked_s + heard_s) / 2;
    }
    clock.measured(offset_s, best_s / 2, options.local_s());
}

/// To and from each other at once.
void GlooTransport::Impl::exchange(std::vector<double>& mine, std::vector<double>& all) {
    const int other = 1 - place(rank());
    const auto part = [&](int i) {
        return std::span(all).subspan(static_cast<std::size_t>(i) * mine.size(), mine.size());
    };
    std::copy(mine.begin(), mine.end(), part(1 - other).begin());
    guarded(world.peer, [&] {
        const auto heard = post_receive(world.group, std::as_writable_bytes(part(other)), other, values_tag);
        finish(post_send(world.group, std::as_bytes(std::span(mine)), other, values_tag));
        finish(heard);
    });
}

/// All to rank 0 at once, and from there to each: who is gone is known by name.
void GlooTransport::Impl::meet_at_first(std::vector<double>& mine, std::vector<double>& all) {
    if (rank() != 0) {
        guarded(0, [&] { finish(post_send(world.group, std::as_bytes(std::span(mine)), 0, values_tag)); });
    } else {
        std::copy(mine.begin(), mine.end(), all.begin());
        const auto& members = meeting.members;
        std::vector<Posting> postings(members.size());
        const auto of_member = [&](std::size_t i) {
            return std::as_writable_bytes(std::span(all).subspan(i * mine.size(), mine.size()));
        };
        for (std::size_t i = 1; i < members.size(); ++i)
            guarded(members[i],
                    [&] { postings[i] = post_receive(world.group, of_member(i), static_cast<int>(i), values_tag); });
        for (std::size_t i = 1; i < members.size(); ++i) guarded(members[i], [&] { finish(postings[i]); });
    }
    spread(all.data(), all.size() * sizeof(double));
}

/// From rank 0 to each.
void GlooTransport::Impl::spread(void* data, std::size_t size) {
    if (alone()) return;
    const std::span bytes(static_cast<std::byte*>(data), size);
    if (rank() != 0) return guarded(0, [&] { finish(post_receive(world.group, bytes, 0, spread_tag)); });
    const auto& members = meeting.members;
    std::vector<Posting> postings(members.size());
    for (std::size_t i = 1; i < members.size(); ++i)
        guarded(members[i], [&] { postings[i] = post_send(world.group, bytes, static_cast<int>(i), spread_tag); });
    for (std::size_t i = 1; i < members.size(); ++i) guarded(members[i], [&] { finish(postings[i]); });
}

std::vector<std::vector<double>> GlooTransport::Impl::all_gather(std::vector<double> values) {
    // Rank 0 says with it whether clocks are to be compared now.
    const bool due = rank() == 0 && steady_s() - compared_at_s >= options.compare_clocks_every_s;
    values.push_back(due ? 1 : 0);
    const auto count = meeting.members.size(), size = values.size();
    std::vector<double> all(count * size);
    if (count == 1)
        all = values;
    else if (count == 2)
        exchange(values, all);
    else
        meet_at_first(values, all);
    std::vector<std::vector<double>> result(static_cast<std::size_t>(ranks()));
    for (std::size_t i = 0; i < count; ++i) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(i * size);
        result[static_cast<std::size_t>(meeting.members[i])] = {first, first + static_cast<std::ptrdiff_t>(size)};
    }
    if (result.front().back() == 1) compare_clocks(5);
    for (const int member : meeting.members) result[static_cast<std::size_t>(member)].pop_back();
    return result;
}

GlooTransport::GlooTransport(Rendezvous& rendezvous, const RankSchedule& schedule, GlooOptions options)
    : must_regroup_(rendezvous.came_back()), impl_(std::make_shared<Impl>(rendezvous, std::move(options))) {
    auto& impl = *impl_;
    if (must_regroup_) {
        *impl.aborted = true;  // it is connected to nobody
        return;
    }
    try {
        impl.open({0, rendezvous.members(), {}}, nullptr);
        impl.follow(schedule);
    } catch (const std::exception& error) {
        throw InputError(
            "/execution/transport", fmt::format("rank {} cannot connect to the others", rank()), error.what(),
            "Check that all ranks run and reach each other; GLOO_SOCKET_IFNAME names the network interface to use");
    }
    impl.find_clocks();
}

GlooTransport::~GlooTransport() {
    abort();
    impl_->edges.clear();  // their threads end before what they use
}

std::shared_ptr<GlooTransport::Impl> GlooTransport::present() const {
    const std::lock_guard lock(mutex_);
    return impl_;
}

int GlooTransport::rank() const { return impl_->rank(); }
int GlooTransport::ranks() const { return impl_->ranks(); }
std::vector<int> GlooTransport::members() const { return impl_->rendezvous.members(); }
void GlooTransport::abort() noexcept { present()->abort(); }
double GlooTransport::now_s() const { return impl_->now_s(); }
double GlooTransport::common_s(double local_s) const { return impl_->common_s(local_s); }
void GlooTransport::follow(const RankSchedule& schedule) { impl_->follow(schedule); }
void GlooTransport::outlive_losses(bool outlives) {
    outlives_ = outlives;
    impl_->rendezvous.outlive_losses(outlives);
}
bool GlooTransport::somebody_waits() const { return impl_->rendezvous.somebody_waits(); }
double GlooTransport::clock_error_s() const {
    return impl_->one_clock ? 0 : impl_->clock.error_s(impl_->options.local_s());
}

/// Not that of rank 0, which decides, nor of this one, nor where a rank says that it cannot go on.
bool GlooTransport::lose(const Loss& loss) noexcept {
    if (!outlives_ || loss.rank == 0 || loss.rank == rank() || !loss.faults.empty()) return false;
    must_regroup_ = true;
    abort();
    return true;
}

/// The new groups are there to be aborted before anybody can be told of the next loss.
Regrouping GlooTransport::regroup() {
    const auto before = present();
    auto next = std::make_shared<Impl>(before->rendezvous, before->options);
    {
        const std::lock_guard lock(mutex_);
        impl_ = next;
    }
    must_regroup_ = false;
    try {
        auto meeting = next->rendezvous.meet(next->aborted);
        before->abort();  // nobody waits there any more
        before->edges.clear();
        fruitless_ = meeting.members == before->meeting.members && meeting.loss.rank < 0 ? fruitless_ + 1 : 0;
        if (fruitless_ > most_fruitless)
            throw InputError("ranks", fmt::format("rank {} and others do not reach each other", rank()),
                             meeting.loss.how, "Look at the network between the hosts; `skippipe resume` goes on");
        next->open(meeting, before->device);
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
    impl_->broken.set(std::move(broken));
}

void GlooTransport::begin_iteration(std::function<std::size_t(const RankTransfer&)> bytes,
                                    std::function<void(Delivery)> deliver) {
    impl_->check();
    fruitless_ = 0;
    impl_->rendezvous.settle();
    std::size_t receiving = 0, largest = 0;
    for (const auto& [ends, edge] : impl_->edges) {
        if (edge->sends() || edge->transfers().empty()) continue;
        ++receiving;
        for (const auto& transfer : edge->transfers()) largest = std::max(largest, bytes(transfer));
    }
    const auto ahead = posted_ahead(receiving, static_cast<double>(largest));
    for (const auto& [ends, edge] : impl_->edges) edge->begin(bytes, deliver, ahead);
}

void GlooTransport::send(Delivery message) {
    impl_->check();
    impl_->edge_of.at(message.transfer.number)->put(std::move(message));
}

void GlooTransport::end_iteration() {
    for (const auto& [ends, edge] : impl_->edges) edge->end();
    std::exception_ptr error;
    {
        const std::lock_guard lock(impl_->mutex);
        error = std::exchange(impl_->error, nullptr);
    }
    if (error) std::rethrow_exception(error);
    impl_->check();
}

void GlooTransport::all_reduce(int stage, std::span<float> values) {
    impl_->check();
    const auto found = impl_->stages.find(stage);
    if (found == impl_->stages.end()) return;
    impl_->guarded(found->second.peer, [&] {
        std::vector<torch::Tensor> tensors{
            torch::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, torch::kFloat32)};
        found->second.group->allreduce(tensors)->wait();
    });
}

std::vector<std::vector<double>> GlooTransport::gather_stage(int stage, const std::vector<double>& values) {
    impl_->check();
    const auto found = impl_->stages.find(stage);
    if (found == impl_->stages.end()) return {values};
    const auto& group = found->second.group;
    const auto size = static_cast<std::int64_t>(values.size());
    std::vector<std::vector<torch::Tensor>> outputs(1);
    for (int r = 0; r < group->getSize(); ++r) outputs[0].push_back(torch::empty({size}, torch::kFloat64));
    impl_->guarded(found->second.peer, [&] {
        std::vector<torch::Tensor> inputs{
            torch::from_blob(const_cast<double*>(values.data()), {size}, torch::kFloat64)};
        group->allgather(outputs, inputs)->wait();
    });
    std::vector<std::vector<double>> result;
    for (const auto& tensor : outputs[0]) {
        result.emplace_back(tensor.data_ptr<double>(), tensor.data_ptr<double>() + size);
        for (const double value : result.back())
            if (!std::isfinite(value)) throw PeerFault(found->second.peer, "told a number that is none");
    }
    return result;
}

std::vector<std::vector<double>> GlooTransport::all_gather(const std::vector<double>& values) {
    return impl_->all_gather(values);
}

/// Everybody's size at once, then everybody's text.
std::vector<std::string> GlooTransport::gather(const std::string& text) {
    auto& impl = *impl_;
    impl.check();
    const auto& group = impl.world.group;
    if (text.size() > most_gathered_bytes) throw std::length_error("a text beyond what rank 0 takes");
    if (rank() != 0) {
        const auto size = static_cast<std::int64_t>(text.size());
        impl.guarded(0, [&] {
            finish(post_send(group, std::as_bytes(std::span(&size, 1)), 0, size_tag));
            if (size > 0) finish(post_send(group, std::as_bytes(std::span(text)), 0, text_tag));
        });
        return {};
    }
    const auto& members = impl.meeting.members;
    std::vector<std::string> texts(static_cast<std::size_t>(ranks()));
    std::vector<std::int64_t> sizes(members.size(), 0);
    std::vector<Posting> postings(members.size());
    const auto text_of = [&](std::size_t i) -> std::string& { return texts[static_cast<std::size_t>(members[i])]; };
    texts[0] = text;
    for (std::size_t i = 1; i < members.size(); ++i)
        impl.guarded(members[i], [&] {
            postings[i] =
                post_receive(group, std::as_writable_bytes(std::span(&sizes[i], 1)), static_cast<int>(i), size_tag);
        });
    for (std::size_t i = 1; i < members.size(); ++i) {
        impl.guarded(members[i], [&] { finish(postings[i]); });
        text_of(i).resize(checked_size(sizes[i], most_gathered_bytes, members[i]));
        if (text_of(i).empty()) continue;
        impl.guarded(members[i],
                     [&] { postings[i] = post_receive(group, writable(text_of(i)), static_cast<int>(i), text_tag); });
    }
    for (std::size_t i = 1; i < members.size(); ++i)
        if (!text_of(i).empty()) impl.guarded(members[i], [&] { finish(postings[i]); });
    return texts;
}

/// A short text travels with its size.
std::string GlooTransport::broadcast(const std::string& text) {
    constexpr std::size_t short_bytes = 4096;
    auto& impl = *impl_;
    impl.check();
    if (impl.alone()) return text;
    if (rank() == 0 && text.size() > most_broadcast_bytes) throw std::length_error("a text beyond what ranks take");
    std::array<char, sizeof(std::int64_t) + short_bytes> first{};
    auto size = static_cast<std::int64_t>(text.size());
    if (rank() == 0) {
        std::memcpy(first.data(), &size, sizeof size);
        std::memcpy(first.data() + sizeof size, text.data(), std::min(text.size(), short_bytes));
    }
    impl.spread(first.data(), first.size());
    std::memcpy(&size, first.data(), sizeof size);
    const auto checked = checked_size(size, most_broadcast_bytes, 0);
    if (checked <= short_bytes) return {first.data() + sizeof size, checked};
    std::string result = rank() == 0 ? text : std::string(checked, '\0');
    impl.spread(result.data(), result.size());
    return result;
}

void GlooTransport::send_to(int peer, std::span<const std::byte> bytes) {
    impl_->guarded(peer, [&] { finish(post_send(impl_->world.group, bytes, impl_->place(peer), data_tag)); });
}

void GlooTransport::receive_from(int peer, std::span<std::byte> bytes) {
    impl_->guarded(peer, [&] { finish(post_receive(impl_->world.group, bytes, impl_->place(peer), data_tag)); });
}

std::unique_ptr<LineBook> GlooTransport::line_book(std::size_t) {
    impl_->check();
    return std::make_unique<StoreLineBook>(impl_->rendezvous.connect(impl_->aborted), rank());
}

}  // namespace skippipe
