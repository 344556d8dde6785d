// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/session.h"

#include <algorithm>
#include <thread>
#include <utility>

#include <fmt/format.h>

#include "core/base/index.h"
#include "core/device/gpus.h"
#include "core/engine/build_id.h"
#include "core/engine/cost_compute.h"
#include "core/engine/wall_clock.h"
#include "core/experiment/io.h"
#include "core/engine/launch.h"
#include "core/run/checkpoint_writer.h"
#include "core/run/session_reports.h"

namespace skippipe {

namespace {

/// Each stage's weights on rank 0, from the rank of its first node that is there; elsewhere empty. Every rank calls it.
/// `rings`: who holds which stage.
std::vector<std::vector<float>> gather_weights(const ComputeBackend& compute, const RankSchedule& schedule,
                                               const PerStage<std::vector<NodeIndex>>& rings,
                                               RankTransport& transport) {
    std::vector<std::vector<float>> stages(rings.size());
    const auto members = transport.members();
    for (std::size_t stage = 0; stage < stages.size(); ++stage) {
        const auto& ring = rings[stage];
        const auto first = std::find_if(ring.begin(), ring.end(), [&](NodeIndex n) {
            return std::binary_search(members.begin(), members.end(), schedule.rank_of[at(n)]);
        });
        const NodeIndex node = *first;  // a training ends where a stage has none left
        const int owner = schedule.rank_of[at(node)];
        auto& values = stages[stage];
        if (owner == transport.rank()) values = compute.weights(node);
        if (owner == 0) continue;
        const auto sizes = transport.all_gather({static_cast<double>(values.size())});
        if (transport.rank() == owner) transport.send_to(0, std::as_bytes(std::span(values)));
        if (transport.rank() == 0) {
            values.resize(static_cast<std::size_t>(sizes[at(owner)].front()));
            transport.receive_from(owner, std::as_writable_bytes(std::span(values)));
        } else {
            values.clear();
        }
    }
    return stages;
}

/// Whether data are those of a checkpoint, as far as its manifest says.
bool same_data(const std::string& data, const std::string& of_checkpoint) {
    const bool hashed = of_checkpoint.find(data_hash_mark) != std::string::npos;
    return (hashed ? data : data.substr(0, data.rfind(data_hash_mark))) == of_checkpoint;
}

class RankSession {
public:
    RankSession(const protocol::Job& job, const Work& work, const RankSchedule& schedule, RankBackend& backend,
                const RankPlace& place)
        : job_(job),
          work_(work),
          schedule_(schedule),
          backend_(backend),
          place_(place),
          transport_(place.transport),
          comes_back_(place.transport.must_regroup()),
          workers_(job.threads > 0
                       ? job.threads
                       : default_workers(work.experiment, schedule, transport_.rank(), place.ranks_on_host)) {
        if (place.coordinator) pulse_.emplace(*place.coordinator);
    }

    bool run() {
        try {
            if (const auto why = find_deadlock(work_.problem, schedule_))
                throw InputError("/execution/ranks",
                                 "the order of transfers between ranks comes to a deadlock: " + *why,
                                 "every rank posts them in one order", "Plan again, or use another number of ranks");
            switch (kind_of(job_)) {
                case JobKind::training: train(); break;
                case JobKind::probe: probe(); break;
                case JobKind::evaluation: evaluate(); break;
            }
            return true;
        } catch (const Stopped&) {
            say(protocol::Done{true, backend_.peak_memory_bytes()});
            return true;
        } catch (...) {
            report(std::current_exception());
            transport_.abort();
            return false;
        }
    }

private:
    void say(const protocol::Message& message) {
        if (place_.coordinator) place_.coordinator->send(message);
    }

    void report(const std::exception_ptr& error) {
        if (std::exchange(reported_, true)) return;
        const auto faults = faults_of(error, kind_of(job_));
        say(protocol::Failed{faults});
        if (place_.failed) place_.failed(faults);
    }

    bool computes() const { return work_.experiment.execution.compute == Compute::torch; }

    void probe() {
        RankProbe probe{.host = host_name(), .cores = static_cast<int>(std::thread::hardware_concurrency())};
        transport_.all_gather({0});
        const auto together = [&] { transport_.all_gather({0}); };
        if (computes()) backend_.measure_nodes(work_, schedule_, workers_, together, transport_.rank(), probe);
        together();
        probe.links = measure_links(transport_);
        probe.connection = measure_connection(transport_, connections_of(transport_), probe.links);
        if (transport_.ranks() > 1) probe.iteration_cpu_s = rehearse(work_.problem, schedule_, transport_, workers_);
        probe.handover_s = measure_handover();
        if (probe.copy_bytes_per_s <= 0) probe.copy_bytes_per_s = measure_copy_bytes_per_s();
        auto ranks = transport_.gather(to_json_text(probe));
        if (transport_.rank() != 0) return;
        say(protocol::Probed{std::move(ranks)});
        say(protocol::Done{});
    }

    void evaluate() {
        say(backend_.evaluate(job_, work_, workers_, preparation(place_.coordinator, place_.commands)));
        say(protocol::Done{false, backend_.peak_memory_bytes()});
    }

    protocol::Hello make_compute() {
        protocol::Hello hello{.build = build_id(), .versions_json = "{}", .data = "none: compute is cost"};
        if (!computes()) {
            compute_ = std::make_unique<CostCompute>(work_.problem, schedule_, workers_);
        } else {
            hello.blas_gflops = backend_.blas_gflops();
            hello.versions_json = backend_.versions_json();
            auto made = backend_.make(job_, work_, schedule_, transport_.rank(), workers_,
                                      preparation(place_.coordinator, place_.commands));
            compute_ = std::move(made.compute);
            hello.data = made.data;
        }
        if (work_.experiment.execution.clock == Clock::virtual_time || comes_back_) return hello;
        // What a rank runs on is measured against a prediction.
        const auto described = transport_.gather(hello.data), hosts = transport_.gather(host_name());
        std::vector<double> own{static_cast<double>(std::thread::hardware_concurrency()),
                                static_cast<double>(workers_)};
        const auto& nodes = work_.experiment.topology.nodes;
        for (std::size_t node = 0; node < nodes.size(); ++node) {
            const bool here = computes() && schedule_.rank_of[node] == transport_.rank();
            own.push_back(here ? device_number(nodes[node].device, "device") : no_gpu);
        }
        const auto sizes = transport_.all_gather(own);
        if (transport_.rank() != 0) return hello;
        hello.data = described.at(at(schedule_.rank_of[at(schedule_.plan.stages.front().front())]));
        for (std::size_t r = 0; r < hosts.size(); ++r) {
            auto& machine = hello.machines.emplace_back(
                protocol::RankMachine{hosts[r], static_cast<int>(sizes[r][0]), static_cast<int>(sizes[r][1])});
            for (std::size_t node = 0; node < nodes.size(); ++node)
                if (const int gpu = static_cast<int>(sizes[r][node + 2]); gpu >= 0)
                    machine.gpus.emplace(static_cast<int>(node), gpu);
        }
        return hello;
    }

    void train() {
        const auto hello = make_compute();
        auto start = comes_back_ ? TrainingStart{} : start_position(hello.data);
        if (!comes_back_) require_shared_folder();
        CheckpointWriter checkpoints(
            what_to_keep(start.position, hello.data), schedule_, *compute_, transport_,
            place_.coordinator ? [this](const protocol::Message& m) { say(m); } : CheckpointWriter::Tell{});
        start.commits = &checkpoints;
        start.commit_first = checkpoints.begins_with_one();
        const auto meter = make_meter();
        start.meter = meter.get();
        if (place_.planners) start.planner = place_.planners->find(work_.plan.planner);
        const auto failed = [this](std::exception_ptr error) { report(error); };
        std::optional<Spokesman> spokesman;
        if (place_.coordinator) spokesman.emplace(work_.problem, *place_.coordinator, *place_.commands);
        say(hello);
        skippipe::train(work_.experiment, work_.problem, schedule_, *compute_, transport_,
                        spokesman ? &*spokesman : nullptr, spokesman ? &*spokesman : nullptr, failed, start);
        const bool saved = computes() && !job_.save_weights.empty() && save_weights(checkpoints.stages());
        if (spokesman) say(protocol::Done{spokesman->stopped(), backend_.peak_memory_bytes(), saved});
    }

    /// On every rank or on none: null where no node is on a GPU.
    std::unique_ptr<DeviceMeter> make_meter() const {
        if (!uses_gpus(work_.experiment)) return nullptr;
        return std::make_unique<DeviceMeter>(
            devices_of(work_.experiment, schedule_, transport_.rank(), host_name(), place_.gpus.attached().list),
            place_.gpus.read, place_.read_gpus_every);
    }

    /// From a checkpoint: what this rank's nodes are, and where the training stands.
    TrainingStart start_position(const std::string& data) {
        if (job_.start_from.empty()) return {};
        const auto manifest = read_manifest(job_.start_from);
        const auto& stages = work_.plan.stages;
        for (std::size_t stage = 0; stage < stages.size(); ++stage) {
            StageState state;
            for (const int node : stages[stage]) {
                if (schedule_.rank_of[at(node)] != transport_.rank()) continue;
                if (state.weights.empty()) state = read_stage(job_.start_from, manifest, static_cast<int>(stage));
                if (!state.weights.empty()) compute_->set_state(node, state);
            }
        }
        auto residuals = read_residuals(job_.start_from, manifest);
        if (!job_.residuals) residuals.messages.clear();
        compute_->set_residuals(residuals);
        if (!data.empty() && !same_data(data, manifest.data) && transport_.rank() == 0)
            say(protocol::Warned{{"data", "they are not those of the checkpoint: " + data, "it was " + manifest.data,
                                  "Losses go on as if the data had always been these", Fault::Severity::warning}});
        auto position = manifest.position;
        position.validated = position.validated && !job_.new_run;
        if (job_.new_run)  // another run has failures of its own
            position.members = {.squared_norms = std::move(position.members.squared_norms),
                                .learning_rates = std::move(position.members.learning_rates)};
        for (const auto& absent : position.members.absent)
            if (absent.node < 0 || absent.node >= work_.problem.nodes())
                throw InputError(job_.start_from, fmt::format("node {} is absent", absent.node),
                                 fmt::format("the experiment has {}", work_.problem.nodes()),
                                 "Go on from an earlier checkpoint of this run, or start it anew");
        return {position, job_.new_run, nullptr};
    }

    CheckpointWriter::What what_to_keep(const TrainingPosition& start, const std::string& data) const {
        CheckpointManifest run;
        run.build = build_id();
        run.experiment_json = job_.experiment_json;
        run.data = data;
        run.base_dir = job_.base_dir;
        run.save_weights = job_.save_weights;
        run.threads = job_.threads;
        run.calibrate = job_.calibrate;
        const auto& recovery = work_.experiment.recovery;
        return {work_.problem,
                job_.checkpoints,
                job_.checkpoints.empty() ? 0 : work_.experiment.training.checkpoint_every,
                start.iterations_done,
                std::move(run),
                job_.start_from,
                transport_.ranks() > 1 &&
                    (recovery.policy == RecoveryPolicy::restart || recovery.rebuild != StageRebuild::disk),
                computes()};
    }

    /// Every rank writes its stages into one folder.
    void require_shared_folder() {
        if (job_.checkpoints.empty() || transport_.ranks() == 1) return;
        const auto seen = transport_.all_gather({std::filesystem::exists(job_.checkpoints) ? 1.0 : 0.0});
        for (std::size_t rank = 0; rank < seen.size(); ++rank)
            if (seen[rank][0] == 0)
                throw InputError("/training/checkpoint_every",
                                 fmt::format("rank {} does not see the folder {}", rank, job_.checkpoints),
                                 "every rank writes the checkpoints of its stages there",
                                 "Keep the record on a file system that all hosts share (--db), or set "
                                 "training.checkpoint_every to 0");
    }

    /// False where a stage has no node left: then there is nothing whole to save.
    bool save_weights(const PerStage<std::vector<NodeIndex>>& rings) {
        const auto members = transport_.members();
        for (std::size_t stage = 0; stage < rings.size(); ++stage)
            if (const auto& ring = rings[stage]; std::none_of(ring.begin(), ring.end(), [&](NodeIndex node) {
                    return std::binary_search(members.begin(), members.end(), schedule_.rank_of[at(node)]);
                })) {
                say(protocol::Warned{{"--save-weights", fmt::format("stage {} has no node left", stage),
                                      "the training ended without that stage's weights",
                                      "`skippipe resume` goes on from the newest checkpoint",
                                      Fault::Severity::warning}});
                return false;
            }
        const auto stages = gather_weights(*compute_, schedule_, rings, transport_);
        if (transport_.rank() == 0)
            backend_.save_weights(job_.save_weights, work_, [&](int stage) { return stages[at(stage)]; });
        return true;
    }

    const protocol::Job& job_;
    const Work& work_;
    const RankSchedule& schedule_;
    RankBackend& backend_;
    const RankPlace& place_;
    RankTransport& transport_;
    bool comes_back_;  ///< the others train already, and do not wait for this rank
    int workers_;
    bool reported_ = false;
    std::optional<Pulse> pulse_;
    std::unique_ptr<ComputeBackend> compute_;
};

}  // namespace

protocol::Evaluated RankBackend::evaluate(const protocol::Job&, const Work&, int, const TellProgress&) {
    throw std::logic_error("this back end evaluates nothing");
}

bool run_rank(const protocol::Job& job, const Work& work, const RankSchedule& schedule, RankBackend& backend,
              const RankPlace& place) {
    return RankSession(job, work, schedule, backend, place).run();
}

}  // namespace skippipe
