// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/checkpoint_writer.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/record/checkpoints.h"

namespace skippipe {

namespace fs = std::filesystem;

namespace {

/// A copy of what a rank writes.
struct Snapshot {
    std::vector<std::pair<int, StageState>> stages;
    std::vector<int> of_nobody;  ///< stages that have no node left: as the checkpoint before has them
    RoundingResiduals residuals;
};

}  // namespace

CheckpointWriter::CheckpointWriter(What what, const RankSchedule& schedule, ComputeBackend& compute,
                                   RankTransport& transport, Tell tell)
    : what_(std::move(what)),
      schedule_(schedule),
      compute_(compute),
      transport_(transport),
      tell_(std::move(tell)),
      newest_(what_.goes_back && what_.begins_with.empty() ? what_.begins_at - 1 : what_.begins_at),
      whole_(newest_),
      stages_(schedule.plan.stages),
      kept_(what_.begins_with) {}

CheckpointWriter::~CheckpointWriter() { wait_for_thread(); }

fs::path CheckpointWriter::folder() const { return what_.folder / checkpoint_name(newest_); }

void CheckpointWriter::committed(const TrainingPosition& position, const Plan& in_force, bool last) {
    stages_ = in_force.stages;
    if (what_.every <= 0) return;
    const int done = position.iterations_done;
    if (under_way_) settle(last);
    const bool first = begins_with_one();
    if (done > newest_ && (last || first || done % what_.every == 0)) {
        if (!under_way_)
            begin(position, in_force);
        else
            warn(fmt::format("the one after {} iterations is still being written", newest_),
                 fmt::format("the one after {} was left out", done), "Write them less often, or on a quicker disk");
    }
    if ((last || first) && under_way_) settle(true);
    if (last || first) wait_for_thread();
}

void CheckpointWriter::begin(const TrainingPosition& position, const Plan& in_force) {
    newest_ = position.iterations_done;
    under_way_ = true;
    const double begun_s = steady_s();
    auto manifest = what_.run;
    manifest.position = position;
    manifest.plan_json = to_json(in_force, what_.problem, nullptr).dump();
    const int rank = transport_.rank();
    const auto members = transport_.members();
    const auto is_there = [&](int node) {
        return std::binary_search(members.begin(), members.end(), schedule_.rank_of[static_cast<std::size_t>(node)]);
    };
    const auto copy = std::make_shared<Snapshot>();
    for (std::size_t stage = 0; stage < in_force.stages.size(); ++stage) {
        const auto& ring = in_force.stages[stage];
        const auto first = std::find_if(ring.begin(), ring.end(), is_there);
        if (first != ring.end() && schedule_.rank_of[static_cast<std::size_t>(*first)] == rank)
            copy->stages.emplace_back(static_cast<int>(stage), compute_.state(*first));
        if (first == ring.end() && rank == 0 && what_.computes) copy->of_nobody.push_back(static_cast<int>(stage));
    }
    copy->residuals = compute_.residuals();
    publish_ = [this, folder = folder(), manifest = std::move(manifest), begun_s, copied_s = steady_s()] {
        publish(folder, manifest, copied_s - begun_s, copied_s);
    };
    start([this, copy, rank, folder = folder(), publish = transport_.ranks() == 1 ? publish_ : nullptr] {
        fs::create_directories(folder);
        for (const int stage : copy->of_nobody) take_over_stage(kept_, folder, stage);
        for (auto& [stage, state] : copy->stages) write_stage(folder, stage, std::move(state));
        write_residuals(folder, rank, std::move(copy->residuals));
        if (publish) publish();
    });
}

/// A rank that is lost has not written its part: what was under way was never begun. Whether it was still under way,
/// rank 0 knows for all; who is new takes that over too.
void CheckpointWriter::regrouped() {
    if (what_.every <= 0) return;
    wait_for_thread();
    const auto given_up = folder();
    const bool was_under_way = std::exchange(under_way_, false);
    if (was_under_way) newest_ = whole_;
    newest_ = whole_ = static_cast<int>(transport_.all_gather({static_cast<double>(newest_)}).front().front());
    std::error_code ignored;
    if (was_under_way && transport_.rank() == 0) fs::remove_all(given_up, ignored);
}

std::string CheckpointWriter::newest() {
    wait_for_thread();
    return kept_.string();
}

/// Nodes of the stage that are here become what it was.
void CheckpointWriter::take(const fs::path& folder, const CheckpointManifest& manifest, const Plan& in_force,
                            int stage) {
    StageState state;
    for (const NodeIndex node : in_force.stages[static_cast<std::size_t>(stage)]) {
        if (schedule_.rank_of[static_cast<std::size_t>(node)] != transport_.rank()) continue;
        if (state.weights.empty()) state = read_stage(folder, manifest, stage);
        if (!state.weights.empty()) compute_.set_state(node, state);
    }
}

void CheckpointWriter::rebuild(const std::string& newest, int stage, const Plan& in_force) {
    take(newest, read_manifest(newest), in_force, stage);
}

TrainingPosition CheckpointWriter::go_back(const std::string& newest, const Plan& in_force) {
    const auto manifest = read_manifest(newest);
    for (std::size_t stage = 0; stage < in_force.stages.size(); ++stage)
        take(newest, manifest, in_force, static_cast<int>(stage));
    auto residuals = read_residuals(newest, manifest);
    if (manifest.plan_json != to_json(in_force, what_.problem, nullptr).dump()) residuals.messages.clear();
    compute_.set_residuals(residuals);
    newest_ = whole_ = manifest.position.iterations_done;
    auto position = manifest.position;
    position.validated = position.validated || newest_ == what_.begins_at;
    return position;
}

/// Where its folder is moved away, its files stay: links, or copies where the disk has none.
void CheckpointWriter::keep(const fs::path& folder, int iterations) {
    const auto kept = what_.folder / ("kept-" + checkpoint_name(iterations));
    std::error_code error;
    fs::remove_all(kept, error);
    fs::copy(folder, kept, fs::copy_options::recursive | fs::copy_options::create_hard_links, error);
    if (error) {
        fs::remove_all(kept, error);
        fs::copy(folder, kept);
    }
    const auto before = std::exchange(kept_, kept);
    if (before.parent_path() == what_.folder && before != kept) fs::remove_all(before, error);
}

/// Ranks say how far they are; where all have written, rank 0 makes it a checkpoint.
void CheckpointWriter::settle(bool wait) {
    if (wait) wait_for_thread();
    bool writing = false, failed = false;
    for (const auto& of_rank : transport_.all_gather({static_cast<double>(share())})) {
        if (of_rank.empty()) continue;  // it is not there
        writing = writing || of_rank[0] == static_cast<double>(Share::writing);
        failed = failed || of_rank[0] == static_cast<double>(Share::failed);
    }
    if (writing) return;
    under_way_ = false;
    const bool first = transport_.rank() == 0;
    if (!failed) {
        whole_ = newest_;
        if (first && transport_.ranks() > 1) start(publish_);
        return;
    }
    for (const auto& trouble : transport_.gather(trouble_))
        if (first && !trouble.empty()) {
            warn(trouble, "the training goes on; the checkpoints before it stay",
                 "Make room there, or make the folder writable: the next one is tried again");
            break;
        }
    std::error_code ignored;
    if (first) fs::remove_all(folder(), ignored);
}

void CheckpointWriter::publish(const fs::path& folder, const CheckpointManifest& of, double held_s, double copied_s) {
    try {
        const auto manifest = write_manifest(folder, of);
        if (transport_.ranks() > 1) keep(folder, manifest.position.iterations_done);
        {
            const std::lock_guard lock(mutex_);
            told_ = false;
        }
        tell_(protocol::Checkpointed{manifest.position.iterations_done, folder.string(), manifest.bytes(), held_s,
                                     steady_s() - copied_s});
    } catch (const std::exception& error) {
        warn(error.what(), "the training goes on; the checkpoints before it stay", "Look at that folder");
    }
}

void CheckpointWriter::start(std::function<void()> work) {
    wait_for_thread();
    share_ = Share::writing;
    thread_ = std::thread([this, work = std::move(work)]() mutable {
        std::string trouble;
        try {
            work();
        } catch (const std::exception& error) {
            trouble = error.what();
        }
        work = {};
        const std::lock_guard lock(mutex_);
        share_ = trouble.empty() ? Share::written : Share::failed;
        trouble_ = std::move(trouble);
    });
}

void CheckpointWriter::wait_for_thread() {
    if (thread_.joinable()) thread_.join();
}

CheckpointWriter::Share CheckpointWriter::share() const {
    const std::lock_guard lock(mutex_);
    return share_;
}

/// Once, until one has been written again.
void CheckpointWriter::warn(const std::string& what, const std::string& why, const std::string& remedy) {
    if (!tell_) return;
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(told_, true)) return;
    }
    tell_(protocol::Warned{{"checkpoint", what, why, remedy, Fault::Severity::warning}});
}

}  // namespace skippipe
