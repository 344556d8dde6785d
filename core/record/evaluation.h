// SPDX-License-Identifier: GPL-3.0-or-later
// What a trained model's validation comes to with stages left out.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

namespace skippipe {

/// The validation with one set of stages left out: the hidden state passes them by unchanged.
struct OmissionLoss {
    std::vector<int> omitted;  ///< ascending; of stage 0 its blocks: embedding and head stay
    double loss_nats = 0;      ///< mean over the tokens
    bool operator==(const OmissionLoss&) const = default;
};

struct Evaluation {
    std::string evaluated_utc;   ///< ISO 8601
    std::string weights;         ///< where they were read
    int stages = 1;              ///< of the model
    std::int64_t tokens = 0;     ///< predicted in one validation
    double bytes_per_token = 0;  ///< of text; 0: not known
    std::uint64_t seed = 1;      ///< chose what is left out
    int samples = 0;             ///< sets of a size that were drawn where there are more
    std::vector<OmissionLoss> losses;
    bool operator==(const Evaluation&) const = default;
};

}  // namespace skippipe
