// SPDX-License-Identifier: GPL-3.0-or-later
// What the parts of bench_planner print with and measure on.
#pragma once
#include <string>

#include "plugins/planners/all.h"
#include "tests/planner/authors.h"

namespace skippipe::bench {

inline constexpr int repeats = 5;

double wall_s();
/// Of this thread alone, so that other programs on a shared machine disturb less.
double cpu_s();

struct Figure {
    std::string name, unit;
    double value = 0;
    std::string baseline;
    double baseline_value = 0;
    int threads = 1;
    std::string ceiling;
    int repeat = 1;
};
/// One JSON line.
void print(const Figure& figure);

/// The authors' network again and again; as many microbatches and data nodes per node as theirs.
Problem grown(const authors::Authors& authors, int nodes);
/// Paths of four of six stages dealt out evenly over a grown network: what planning 1,000 nodes in no time gives.
Plan dealt(const Problem& problem);

// rates.cpp
/// How fast plans are evaluated, candidates tried and plans explained.
void rates(const authors::Authors& authors, const PlannerRegistry& registry);

// growth.cpp
/// From 10 to 10,000 nodes.
void growth(const authors::Authors& authors, const PlannerRegistry& registry);
/// The first plan and replanning after a death, 1,000 and 10,000 nodes in regions.
void growth_in_regions(const PlannerRegistry& registry);

// searches.cpp
/// With stages of the authors' sizes, or of any.
enum class Sizes { authors, any };
void joint_after(const authors::Authors& authors, const PlannerRegistry& registry, double seconds, Sizes sizes,
                 int seeds = 3);
/// How long each planner takes, and what comes of it.
void planner_times(const authors::Authors& authors, const PlannerRegistry& registry);
/// How much shorter the iterations of skippipe-joint are than those of skippipe, default steps of both.
void against_skippipe(const authors::Authors& authors, const PlannerRegistry& registry);
/// 24 blocks over six stages, every second node three times as slow: the authors' nodes, and six in one room, one a
/// stage.
void planned_blocks(const authors::Authors& authors, const PlannerRegistry& registry);
/// How soon skippipe-joint has a plan of a large network, and how good it is then.
void large(const authors::Authors& authors, const PlannerRegistry& registry, int nodes, int microbatches,
           double seconds, double goal_s);

// regions.cpp
struct RegionRuns {
    double seconds = 30;
    int fewest_nodes = 24, most_nodes = 200;
    std::uint64_t first_seed = 1, seeds = 3;
    bool shared_links = true;
    bool placed = false;  ///< its search on the placement by hand as well
    bool bounds = false;
    bool reductions = false;  ///< planned, of four blocks a stage
    bool skippipe = false;    ///< the published method in the same time as well
};
/// skippipe-joint on networks in regions, against a placement by hand with greedy paths.
void regions(const PlannerRegistry& registry, const RegionRuns& runs);

// planted.cpp
/// How many of 200 optima that are known skippipe-joint finds.
void planted(const PlannerRegistry& registry);
/// How much longer a plan of twice so many seconds is, on networks in regions.
void anytime(const PlannerRegistry& registry, double seconds);

// reductions.cpp
/// Iterations with planned reductions over those with the charged ring.
void reductions(const PlannerRegistry& registry);

// replanning.cpp
/// A node of stage 1 dies in the middle of an iteration.
void replanning(const authors::Authors& authors);

}  // namespace skippipe::bench
