// SPDX-License-Identifier: GPL-3.0-or-later
// The gloo transport between two processes on loopback against a bare loop of c10d's send and recv of the same sizes,
// alternating in one run; one JSON line a size. `bench_transport`
#include <algorithm>
#include <cstdio>
#include <vector>

#include <sys/wait.h>
#include <torch/types.h>
#include <unistd.h>

#include "core/engine/probe.h"
#include "core/model/allocator.h"
#include "plugins/transports/gloo/breakable_group.h"
#include "plugins/transports/gloo/gloo.h"
#include "plugins/transports/run_store.h"

namespace {

using namespace skippipe;

constexpr int messages = 120, rounds = 31;

/// Rank 0 sends everything to rank 1.
RankSchedule one_way() {
    RankSchedule schedule{.ranks = 2, .plan = {.stages = {{0, 1}}, .blocks = {1}}, .rank_of = {0, 1}};
    for (int m = 0; m < messages; ++m) schedule.transfers.push_back({m, {OpKind::F, MicrobatchIndex(m)}, 0, 1});
    return schedule;
}

double bare_s(const Group& group, int rank, std::vector<std::vector<std::byte>>& buffers, RankTransport& transport) {
    transport.all_gather({0});
    const double start_s = steady_s();
    for (auto& buffer : buffers) {
        std::vector<torch::Tensor> tensors{
            torch::from_blob(buffer.data(), {static_cast<std::int64_t>(buffer.size())}, torch::kUInt8)};
        (rank == 0 ? group->send(tensors, 1, 9) : group->recv(tensors, 0, 9))->wait();
    }
    transport.all_gather({0});
    return steady_s() - start_s;
}

double transport_s(GlooTransport& transport, const RankSchedule& schedule, std::size_t bytes) {
    std::vector<Buffer> ready;
    for (int m = 0; m < messages && transport.rank() == 0; ++m)
        std::fill_n(ready.emplace_back(bytes).data(), bytes, std::byte{1});
    transport.all_gather({0});
    const double start_s = steady_s();
    transport.begin_iteration([bytes](const RankTransfer&) { return bytes; }, [](Delivery) {});
    for (std::size_t m = 0; m < ready.size(); ++m) transport.send({schedule.transfers[m], {}, std::move(ready[m])});
    transport.end_iteration();
    transport.all_gather({0});
    return steady_s() - start_s;
}

void measure(Rendezvous& rendezvous, int rank) {
    const auto schedule = one_way();
    ControlTransport control(rendezvous);
    GlooTransport transport(control, schedule);
    const auto group =
        make_group(c10::make_intrusive<c10d::PrefixStore>("bare", rendezvous.connect()->shared()), rank, 2,
                   c10d::ProcessGroupGloo::createDeviceForHostname("127.0.0.1"), std::chrono::minutes(2));
    for (const std::size_t bytes : {std::size_t{64} << 10, std::size_t{512} << 10, std::size_t{4} << 20}) {
        std::vector<std::vector<std::byte>> buffers(messages, std::vector<std::byte>(bytes, std::byte{1}));
        std::vector<double> bare, ours;
        for (int i = 0; i < rounds; ++i) {
            bare.push_back(bare_s(group, rank, buffers, transport));
            ours.push_back(transport_s(transport, schedule, bytes));
        }
        const double bare_median_s = summarize(bare).median, ours_median_s = summarize(ours).median,
                     total = static_cast<double>(bytes) * messages;
        if (rank == 0)
            std::printf(
                "{\"name\": \"gloo transport, messages of %zu KiB on loopback\", \"unit\": \"B/s\", \"value\": %.4g, "
                "\"baseline\": \"bare c10d send/recv loop\", "
                "\"baseline_value\": %.4g, \"ratio\": %.3f, \"threads\": 2, \"ceiling\": \"goal 0.8; two processes, "
                "loopback\"}\n",
                bytes >> 10, total / ours_median_s, total / bare_median_s, bare_median_s / ours_median_s);
    }
    std::fflush(stdout);
    rendezvous.leave();
}

}  // namespace

int main() {
    keep_freed_memory();
    int port[2];
    if (::pipe(port) != 0) return 1;
    const auto token = make_token();
    const pid_t child = ::fork();
    int number = 0;
    if (child == 0) {
        if (::read(port[0], &number, sizeof number) != sizeof number) return 1;
        Rendezvous rendezvous({.rank = 1,
                               .world_size = 2,
                               .local_rank = 1,
                               .local_world_size = 2,
                               .master_port = number,
                               .token = token});
        measure(rendezvous, 1);
        std::quick_exit(0);
    }
    Rendezvous rendezvous({.rank = 0, .world_size = 2, .local_world_size = 2, .token = token});
    number = rendezvous.port();
    if (::write(port[1], &number, sizeof number) != sizeof number) return 1;
    measure(rendezvous, 0);
    int status = 0;
    ::waitpid(child, &status, 0);
    std::quick_exit(status == 0 ? 0 : 1);
}
