// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/gloo.h"

#include <algorithm>
#include <cstring>
#include <deque>
#include <fstream>
#include <set>

#include <fmt/format.h>
#include <torch/types.h>

#include "core/engine/launch.h"

namespace skippipe {

namespace {

/// Travels behind every message.
struct Envelope {
    std::int64_t number = 0;
    TransferTimes times;
};
static_assert(std::is_trivially_copyable_v<Envelope> && sizeof(Envelope) <= Buffer::envelope_bytes);

constexpr int message_tag = 1, text_tag = 2, data_tag = 3;

torch::Tensor bytes_of(const void* data, std::size_t size) {
    return torch::from_blob(const_cast<void*>(data), {static_cast<std::int64_t>(size)}, torch::kUInt8);
}

/// Posts at once; the tensors must live until both have been waited for.
template <class GroupPointer>
auto post_send(const GroupPointer& group, torch::Tensor tensor, int peer, int tag) {
    std::vector<torch::Tensor> tensors{std::move(tensor)};
    return group->send(tensors, peer, tag);
}
template <class GroupPointer>
auto post_receive(const GroupPointer& group, torch::Tensor tensor, int peer, int tag) {
    std::vector<torch::Tensor> tensors{std::move(tensor)};
    return group->recv(tensors, peer, tag);
}

/// The interface that leads to the other ranks.
std::shared_ptr<::gloo::transport::Device> make_device(Rendezvous& rendezvous) {
    using Gloo = c10d::ProcessGroupGloo;
    const auto& launch = rendezvous.launch();
    if (const auto name = environment_variable("GLOO_SOCKET_IFNAME"); name && !name->empty())
        return Gloo::createDeviceForInterface(*name);
    if (launch.local_world_size == launch.world_size) return Gloo::createDeviceForHostname("127.0.0.1");
    const auto key = [](int rank) { return fmt::format("address/{}", rank); };
    auto own = address_towards(launch.master_address);
    rendezvous.store()->set(key(launch.rank), std::vector<std::uint8_t>(own.begin(), own.end()));
    if (own.empty() && launch.rank + 1 < launch.world_size) {  // MASTER_ADDR is a loopback name here: ask the last rank
        const auto peer = rendezvous.store()->get(key(launch.world_size - 1));
        own = address_towards(std::string(peer.begin(), peer.end()));
    }
    return own.empty() ? Gloo::createDefaultDevice() : Gloo::createDeviceForHostname(own);
}

/// Posted so far ahead, small messages do not wait for each other's round trips.
constexpr std::size_t posted_ahead = 8;

/// A message under way with its envelope: stays where it is until waited for.
struct Posted {
    explicit Posted(Buffer message) : bytes(message.data() ? std::move(message) : Buffer(0)) {}
    Posted(const Posted&) = delete;
    Posted& operator=(const Posted&) = delete;

    void write(const Envelope& envelope) { std::memcpy(bytes.envelope(), &envelope, sizeof envelope); }
    Envelope read() {
        Envelope envelope;
        std::memcpy(&envelope, bytes.envelope(), sizeof envelope);
        return envelope;
    }
    torch::Tensor tensor() { return bytes_of(bytes.data(), bytes.size() + sizeof(Envelope)); }

    Buffer bytes;
    decltype(post_send(Group{}, torch::Tensor{}, 0, 0)) work;
};

std::string boot_id() {
    std::string id;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> id;
    return id;
}

/// Lines whose free time all ranks keep in the store.
class StoreLineBook final : public LineBook {
public:
    StoreLineBook(c10::intrusive_ptr<c10d::TCPStore> store, int rank) : store_(std::move(store)), rank_(rank) {}

    double reserve(int line, double earliest_s, double occupied_s) override {
        const std::lock_guard lock(mutex_);
        auto& known = known_[line];
        for (;;) {
            const double free_s = known.empty() ? 0 : std::stod(std::string(known.begin(), known.end()));
            const double start_s = std::max(earliest_s, free_s);
            // Who and how often: no two bookings are the same text.
            const auto wanted = fmt::format("{:.17g} {} {}", start_s + occupied_s, rank_, ++bookings_);
            const std::vector<std::uint8_t> desired(wanted.begin(), wanted.end());
            auto now = store_->compareSet(fmt::format("line/{}", line), known, desired);
            const bool booked = now == desired;
            known = std::move(now);
            if (booked) return start_s;
        }
    }

private:
    std::mutex mutex_;
    c10::intrusive_ptr<c10d::TCPStore> store_;
    int rank_;
    std::uint64_t bookings_ = 0;
    std::map<int, std::vector<std::uint8_t>> known_;
};

}  // namespace

GlooTransport::GlooTransport(Rendezvous& rendezvous, const RankSchedule& schedule) : rendezvous_(rendezvous) {
    try {
        device_ = make_device(rendezvous);
        world_ = {connect("world", rank(), ranks()), ranks() == 2 ? 1 - rank() : -1};
        follow(schedule);
    } catch (const std::exception& error) {
        throw InputError(
            "/execution/transport", fmt::format("rank {} cannot connect to the others", rank()), error.what(),
            "Check that all ranks run and reach each other; GLOO_SOCKET_IFNAME names the network interface to use");
    }
    measure_clock();
}

GlooTransport::~GlooTransport() = default;

Group GlooTransport::connect(const std::string& name, int rank, int size) const {
    return make_group(c10::make_intrusive<c10d::PrefixStore>(name, rendezvous_.store()), rank, size, device_);
}

/// Every rank makes its groups in the same order, so that none waits for a group that its peer makes later.
void GlooTransport::follow(const RankSchedule& schedule) {
    outbox_of_.clear();
    for (int from = 0; from < ranks(); ++from)
        for (int to = 0; to < ranks(); ++to) {
            if (from == to || (from != rank() && to != rank())) continue;
            auto transfers = schedule.between(from, to);
            const auto known = edges_.find({from, to});
            if (transfers.empty() && known == edges_.end()) continue;
            auto& edge = known != edges_.end() ? known->second : edges_[{from, to}];
            if (!edge.group) edge.group = connect(fmt::format("edge/{}-{}", from, to), from == rank() ? 0 : 1, 2);
            edge.transfers = std::move(transfers);
            if (from == rank())
                for (const auto& transfer : edge.transfers) outbox_of_[transfer.number] = edge.outbox.get();
        }
    for (int stage = 0; stage < static_cast<int>(schedule.plan.stages.size()); ++stage) {
        const auto hosts = schedule.ranks_of_stage(stage);
        const auto me = std::find(hosts.begin(), hosts.end(), rank());
        if (hosts.size() > 1 && me != hosts.end() && !stages_.contains(stage))
            stages_[stage] = {connect(fmt::format("stage/{}", stage), static_cast<int>(me - hosts.begin()),
                                      static_cast<int>(hosts.size())),
                              hosts.size() == 2 ? hosts[*me == hosts[0] ? 1 : 0] : -1};
    }
}

/// What the other clock shows when this one shows 0, by the quickest of some questions; one host has one clock.
void GlooTransport::measure_clock() {
    const bool same_host = broadcast(boot_id()) == boot_id();
    constexpr int questions = 20;
    const auto flags = all_gather({same_host ? 1.0 : 0.0});
    for (int asker = 1; asker < ranks(); ++asker) {
        if (flags[static_cast<std::size_t>(asker)].front() == 1) continue;
        double best_s = 1e9, question = 0;
        for (int i = 0; i < questions && (rank() == 0 || rank() == asker); ++i) {
            const double asked_s = steady_s();
            if (rank() == asker) {
                send_to(0, std::as_bytes(std::span(&asked_s, 1)));
                double answered_s = 0;
                receive_from(0, std::as_writable_bytes(std::span(&answered_s, 1)));
                const double now = steady_s();
                if (now - asked_s < best_s) {
                    best_s = now - asked_s;
                    clock_offset_s_ = answered_s - (asked_s + now) / 2;
                }
            } else {
                receive_from(asker, std::as_writable_bytes(std::span(&question, 1)));
                const double now = steady_s();
                send_to(asker, std::as_bytes(std::span(&now, 1)));
            }
        }
    }
}

/// Runs what talks to a peer (-1: to several). A broken connection ends the run through the rendezvous.
template <class Work>
auto GlooTransport::guarded(int peer, Work work) -> decltype(work()) {
    try {
        return work();
    } catch (const std::exception& error) {
        // Where several are concerned, who is gone is best seen by those that have a connection of their own, or by its
        // silence.
        if (peer < 0) std::this_thread::sleep_for(std::chrono::seconds(7));
        rendezvous_.report_broken(peer, fmt::format("its connection broke ({})", error.what()));
        throw;
    }
}

void GlooTransport::begin_iteration(std::function<std::size_t(const RankTransfer&)> bytes,
                                    std::function<void(Delivery)> deliver) {
    for (auto& [ends, edge] : edges_) {
        if (ends.first == rank())
            threads_.emplace_back([this, peer = ends.second, &edge] { send_all(peer, edge); });
        else
            threads_.emplace_back(
                [this, peer = ends.first, &edge, bytes, deliver] { receive_all(peer, edge, bytes, deliver); });
    }
}

void GlooTransport::send(Delivery message) { outbox_of_.at(message.transfer.number)->put(std::move(message)); }

void GlooTransport::Outbox::put(Delivery message) {
    const std::lock_guard lock(mutex);
    const int number = message.transfer.number;
    ready.emplace(number, std::move(message));
    changed.notify_one();
}

Delivery GlooTransport::Outbox::take(int number) {
    std::unique_lock lock(mutex);
    changed.wait(lock, [&] { return ready.contains(number); });
    auto message = std::move(ready.at(number));
    ready.erase(number);
    return message;
}

void GlooTransport::send_all(int peer, Edge& edge) {
    std::deque<Posted> under_way;
    // The newest first, so that the others need no waking; each once only, as a wait takes its completion away.
    const auto settle = [&](std::size_t count) {
        for (std::size_t k = count; k-- > 0;) guarded(peer, [&] { under_way[k].work->wait(); });
        for (; count > 0; --count) under_way.pop_front();
    };
    for (const auto& transfer : edge.transfers) {
        auto message = edge.outbox->take(transfer.number);
        auto& posted = under_way.emplace_back(std::move(message.bytes));
        posted.write({transfer.number, message.times});
        guarded(peer, [&] { posted.work = post_send(edge.group, posted.tensor(), 1, message_tag); });
        if (under_way.size() == posted_ahead) settle(posted_ahead / 2);
    }
    settle(under_way.size());
}

void GlooTransport::receive_all(int peer, Edge& edge, const std::function<std::size_t(const RankTransfer&)>& bytes,
                                const std::function<void(Delivery)>& deliver) {
    std::deque<Posted> under_way;
    std::size_t next = 0;
    for (const auto& transfer : edge.transfers) {
        for (; next < edge.transfers.size() && under_way.size() < posted_ahead; ++next) {
            auto& posted = under_way.emplace_back(Buffer(bytes(edge.transfers[next])));
            guarded(peer, [&] { posted.work = post_receive(edge.group, posted.tensor(), 0, message_tag); });
        }
        auto& posted = under_way.front();
        Envelope envelope;
        guarded(peer, [&] {
            posted.work->wait();
            envelope = posted.read();
            if (envelope.number != transfer.number)
                throw std::runtime_error(
                    fmt::format("transfer {} came where {} was due", envelope.number, transfer.number));
        });
        deliver({transfer, envelope.times, std::move(posted.bytes)});
        under_way.pop_front();
    }
}

void GlooTransport::end_iteration() { threads_.clear(); }

void GlooTransport::all_reduce(int stage, std::span<float> values) {
    const auto found = stages_.find(stage);
    if (found == stages_.end()) return;
    guarded(found->second.peer, [&] {
        std::vector<torch::Tensor> tensors{
            torch::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, torch::kFloat32)};
        found->second.group->allreduce(tensors)->wait();
    });
}

double GlooTransport::latest(int stage, double value) {
    const auto found = stages_.find(stage);
    if (found == stages_.end()) return value;
    return guarded(found->second.peer, [&] {
        std::vector<torch::Tensor> tensors{torch::from_blob(&value, {1}, torch::kFloat64)};
        c10d::AllreduceOptions options;
        options.reduceOp = c10d::ReduceOp::MAX;
        found->second.group->allreduce(tensors, options)->wait();
        return value;
    });
}

std::vector<std::vector<double>> GlooTransport::all_gather(const std::vector<double>& values) {
    const auto size = static_cast<std::int64_t>(values.size());
    auto mine = torch::from_blob(const_cast<double*>(values.data()), {size}, torch::kFloat64);
    std::vector<std::vector<torch::Tensor>> outputs(1);
    for (int r = 0; r < ranks(); ++r) outputs[0].push_back(torch::empty({size}, torch::kFloat64));
    std::vector<torch::Tensor> inputs{mine};
    guarded(world_.peer, [&] { world_.group->allgather(outputs, inputs)->wait(); });
    std::vector<std::vector<double>> result;
    for (const auto& tensor : outputs[0])
        result.emplace_back(tensor.data_ptr<double>(), tensor.data_ptr<double>() + size);
    return result;
}

std::vector<std::string> GlooTransport::gather(const std::string& text) {
    const auto sizes = all_gather({static_cast<double>(text.size())});
    if (rank() != 0) {
        if (!text.empty())
            guarded(0, [&] { post_send(world_.group, bytes_of(text.data(), text.size()), 0, text_tag)->wait(); });
        return {};
    }
    std::vector<std::string> texts{text};
    for (int r = 1; r < ranks(); ++r) {
        auto& other = texts.emplace_back(static_cast<std::size_t>(sizes[static_cast<std::size_t>(r)].front()), '\0');
        if (!other.empty())
            guarded(r, [&] { post_receive(world_.group, bytes_of(other.data(), other.size()), r, text_tag)->wait(); });
    }
    return texts;
}

std::string GlooTransport::broadcast(const std::string& text) {
    auto size = static_cast<std::int64_t>(text.size());
    const auto spread = [this](torch::Tensor tensor) {
        std::vector<torch::Tensor> tensors{std::move(tensor)};
        guarded(world_.peer, [&] { world_.group->broadcast(tensors)->wait(); });
    };
    spread(torch::from_blob(&size, {1}, torch::kInt64));
    std::string result = rank() == 0 ? text : std::string(static_cast<std::size_t>(size), '\0');
    if (size > 0) spread(bytes_of(result.data(), result.size()));
    return result;
}

void GlooTransport::send_to(int peer, std::span<const std::byte> bytes) {
    guarded(peer, [&] { post_send(world_.group, bytes_of(bytes.data(), bytes.size()), peer, data_tag)->wait(); });
}

void GlooTransport::receive_from(int peer, std::span<std::byte> bytes) {
    guarded(peer, [&] { post_receive(world_.group, bytes_of(bytes.data(), bytes.size()), peer, data_tag)->wait(); });
}

std::unique_ptr<LineBook> GlooTransport::line_book(std::size_t) {
    return std::make_unique<StoreLineBook>(rendezvous_.connect(), rank());
}

}  // namespace skippipe
