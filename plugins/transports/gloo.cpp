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

constexpr int size_tag = 1, text_tag = 2, data_tag = 3, question_tag = 4, answer_tag = 5, values_tag = 6;

/// Above it, small values meet at rank 0 instead of going round.
constexpr std::size_t most_in_ring = 4;

/// What a call that met a broken connection waits for the end of the run.
constexpr auto patience_after_break = std::chrono::seconds(10);

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
    Impl(Rendezvous& meeting, GlooOptions given) : rendezvous(meeting), options(std::move(given)) {
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
    double now_s() const { return common_s(options.local_s()); }
    double common_s(double local_s) const { return one_clock ? local_s : clock.at(local_s); }
    void check() const {
        if (*aborted) throw Aborted();
    }

    Group connect(const std::string& name, int group_rank, int size, bool collectives);
    void follow(const RankSchedule& schedule);
    void guarded(int peer, const std::function<void()>& work);
    void tell_broken(std::exception_ptr error);
    void abort() noexcept;

    void find_clocks();
    void compare_clocks(int questions);
    void answer_questions(int questions);
    void ask_questions(int questions);
    std::vector<std::vector<double>> all_gather(std::vector<double> values);
    void pass_round(std::vector<double>& mine, std::vector<double>& all);
    void meet_at_first(std::vector<double>& mine, std::vector<double>& all);

    Rendezvous& rendezvous;
    GlooOptions options;
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

/// The world's group names who is not there; the others are made by who has met already.
Group GlooTransport::Impl::connect(const std::string& name, int group_rank, int size, bool collectives) {
    check();
    auto group = make_group(c10::make_intrusive<c10d::PrefixStore>(name, store->shared()), group_rank, size, device,
                            collectives);
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
                    edge_context, connect(fmt::format("edge/{}-{}", from, to), sends ? 0 : 1, 2, false),
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
        Circle circle{connect(fmt::format("stage/{}", stage), static_cast<int>(me - hosts.begin()),
                              static_cast<int>(hosts.size()), true),
                      hosts.size() == 2 ? hosts[*me == hosts[0] ? 1 : 0] : -1};
        const std::lock_guard lock(mutex);
        stages[stage] = std::move(circle);
    }
    check();
}

/// Runs what talks to a peer (-1: to several). A broken connection ends the run through the rendezvous.
void GlooTransport::Impl::guarded(int peer, const std::function<void()>& work) {
    check();
    try {
        work();
        return;
    } catch (const std::exception& failure) {
        check();
        const std::string why = failure.what();
        rendezvous.report_broken(peer, fmt::format("its connection broke ({})", why.substr(0, why.find('\n'))));
        std::unique_lock lock(mutex);
        changed.wait_for(lock, patience_after_break, [this] { return aborted->load(); });
        check();
        const auto who = peer < 0 ? std::string("several ranks") : fmt::format("rank {}", peer);
        throw InputError(who, fmt::format("rank {} lost its connection to {}", rank(), who), why,
                         "Look at the other ranks' messages and hosts, then start the run again");
    }
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
    for (const auto& flags : all_gather({other ? 1.0 : 0.0})) compare.push_back(flags.front() == 1);
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

/// Gloo's ring: as many latencies as there are other ranks.
void GlooTransport::Impl::pass_round(std::vector<double>& mine, std::vector<double>& all) {
    const auto size = static_cast<std::int64_t>(mine.size());
    std::vector<std::vector<torch::Tensor>> outputs(1);
    for (int r = 0; r < ranks(); ++r)
        outputs[0].push_back(torch::from_blob(all.data() + r * size, {size}, torch::kFloat64));
    std::vector<torch::Tensor> inputs{torch::from_blob(mine.data(), {size}, torch::kFloat64)};
    guarded(world.peer, [&] { world.group->allgather(outputs, inputs)->wait(); });
}

/// All to rank 0 at once, from there as a tree: some log2(ranks) latencies, which wide networks feel.
void GlooTransport::Impl::meet_at_first(std::vector<double>& mine, std::vector<double>& all) {
    if (rank() != 0) {
        guarded(0, [&] { finish(post_send(world.group, std::as_bytes(std::span(mine)), 0, values_tag)); });
    } else {
        std::copy(mine.begin(), mine.end(), all.begin());
        std::vector<Posting> postings(static_cast<std::size_t>(ranks()));
        const auto of_rank = [&](int r) {
            return std::as_writable_bytes(
                std::span(all).subspan(static_cast<std::size_t>(r) * mine.size(), mine.size()));
        };
        for (int r = 1; r < ranks(); ++r)
            guarded(r, [&] {
                postings[static_cast<std::size_t>(r)] = post_receive(world.group, of_rank(r), r, values_tag);
            });
        for (int r = 1; r < ranks(); ++r) guarded(r, [&] { finish(postings[static_cast<std::size_t>(r)]); });
    }
    guarded(world.peer, [&] {
        std::vector<torch::Tensor> tensors{bytes_of(all.data(), all.size() * sizeof(double))};
        world.group->broadcast(tensors)->wait();
    });
}

std::vector<std::vector<double>> GlooTransport::Impl::all_gather(std::vector<double> values) {
    // Rank 0 says with it whether clocks are to be compared now.
    const bool due = rank() == 0 && steady_s() - compared_at_s >= options.compare_clocks_every_s;
    values.push_back(due ? 1 : 0);
    const auto count = static_cast<std::size_t>(ranks()), size = values.size();
    std::vector<double> all(count * size);
    if (count > most_in_ring)
        meet_at_first(values, all);
    else
        pass_round(values, all);
    std::vector<std::vector<double>> result;
    for (std::size_t r = 0; r < count; ++r) {
        const auto first = all.begin() + static_cast<std::ptrdiff_t>(r * size);
        result.emplace_back(first, first + static_cast<std::ptrdiff_t>(size));
    }
    if (result.front().back() == 1) compare_clocks(5);
    for (auto& row : result) row.pop_back();
    return result;
}

GlooTransport::GlooTransport(Rendezvous& rendezvous, const RankSchedule& schedule, GlooOptions options)
    : impl_(std::make_unique<Impl>(rendezvous, std::move(options))) {
    auto& impl = *impl_;
    try {
        impl.store = rendezvous.connect(impl.aborted);
        impl.device = make_device(rendezvous, *impl.store);
        impl.world = {impl.connect("world", rank(), ranks(), true), ranks() == 2 ? 1 - rank() : -1};
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

int GlooTransport::rank() const { return impl_->rank(); }
int GlooTransport::ranks() const { return impl_->ranks(); }
void GlooTransport::abort() noexcept { impl_->abort(); }
double GlooTransport::now_s() const { return impl_->now_s(); }
double GlooTransport::common_s(double local_s) const { return impl_->common_s(local_s); }
void GlooTransport::follow(const RankSchedule& schedule) { impl_->follow(schedule); }
double GlooTransport::clock_error_s() const {
    return impl_->one_clock ? 0 : impl_->clock.error_s(impl_->options.local_s());
}

void GlooTransport::when_broken(std::function<void(std::exception_ptr)> broken) {
    impl_->broken.set(std::move(broken));
}

void GlooTransport::begin_iteration(std::function<std::size_t(const RankTransfer&)> bytes,
                                    std::function<void(Delivery)> deliver) {
    impl_->check();
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
    const auto count = static_cast<std::size_t>(ranks());
    std::vector<std::string> texts(count);
    std::vector<std::int64_t> sizes(count, 0);
    std::vector<Posting> postings(count);
    texts[0] = text;
    for (std::size_t r = 1; r < count; ++r)
        impl.guarded(static_cast<int>(r), [&] {
            postings[r] =
                post_receive(group, std::as_writable_bytes(std::span(&sizes[r], 1)), static_cast<int>(r), size_tag);
        });
    for (std::size_t r = 1; r < count; ++r) {
        impl.guarded(static_cast<int>(r), [&] { finish(postings[r]); });
        texts[r].resize(checked_size(sizes[r], most_gathered_bytes, static_cast<int>(r)));
        if (texts[r].empty()) continue;
        impl.guarded(static_cast<int>(r),
                     [&] { postings[r] = post_receive(group, writable(texts[r]), static_cast<int>(r), text_tag); });
    }
    for (std::size_t r = 1; r < count; ++r)
        if (!texts[r].empty()) impl.guarded(static_cast<int>(r), [&] { finish(postings[r]); });
    return texts;
}

/// A short text travels with its size.
std::string GlooTransport::broadcast(const std::string& text) {
    constexpr std::size_t short_bytes = 4096;
    auto& impl = *impl_;
    if (rank() == 0 && text.size() > most_broadcast_bytes) throw std::length_error("a text beyond what ranks take");
    const auto spread = [&](void* data, std::size_t size) {
        impl.guarded(impl.world.peer, [&] {
            std::vector<torch::Tensor> tensors{bytes_of(data, size)};
            impl.world.group->broadcast(tensors)->wait();
        });
    };
    std::array<char, sizeof(std::int64_t) + short_bytes> first{};
    auto size = static_cast<std::int64_t>(text.size());
    if (rank() == 0) {
        std::memcpy(first.data(), &size, sizeof size);
        std::memcpy(first.data() + sizeof size, text.data(), std::min(text.size(), short_bytes));
    }
    spread(first.data(), first.size());
    std::memcpy(&size, first.data(), sizeof size);
    const auto checked = checked_size(size, most_broadcast_bytes, 0);
    if (checked <= short_bytes) return {first.data() + sizeof size, checked};
    std::string result = rank() == 0 ? text : std::string(checked, '\0');
    spread(result.data(), result.size());
    return result;
}

void GlooTransport::send_to(int peer, std::span<const std::byte> bytes) {
    impl_->guarded(peer, [&] { finish(post_send(impl_->world.group, bytes, peer, data_tag)); });
}

void GlooTransport::receive_from(int peer, std::span<std::byte> bytes) {
    impl_->guarded(peer, [&] { finish(post_receive(impl_->world.group, bytes, peer, data_tag)); });
}

std::unique_ptr<LineBook> GlooTransport::line_book(std::size_t) {
    impl_->check();
    return std::make_unique<StoreLineBook>(impl_->rendezvous.connect(impl_->aborted), rank());
}

}  // namespace skippipe
