// SPDX-License-Identifier: GPL-3.0-or-later
// Trains one job for its coordinator: reads it from standard input, answers on standard output
// (core/engine/protocol.h).
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <sys/utsname.h>
#include <torch/version.h>

#include "core/data/batches.h"
#include "core/engine/protocol.h"
#include "core/engine/launch.h"
#include "core/engine/trainer.h"
#include "core/engine/wall_trainer.h"
#include "core/experiment/io.h"
#include "core/model/allocator.h"
#include "core/model/blas.h"
#include "core/model/llama_weights.h"
#include "core/model/probe.h"
#include "core/model/torch_compute.h"
#include "core/model/torch_rank.h"
#ifdef SKIPPIPE_GLOO
#include "plugins/transports/gloo.h"
#endif

namespace {

using namespace skippipe;

/// Peak resident memory of this process.
std::int64_t peak_memory_bytes() {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("VmHWM:", 0) == 0) return std::stoll(line.substr(6)) * 1024;
    return 0;
}

/// From the training thread and from the one that watches the other ranks.
void say(const protocol::Message& message) {
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    std::cout << protocol::encode(message) << std::endl;
}

/// Commands of the coordinator, read beside the training. It dies with its coordinator, so a closed input means stop.
class Commands {
public:
    Commands() : reader_([this] { read(); }) { reader_.detach(); }

    /// Blocks while paused; true: stop.
    bool stop() {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [this] { return stop_ || !paused_; });
        return stop_;
    }

    /// The last plan that came since the last call; empty: none did.
    std::string take_plan() {
        const std::lock_guard lock(mutex_);
        return std::exchange(plan_, {});
    }

    /// Whether a stop was asked for; does not wait.
    bool told_to_stop() {
        const std::lock_guard lock(mutex_);
        return stop_;
    }

private:
    void read() {
        for (std::string line; std::getline(std::cin, line);) set(line);
        set("stop");
    }
    void set(const std::string& command) {
        const std::lock_guard lock(mutex_);
        if (command == "stop") stop_ = true;
        if (command == "pause") paused_ = true;
        if (command == "resume") paused_ = false;
        if (command.starts_with(plan_command)) plan_ = command.substr(plan_command.size());
        changed_.notify_all();
    }

    static constexpr std::string_view plan_command = "plan ";

    std::mutex mutex_;
    std::condition_variable changed_;
    bool stop_ = false, paused_ = false;
    std::string plan_;
    std::thread reader_;
};

class Reporter final : public TrainingListener {
public:
    explicit Reporter(Commands& commands) : commands_(commands) {}
    void validated(int done, double network_s, double machine_s, std::int64_t tokens,
                   const ValidationResult& result) override {
        say(protocol::Validated{done, network_s, machine_s, tokens, result});
    }
    void iterated(const IterationReport& r) override {
        say(protocol::Iterated{r.iteration, r.offset_s, r.timeline->iteration_s, r.machine_s, r.tokens, r.result,
                               r.timeline->spans});
    }
    bool stop() override { return stopped_ = commands_.stop(); }
    std::string next_plan() override { return commands_.take_plan(); }
    void went_over(int iteration) override { say(protocol::WentOver{iteration}); }
    bool stopped() const { return stopped_; }

private:
    Commands& commands_;
    bool stopped_ = false;
};

/// Ends the preparation where a stop is asked for.
struct Stopped {};

/// Says twice a second how far reading the data has come; what takes less is not spoken of.
class Preparation {
public:
    explicit Preparation(Commands& commands) : commands_(commands) {}
    void tell(const std::string& what, double share) {
        if (commands_.told_to_stop()) throw Stopped{};
        const auto now = std::chrono::steady_clock::now();
        if (now < next_) return;
        next_ = now + std::chrono::milliseconds(500);
        say(protocol::Preparing{what, share});
    }

private:
    Commands& commands_;
    std::chrono::steady_clock::time_point next_ = std::chrono::steady_clock::now() + std::chrono::milliseconds(500);
};

struct Work {
    Experiment experiment;
    Problem problem;
    Plan plan;
};

Work understand(const protocol::Job& job) {
    auto parsed = parse_experiment(job.experiment_json);
    if (has_errors(parsed.faults)) throw InputError(parsed.faults);
    Work work{std::move(parsed.experiment), {}, {}};
    if (auto& initial = work.experiment.training.initial_weights; !initial.empty())
        initial = (std::filesystem::path(job.base_dir) / initial).string();
    work.problem = make_problem(work.experiment);
    Faults faults;
    work.plan = parse_plan(parse_json(job.plan_json, faults), work.problem, faults);
    if (has_errors(faults)) throw InputError(faults);
    return work;
}

/// What is trained on; stops where it is told to, with `commands`.
Batches make_batches(const Experiment& experiment, const protocol::Job& job, protocol::Hello& hello,
                     Commands* commands) {
    auto dataset = open_dataset(experiment.data, job.base_dir);
    hello.data = dataset.description;
    Progress tell;
    if (commands)
        tell = [preparation = Preparation(*commands)](const std::string& what, double share) mutable {
            preparation.tell(what, share);
        };
    return {std::move(dataset), experiment.data, batch_shape(experiment), experiment.seed, tell};
}

/// What of the trained model is asked for at the end.
void save_weights(const protocol::Job& job, const Work& work,
                  const std::function<std::vector<float>(int stage)>& weights) {
    if (!job.save_weights.empty()) save_llama(job.save_weights, work.experiment.model, work.plan.blocks, weights);
}

/// Each stage's weights on rank 0, from the rank of its first node; elsewhere empty. Every rank calls it.
std::vector<std::vector<float>> gather_weights(const TorchRank& torch, const RankSchedule& schedule,
                                               RankTransport& transport) {
    std::vector<std::vector<float>> stages(schedule.plan.stages.size());
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
        const int node = schedule.plan.stages[stage].front(), owner = schedule.rank_of[static_cast<std::size_t>(node)];
        auto& values = stages[stage];
        if (owner == transport.rank()) values = torch.weights(node);
        if (owner == 0) continue;
        const auto sizes = transport.all_gather({static_cast<double>(values.size())});
        if (transport.rank() == owner) transport.send_to(0, std::as_bytes(std::span(values)));
        if (transport.rank() == 0) {
            values.resize(static_cast<std::size_t>(sizes[static_cast<std::size_t>(owner)].front()));
            transport.receive_from(owner, std::as_writable_bytes(std::span(values)));
        } else {
            values.clear();
        }
    }
    return stages;
}

protocol::Hello make_hello(const Experiment& experiment) {
    protocol::Hello hello{.versions_json = "{}", .data = "none: compute is cost"};
    if (experiment.execution.compute == Compute::cost) return hello;
    hello.blas_gflops = measure_blas_gflops();
    hello.versions_json = nlohmann::json{{"libtorch", TORCH_VERSION}}.dump();
    return hello;
}

void train_virtual(const protocol::Job& job, const Work& work) {
    auto hello = make_hello(work.experiment);
    Commands commands;
    std::unique_ptr<TorchCompute> torch;
    CostCompute cost;
    if (work.experiment.execution.compute == Compute::torch)
        torch = std::make_unique<TorchCompute>(work.experiment, work.plan,
                                               make_batches(work.experiment, job, hello, &commands),
                                               work.experiment.seed, job.threads);
    ComputeBackend& compute = torch ? static_cast<ComputeBackend&>(*torch) : cost;
    Reporter reporter(commands);
    say(hello);
    train(work.experiment, work.problem, work.plan, compute, reporter);
    if (torch)
        save_weights(job, work, [&](int stage) {
            return torch->weights(work.plan.stages[static_cast<std::size_t>(stage)].front());
        });
    say(protocol::Done{reporter.stopped(), peak_memory_bytes()});
}

std::string host_name() {
    utsname system{};
    ::uname(&system);
    return system.nodename;
}

/// Speeds of this rank's nodes while all ranks compute, then of the links while nobody does.
void probe_rank(const Work& work, const RankSchedule& schedule, RankTransport& transport, int workers) {
    RankProbe probe{.host = host_name(), .cores = static_cast<int>(std::thread::hardware_concurrency())};
    transport.all_gather({0});
    const auto together = [&] { transport.all_gather({0}); };
    if (work.experiment.execution.compute == Compute::torch)
        measure_nodes(work.experiment, schedule, workers, together, transport.rank(), probe);
    together();
    probe.links = measure_links(transport);
    if (transport.ranks() > 1) probe.iteration_cpu_s = rehearse(work.problem, schedule, transport, workers);
    probe.handover_s = measure_handover();
    probe.copy_bytes_per_s = measure_copy_bytes_per_s();
    auto ranks = transport.gather(to_json_text(probe));
    if (transport.rank() != 0) return;
    say(protocol::Probed{std::move(ranks)});
    say(protocol::Done{});
}

/// The share of this rank; rank 0 talks to the coordinator.
void train_rank(const protocol::Job& job, const Work& work, const RankSchedule& schedule, RankTransport& transport,
                int ranks_on_host) {
    const int rank = transport.rank();
    if (const auto why = find_deadlock(work.problem, schedule))
        throw InputError("/execution/ranks", "the order of transfers between ranks comes to a deadlock: " + *why,
                         "every rank posts them in one order", "Plan again, or use another number of ranks");
    const int workers = job.threads > 0 ? job.threads : default_workers(work.experiment, schedule, rank, ranks_on_host);
    if (job.probe) return probe_rank(work, schedule, transport, workers);
    auto hello = make_hello(work.experiment);
    std::optional<Commands> commands;
    if (rank == 0) commands.emplace();
    CostRankCompute cost(work.problem, schedule, rank);
    std::unique_ptr<TorchRank> torch;
    if (work.experiment.execution.compute == Compute::torch) {
        std::optional<Batches> batches;
        if (TorchRank::needs_data(schedule, rank))
            batches = make_batches(work.experiment, job, hello, commands ? &*commands : nullptr);
        torch = std::make_unique<TorchRank>(work.experiment, schedule, rank, std::move(batches), workers);
    }
    RankCompute& compute = torch ? static_cast<RankCompute&>(*torch) : cost;
    const auto described = transport.gather(hello.data);
    const auto hosts = transport.gather(host_name());
    const auto sizes =
        transport.all_gather({static_cast<double>(std::thread::hardware_concurrency()), static_cast<double>(workers)});
    const bool saves = torch && !job.save_weights.empty();
    if (rank != 0) {
        train_wall(work.experiment, work.problem, schedule, compute, transport, workers, nullptr);
        if (saves) gather_weights(*torch, schedule, transport);
        return;
    }
    hello.data = described.at(
        static_cast<std::size_t>(schedule.rank_of[static_cast<std::size_t>(schedule.plan.stages.front().front())]));
    for (std::size_t r = 0; r < hosts.size(); ++r)
        hello.machines.push_back({hosts[r], static_cast<int>(sizes[r][0]), static_cast<int>(sizes[r][1])});
    Reporter reporter(*commands);
    say(hello);
    train_wall(work.experiment, work.problem, schedule, compute, transport, workers, &reporter);
    if (saves) {
        const auto stages = gather_weights(*torch, schedule, transport);
        save_weights(job, work, [&](int stage) { return stages[static_cast<std::size_t>(stage)]; });
    }
    say(protocol::Done{reporter.stopped(), peak_memory_bytes()});
}

RankSchedule schedule_of(const Work& work) {
    const int ranks = work.experiment.execution.ranks;
    return make_schedule(work.problem, work.plan, assign_ranks(work.experiment.topology, work.plan, ranks), ranks);
}

#ifdef SKIPPIPE_GLOO
/// A rank is gone: rank 0 says so to its coordinator, the others on standard error, and this process ends.
[[noreturn]] void end_after_loss(const Loss& loss, const Work& work, const RankSchedule& schedule, int rank) {
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
    if (rank == 0)
        say(protocol::Failed{faults});
    else
        std::cerr << fmt::format("rank {}: {}\n", rank, to_string(faults.front()));
    std::quick_exit(rank == 0 ? 0 : 3);
}

void train_ranks(const LaunchEnvironment& launch, const std::string& given_job) {
    Rendezvous rendezvous(launch);
    if (launch.rank == 0 && launch.master_port == 0) say(protocol::Listening{rendezvous.port()});
    const auto line = rendezvous.share("job", given_job);
    const auto job = protocol::decode_job(line);
    try {
        const auto work = understand(job);
        const auto schedule = schedule_of(work);
        rendezvous.watch([&](const Loss& loss) { end_after_loss(loss, work, schedule, launch.rank); }, 5);
        GlooTransport transport(rendezvous, schedule);
        train_rank(job, work, schedule, transport, launch.local_world_size);
        rendezvous.leave();
    } catch (const InputError& error) {
        if (launch.rank > 0) rendezvous.report_failed(error.faults());
        throw;
    } catch (const std::exception& error) {
        if (launch.rank > 0)
            rendezvous.report_failed(
                {{fmt::format("rank {}", launch.rank), error.what(), "training cannot go on", "See the message"}});
        throw;
    }
}
#endif

void work_off(const std::string& line, const std::optional<LaunchEnvironment>& launch) {
#ifdef SKIPPIPE_GLOO
    // The others wait for the job, readable or not.
    if (launch && launch->world_size > 1) return train_ranks(*launch, line);
#endif
    const auto job = protocol::decode_job(line);
    const auto work = understand(job);
    if (work.experiment.execution.clock == Clock::virtual_time) return train_virtual(job, work);
    if (work.experiment.execution.ranks == 1) {
        LocalTransport transport;
        return train_rank(job, work, schedule_of(work), transport, 1);
    }
#ifdef SKIPPIPE_GLOO
    throw InputError("RANK", "no rank", "a run of several ranks tells each which one it is",
                     "Start it with `skippipe run`, alone or under a launcher");
#else
    throw InputError("/execution/transport", "this build has no Gloo", "its headers were not there when it was built",
                     "Install libgloo-dev and build again");
#endif
}

/// Rank 0, and every run of one rank, is given its job on standard input; the others ask rank 0.
void work(const std::optional<LaunchEnvironment>& launch) {
#ifdef SKIPPIPE_GLOO
    if (launch && launch->rank > 0) return train_ranks(*launch, "");
#endif
    std::string line;
    if (!std::getline(std::cin, line)) {
        std::cerr << "skippipe-worker trains for `skippipe run`, which starts it; it is not called by hand\n";
        std::quick_exit(2);
    }
    work_off(line, launch);
}

}  // namespace

int main() {
    keep_freed_memory();
    prepare_blas();  // where the BLAS is not safe to share, its users fall back to one worker
    int rank = 0;
    bool failed = false;
    const auto fail = [&](const Faults& faults) {
        failed = true;
        if (rank == 0) return say(protocol::Failed{faults});
        std::cerr << fmt::format("rank {}: {}\n", rank, faults.empty() ? "failed" : to_string(faults.front()));
    };
    try {
        const auto launch = launch_environment();
        rank = launch ? launch->rank : 0;
        work(launch);
    } catch (const InputError& error) {
        fail(error.faults());
    } catch (const std::exception& error) {
        fail({{"training", error.what(), "training cannot go on",
               "See the message; with less memory or another device try a smaller model"}});
    }
    std::cout.flush();
    // The command reader may still wait for input: nothing is left to destroy that matters.
    std::quick_exit(rank > 0 && failed ? 3 : 0);
}
