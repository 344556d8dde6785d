// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "core/run/checkpoint.h"
#include "core/run/messages.h"

namespace skippipe {

/// One rank's share of a run's checkpoints. At a commit point it takes a copy of what the rank's nodes are; a thread of
/// its own writes that while the training goes on. Of each stage the rank of its first node writes; once all ranks have
/// said that their files are on the disk, rank 0 writes the manifest and tells. One is under way at a time: where the
/// disk is slower than the training, one is left out; where a rank is lost meanwhile, it is given up, and can be begun
/// again. What fails is told as a warning, and the training goes on. The newest one that is whole stays where all ranks
/// find it again, so that they can go back to it together.
class CheckpointWriter final : public CommitListener {
public:
    struct What {
        const Problem& problem;
        std::filesystem::path folder;            ///< where each gets a folder of its own, seen by all ranks
        int every = 0;                           ///< iterations; besides, where the training ends. 0: none at all
        int begins_at = 0;                       ///< iterations done at the start
        CheckpointManifest run;                  ///< what is the same in all manifests
        std::filesystem::path begins_with = {};  ///< the one after `begins_at`, where there is one already
        bool goes_back = false;                  ///< the start is one too: written before the first iteration begins
        bool computes = true;                    ///< false: stages have no weights
    };
    using Tell = std::function<void(const protocol::Message&)>;

    /// `schedule`: which nodes are whose. `tell` is empty but on rank 0. All outlive it.
    CheckpointWriter(What what, const RankSchedule& schedule, ComputeBackend& compute, RankTransport& transport,
                     Tell tell);
    ~CheckpointWriter() override;

    /// Whether the start is to become a checkpoint.
    bool begins_with_one() const { return newest_ < what_.begins_at; }
    void committed(const TrainingPosition& position, const Plan& in_force, bool last) override;
    /// Who held which stage at the last commit point.
    const PerStage<std::vector<NodeIndex>>& stages() const { return stages_; }
    void regrouped() override;
    std::string newest() override;
    void rebuild(const std::string& newest, int stage, const Plan& in_force) override;
    TrainingPosition go_back(const std::string& newest, const Plan& in_force) override;

private:
    enum class Share { writing, written, failed };

    void begin(const TrainingPosition& position, const Plan& in_force);
    void settle(bool wait);
    void take(const std::filesystem::path& folder, const CheckpointManifest& manifest, const Plan& in_force, int stage);
    void keep(const std::filesystem::path& folder, int iterations);
    void publish(const std::filesystem::path& folder, const CheckpointManifest& of, double held_s, double copied_s);
    void start(std::function<void()> work);
    void wait_for_thread();
    Share share() const;
    void warn(const std::string& what, const std::string& why, const std::string& remedy);
    std::filesystem::path folder() const;

    const What what_;
    const RankSchedule& schedule_;
    ComputeBackend& compute_;
    RankTransport& transport_;
    const Tell tell_;

    // Known to all ranks alike.
    bool under_way_ = false;
    int newest_;  ///< iterations of the newest that was begun
    int whole_;   ///< of the newest that all have written their share of
    PerStage<std::vector<NodeIndex>> stages_;

    std::function<void()> publish_;  ///< makes the one under way a checkpoint
    std::filesystem::path kept_;     ///< on rank 0: the newest that all find

    mutable std::mutex mutex_;
    Share share_ = Share::written;
    std::string trouble_;  ///< of the share that failed
    bool told_ = false;    ///< that something is wrong
    std::thread thread_;
};

}  // namespace skippipe
