// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/run/session.h"

namespace skippipe {

/// LibTorch, for a rank's session.
class TorchBackend final : public RankBackend {
public:
    std::string versions_json() const override;
    double blas_gflops() const override;
    std::int64_t peak_memory_bytes() const override;
    Made make(const protocol::Job& job, const Work& work, const RankSchedule& schedule, int rank, int workers,
              const TellProgress& tell) override;
    void measure_nodes(const Work& work, const RankSchedule& schedule, int workers,
                       const std::function<void()>& together, int rank, RankProbe& probe) override;
    protocol::Evaluated evaluate(const protocol::Job& job, const Work& work, int workers,
                                 const TellProgress& tell) override;
    void save_weights(const std::filesystem::path& file, const Work& work,
                      const std::function<std::vector<float>(int stage)>& weights_of_stage) override;
};

}  // namespace skippipe
