// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/worker/worker.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/device/cuda_driver.h"
#include "core/device/cuda_queue.h"
#include "core/device/nccl_api.h"
#include "core/device/nvml.h"
#include "core/engine/devices.h"
#include "core/engine/launch.h"
#include "core/engine/way_on.h"
#include "core/model/allocator.h"
#include "core/model/blas.h"
#include "plugins/planners/all.h"
#include "plugins/transports/control.h"
#ifdef SKIPPIPE_GLOO
#include "plugins/transports/gloo/gloo.h"
#endif
#include "plugins/transports/nccl/nccl.h"

namespace {

using namespace skippipe;

/// The line to the coordinator. Libraries print on standard output: it gets a descriptor of its own, and they get
/// standard error.
class StandardOutput final : public CoordinatorLink {
public:
    StandardOutput() : line_(::dup(STDOUT_FILENO)) { ::dup2(STDERR_FILENO, STDOUT_FILENO); }

    void send(const protocol::Message& message) override {
        const auto text = protocol::encode(message) + "\n";
        const std::lock_guard lock(mutex_);
        for (std::size_t sent = 0; sent < text.size();) {
            const auto n = ::write(line_, text.data() + sent, text.size() - sent);
            if (n < 0 && errno == EINTR) continue;
            if (n <= 0) return;  // the coordinator is gone, and this process ends with it
            sent += static_cast<std::size_t>(n);
        }
    }

private:
    std::mutex mutex_;
    int line_;
};

/// Reads commands beside the training. The worker dies with its coordinator, so a closed input means stop.
void read_commands(Commands& commands) {
    std::thread([&commands] {
        for (std::string line; std::getline(std::cin, line);) try {
                commands.put(protocol::decode_command(line));
            } catch (const InputError& error) {
                std::cerr << error.what() << '\n';
            }
        commands.put(protocol::Stop{});
    }).detach();
}

/// What a worker is made of, whatever its rank. Lives as long as the process.
struct Worker {
    StandardOutput coordinator;
    Commands commands;
    RankBackend& backend;
    PlannerRegistry planners;
    int rank = 0;

    explicit Worker(RankBackend& of) : backend(of) { register_planners(planners); }

    /// For what goes wrong where no session can say it.
    void fail(const Faults& faults) {
        if (rank == 0) return coordinator.send(protocol::Failed{faults});
        std::cerr << fmt::format("rank {}: {}\n", rank, faults.empty() ? "failed" : to_string(faults.front()));
    }
    RankPlace place(RankTransport& transport, int ranks_on_host) {
        RankPlace place{.transport = transport, .ranks_on_host = ranks_on_host, .planners = &planners};
        if (rank > 0) return place;
        read_commands(commands);
        place.coordinator = &coordinator;
        place.commands = &commands;
        return place;
    }
};

/// A rank is gone: rank 0 says so to its coordinator, the others on standard error, and this process ends.
[[noreturn]] void end_after_loss(Worker& worker, const LostRank& loss, const Work& work, const RankSchedule& schedule) {
    Faults faults = loss.faults;
    if (faults.empty()) {
        std::string nodes;
        for (const int node : schedule.nodes_of(loss.rank))
            nodes += (nodes.empty() ? "" : ", ") + work.problem.node_ids[static_cast<std::size_t>(node)];
        faults.push_back({fmt::format("rank {}", loss.rank),
                          fmt::format("rank {} is gone ({}): {}", loss.rank,
                                      nodes.empty() ? "its nodes are unknown" : "nodes " + nodes, loss.how),
                          "its part of the model is lost to this run",
                          "Look at its messages and its host, then start the run again"});
    }
    worker.fail(faults);
    std::quick_exit(worker.rank == 0 ? 0 : 3);
}

/// Before ranks connect.
void check_transport([[maybe_unused]] const Work& work) {
#ifndef SKIPPIPE_GLOO
    if (work.experiment.execution.transport != Transport::nccl)
        throw InputError("/execution/transport", "this build has no Gloo",
                         "Gloo's headers were not there when it was built, or it was built with SKIPPIPE_GLOO=OFF",
                         "Install libgloo-dev and build again; with a GPU for each rank set it to \"nccl\"");
#endif
}

/// What carries messages and sums beside `control`: Gloo, or the lane of the rank's GPU.
std::unique_ptr<RankTransport> carrier_beside(ControlTransport& control, const Work& work,
                                              const RankSchedule& schedule) {
#ifdef SKIPPIPE_GLOO
    if (work.experiment.execution.transport != Transport::nccl)
        return std::make_unique<GlooTransport>(control, schedule);
#endif
    const auto& topology = work.experiment.topology;
    std::vector<std::string> devices;
    for (const auto& node : topology.nodes) devices.push_back(node.device);
    const int gpu = gpu_of_rank(topology, schedule, control.rank(), devices);
    return std::make_unique<NcclTransport>(control, nccl(), make_cuda_queue(cuda_driver(), gpu), schedule);
}

/// A run that goes on was checked when it began.
bool checks_memory(const protocol::Job& job) {
    return kind_of(job) == JobKind::training && !job.ignore_memory && job.start_from.empty();
}

bool work_with_others(Worker& worker, const LaunchEnvironment& launch, const std::string& given_job) {
    Rendezvous rendezvous(launch);
    if (launch.rank == 0 && launch.master_port == 0) worker.coordinator.send(protocol::Listening{rendezvous.port()});
    const auto job = protocol::decode_job(rendezvous.share("job", given_job));
    try {
        auto work = understand(job);
        check_transport(work);
        const auto schedule = schedule_of(work);
        place_on_devices(work, schedule, launch.rank, {launch.local_rank, launch.local_world_size}, checks_memory(job),
                         gpus_and_free_memory);
        std::atomic<ControlTransport*> connected = nullptr;
        rendezvous.watch(
            [&](const LostRank& loss) {
                auto* others = connected.load();
                if (rendezvous.waits_to_be_taken_in()) std::quick_exit(0);  // the run is over
                if (!others || !others->lose(loss)) end_after_loss(worker, loss, work, schedule);
            },
            borne_silence_s(work.experiment.recovery));
        ControlTransport control(rendezvous);
        connected = &control;
        const auto transport = carrier_beside(control, work, schedule);
        auto place = worker.place(*transport, launch.local_world_size);
        place.failed = [&](const Faults& faults) {
            if (launch.rank == 0) return;
            worker.fail(faults);
            rendezvous.report_failed(faults);
        };
        if (!run_rank(job, work, schedule, worker.backend, place)) {
            std::cerr.flush();
            // Threads of the transport and the back end may still be at work: nothing is taken down under them.
            std::quick_exit(launch.rank == 0 ? 0 : 3);
        }
        rendezvous.leave();
        return true;
    } catch (const std::exception& error) {
        if (launch.rank > 0) rendezvous.report_failed(faults_of(std::current_exception(), kind_of(job)));
        throw;
    }
}

bool work_alone(Worker& worker, const std::string& line) {
    const auto job = protocol::decode_job(line);
    auto work = understand(job);
    if (work.experiment.execution.ranks != 1)
        throw InputError("RANK", "no rank", "a run of several ranks tells each which one it is",
                         "Start it with `skippipe run`, alone or under a launcher");
    LocalTransport transport;
    const auto schedule = schedule_of(work);
    place_on_devices(work, schedule, 0, {0, 1}, checks_memory(job), gpus_and_free_memory);
    return run_rank(job, work, schedule, worker.backend, worker.place(transport, 1));
}

/// Rank 0, and every run of one rank, is given its job on standard input; the others ask rank 0.
bool work(Worker& worker, const std::optional<LaunchEnvironment>& launch) {
    std::string line;
    if (worker.rank == 0 && !std::getline(std::cin, line)) {
        std::cerr << "skippipe-worker trains for `skippipe run`, which starts it; it is not called by hand\n";
        std::quick_exit(2);
    }
    // The others wait for the job, readable or not.
    if (launch && launch->world_size > 1) return work_with_others(worker, *launch, line);
    return work_alone(worker, line);
}

/// A rank has connections to each other one; the usual limit is meant for programs with few.
void allow_many_connections() {
    constexpr rlim_t many = 65'536;
    rlimit limit{};
    if (::getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= many) return;
    limit.rlim_cur = std::min(limit.rlim_max, many);
    ::setrlimit(RLIMIT_NOFILE, &limit);  // where it is refused, what cannot connect says so
}

}  // namespace

namespace skippipe {

void be_worker(char** arguments, RankBackend& backend) {
    allow_many_connections();
    take_better_blas_kernels(arguments);
    keep_freed_memory();
    prepare_blas();  // where the BLAS is not safe to share, its users fall back to one worker
    static Worker worker(backend);
    bool fine = false;
    try {
        const auto launch = launch_environment();
        worker.rank = launch ? launch->rank : 0;
        fine = work(worker, launch);
    } catch (...) {
        worker.fail(faults_of(std::current_exception()));
    }
    // The command reader may still wait for input: nothing is left to destroy that matters.
    std::quick_exit(worker.rank > 0 && !fine ? 3 : 0);
}

}  // namespace skippipe
