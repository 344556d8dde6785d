// SPDX-License-Identifier: GPL-3.0-or-later
// Losses of nodes as a run recorded them, and what they cost it. Pure: values in, values out.
#pragma once
#include <optional>
#include <vector>

#include "core/record/record.h"

namespace skippipe {

/// Nodes that were lost together, and what was done about it. Network time from the run's start.
struct Loss {
    int iteration = 0, nodes = 0;
    double begin_s = 0;  ///< when the first of them was lost; where ranks met anew: the iteration's start
    double end_s = 0;    ///< when it was known and planned again; where ranks met anew: the next iteration's start
    double detection_s = 0;
    double replanning_s = 0;           ///< machine time
    std::optional<double> recovery_s;  ///< from the loss to the next iteration, where ranks met anew
    int redone_operations = 0;         ///< that had to run again
    int lost_gradients = 0;            ///< more gradients that the iteration goes without (below 0: fewer)
    bool begun_again = false;          ///< the iteration was, without them
    bool operator==(const Loss&) const = default;
};

/// By time, from the metrics in the order in which they were recorded.
std::vector<Loss> losses_of(const std::vector<Metric>& metrics);

/// Nodes that came back fetched weights and AdamW's state, side by side, or their stage started anew.
struct Refetch {
    int iteration = 0;   ///< the first with them
    double seconds = 0;  ///< until all of them had what they need: network time, or where ranks met anew time there
    bool operator==(const Refetch&) const = default;
};

/// By iteration; of an iteration that was begun again, or gone back to, the last of them.
std::vector<Refetch> refetches_of(const std::vector<Metric>& metrics);

/// Network time from the run's start in which no iteration ran that counts: from the end of one to where the next one
/// was begun for the last time.
struct LostTime {
    enum class Why { begun_again, went_back, waited };

    double begin_s = 0, end_s = 0;
    int iteration = 0;  ///< that comes after it
    Why why = Why::waited;
    int iterations_again = 0;  ///< went_back: done before, and done again
    bool operator==(const LostTime&) const = default;
};

/// By time, from the metrics in the order in which they were recorded.
std::vector<LostTime> lost_times_of(const std::vector<Metric>& metrics);

/// What all losses of a run did to it.
struct LossAccount {
    int nodes = 0;       ///< lost, each time counted
    int iterations = 0;  ///< in which something was lost
    int begun_again = 0;
    double detection_s = 0;   ///< network time, summed over losses
    double replanning_s = 0;  ///< machine time
    double refetching_s = 0;  ///< until those who came back had weights and AdamW's state
    double recovery_s = 0;    ///< of losses after which ranks met anew
    int redone_operations = 0;
    int lost_gradients = 0;
    double lost_s = 0;   ///< network time that those iterations took longer than `usual_s` each
    double usual_s = 0;  ///< an iteration before the first loss; where there was none, as predicted

    /// More than iterations differ by chance.
    bool cost_time() const { return lost_s > 0.001 * usual_s; }
};

/// `predicted_s`: an iteration's network time as planned.
LossAccount account_losses(const std::vector<Metric>& metrics, double predicted_s);

}  // namespace skippipe
