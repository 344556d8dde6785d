// SPDX-License-Identifier: GPL-3.0-or-later
// Many experiments out of one: every combination of chosen values, or random draws of them. Pure.
#pragma once
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "core/experiment/document.h"

namespace skippipe {

/// A field that varies, by values or, for random draws, over a range.
struct SweepAxis {
    struct Range {
        double low = 0, high = 0;
        bool logarithmic = false;  ///< equal shares to equal ratios
    };
    std::string field;                           ///< "pipeline.skip_ratio", as `set_field` reads it
    std::vector<nlohmann::ordered_json> values;  ///< none where there is a range
    std::optional<Range> range;
};

/// "pipeline.skip_ratio=0,0.25,0.5", or a range for draws: "training.learning_rate=log:1e-4..1e-2",
/// "pipeline.skip_ratio=0..0.5". The field may be a JSON pointer, "/pipeline/skip_ratio". Throws InputError at --vary.
SweepAxis parse_axis(const std::string& text);

struct SweepRequest {
    std::vector<SweepAxis> axes;
    int seeds = 1;  ///< of each combination: the document's seed, the next one, ...
    int draws = 0;  ///< 0: every combination; else so many random ones, each once; fewer where there are not as many
    std::uint64_t draw_seed = 1;                ///< of the draws
    std::set<std::string> full_pipelines = {};  ///< planners that visit all stages whatever the skip ratio
};

/// One experiment of a sweep. It has one seed.
struct SweepPoint {
    std::vector<std::pair<std::string, nlohmann::ordered_json>> settings;  ///< field and value, by axis
    Experiment experiment;
    bool is_full_pipeline = false;  ///< its planner skips nothing: a skip ratio among its settings is 0
};

inline constexpr std::size_t most_sweep_points = 10'000;

/// In the order of the axes, the last one quickest, seeds quicker still; each once: a planner that skips nothing trains
/// at skip ratio 0, whatever was asked for. Throws InputError where an axis
/// does not fit the document or a point is no valid experiment; the point's settings are named.
std::vector<SweepPoint> sweep_points(const Experiment& base, const SweepRequest& request);

/// What skips, as settings name it.
inline constexpr const char* skip_ratio_field = "pipeline.skip_ratio";

/// "pipeline.skip_ratio 0.25, seed 2"
std::string to_string(const SweepPoint& point);

/// The experiment without what changes nothing in its training: name, description, places on the canvas, and what is
/// kept of a run.
Experiment what_trains(Experiment experiment);
/// Whether both train the same: all but name, description and places on the canvas.
bool trains_alike(const Experiment& a, const Experiment& b);
/// The same for two that train alike; seldom the same for others.
std::size_t training_hash(const Experiment& experiment);

/// What a sweep may vary: every number, text and choice of the document as a field, the most asked for first; those of
/// the network, names and paths left out.
std::vector<std::string> sweepable_fields(const Experiment& experiment);

}  // namespace skippipe
