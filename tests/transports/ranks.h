// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks as threads of the test: over the engine's thread transport, over sockets on loopback, alone or with Gloo beside
// them, or over lanes of a NCCL in memory beside threads or sockets.
#pragma once
#include <QTest>

#include <chrono>
#include <filesystem>
#include <functional>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include <unistd.h>

#include "plugins/transports/control.h"
#ifdef SKIPPIPE_GLOO
#include "plugins/transports/gloo/gloo.h"
#endif
#include "tests/engine/thread_transport.h"
#include "tests/nccl/lanes_in_process.h"

namespace ranks {

using namespace skippipe;

/// `messages` from each rank to each other one, in turns; every rank hosts a node of the one stage.
inline RankSchedule everybody_to_everybody(int ranks, int messages) {
    RankSchedule schedule{.ranks = ranks, .plan = {.stages = {{}}, .blocks = {1}}};
    for (int r = 0; r < ranks; ++r) {
        schedule.plan.stages[0].emplace_back(r);
        schedule.rank_of.push_back(r);
    }
    for (int m = 0; m < messages; ++m)
        for (int from = 0; from < ranks; ++from)
            for (int to = 0; to < ranks; ++to)
                if (from != to)
                    schedule.transfers.push_back(
                        {static_cast<int>(schedule.transfers.size()), {OpKind::F, MicrobatchIndex(m)}, from, to});
    return schedule;
}

inline LaunchEnvironment launch_of(int rank, int ranks, int port, const std::string& token) {
    return {.rank = rank,
            .world_size = ranks,
            .local_rank = rank,
            .local_world_size = ranks,
            .master_port = port,
            .token = token};
}

/// That carry messages, as this build has them.
inline std::vector<const char*> carriers() {
#ifdef SKIPPIPE_GLOO
    return {"thread", "gloo", "nccl", "nccl beside sockets"};
#else
    return {"thread", "nccl", "nccl beside sockets"};
#endif
}

/// What carries messages beside sockets, where something does.
inline std::unique_ptr<RankTransport> carrier_beside(ControlTransport& control, const RankSchedule& schedule) {
#ifdef SKIPPIPE_GLOO
    return std::make_unique<GlooTransport>(control, schedule);
#else
    return static_cast<void>(control), static_cast<void>(schedule), nullptr;
#endif
}

/// Threads of this process.
inline int threads_now() {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator("/proc/self/task")) count += entry.exists();
    return count;
}

/// Runs `body` as each rank; a test that takes longer than `limit_s` ends the program, since its threads cannot be
/// ended.
inline void as_ranks(
    const std::string& kind, const RankSchedule& schedule, const std::function<void(RankTransport&)>& body,
    const std::function<ControlOptions(int rank)>& options = [](int) { return ControlOptions{}; },
    double limit_s = 30) {
    std::promise<int> port;
    const auto shared_port = port.get_future().share();
    const auto token = make_token();
    skippipe::testing::Exchange exchange(schedule.ranks);
    const auto rank_main = [&](int rank) {
        const bool by_lanes = kind.starts_with("nccl");
        const auto carried = by_lanes ? without_transfers(schedule) : schedule;
        const auto over = [&](RankTransport& control) {
            if (!by_lanes) return body(control);
            NcclTransport transport(control, skippipe::testing::fake_table(), skippipe::testing::queue_of(rank),
                                    schedule);
            body(transport);
        };
        if (kind == "thread" || kind == "nccl") {
            skippipe::testing::ThreadTransport transport(exchange, carried, rank);
            return over(transport);
        }
        Rendezvous rendezvous(launch_of(rank, schedule.ranks, rank == 0 ? 0 : shared_port.get(), token), 20);
        if (rank == 0) port.set_value(rendezvous.port());
        {
            ControlTransport control(rendezvous, options(rank));
            control.follow(schedule);
            const auto carrier = kind == "gloo" ? carrier_beside(control, schedule) : nullptr;
            over(carrier ? *carrier : control);
            rendezvous.leave();
        }
    };
    std::vector<std::future<void>> done;
    for (int rank = 0; rank < schedule.ranks; ++rank) done.push_back(std::async(std::launch::async, rank_main, rank));
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(limit_s);
    for (int rank = 0; rank < schedule.ranks; ++rank)
        if (done[static_cast<std::size_t>(rank)].wait_until(until) != std::future_status::ready) {
            std::fprintf(stderr, "FAIL!  : rank %d over %s does not end\n", rank, kind.c_str());
            std::_Exit(1);
        }
    for (auto& one : done) one.get();
}

}  // namespace ranks
