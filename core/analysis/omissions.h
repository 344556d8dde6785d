// SPDX-License-Identifier: GPL-3.0-or-later
// Which stages an evaluation leaves out, and what it found by the number that is kept. Pure: values in, values out.
#pragma once
#include <cstdint>
#include <optional>
#include <vector>

#include "core/record/evaluation.h"

namespace skippipe {

/// Sets of stages to leave out of a model of that many: none; for every number of stages kept, down to stage 0 alone,
/// all sets where there are at most `samples`, else that many different ones drawn by the seed; and stage 0's blocks
/// alone. Ascending; the same seed draws the same sets of a size whatever is drawn of others.
std::vector<std::vector<int>> choose_omissions(int stages, int samples, std::uint64_t seed);

/// What the evaluated sets of one number of stages kept came to.
struct KeptRow {
    int kept = 0;                  ///< stages, stage 0 counted
    bool without_stage_0 = false;  ///< stage 0's blocks are among what is left out
    std::size_t sets = 0;          ///< evaluated
    double all_sets = 0;           ///< that there are
    double perplexity = 0;         ///< mean over the sets
    double least = 0, most = 0;    ///< perplexity
    double loss_nats = 0;          ///< mean over the sets
    std::vector<int> best, worst;  ///< what is left out for the least and the most
};

/// From all stages kept to the fewest, then where stage 0's blocks are left out.
std::vector<KeptRow> by_stages_kept(const Evaluation& evaluation);

/// e to the loss: as if so many tokens were equally likely.
double perplexity(double loss_nats);
/// Nothing where the bytes of a token are not known.
std::optional<double> bits_per_byte(double loss_nats, const Evaluation& evaluation);

}  // namespace skippipe
