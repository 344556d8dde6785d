// SPDX-License-Identifier: GPL-3.0-or-later
// Figures of the planners, one JSON line each. `bench_planner [--long | --blocks | --growth | --ten-minutes |
// --timelines | --reductions | --planted | --anytime [SECONDS] | --replanning | --regions [SECONDS FEWEST_NODES
// MOST_NODES SEEDS FIRST_SEED [unlimited] [placed] [bounds] [planned] [skippipe]]]`; --long adds the 30 s search,
// --blocks prints what planning blocks gives alone, --growth is the table from 10 to 10,000 nodes, --ten-minutes is
// what ten minutes of search find (half an hour in all), --timelines is how fast plans are evaluated, --reductions what
// planning them gives, --planted how many known optima are found, --anytime whether twice the time ever gives a longer
// plan,
// --replanning how long planning the rest after a death takes, --regions networks in regions against a placement by
// hand.
#include <cstdlib>
#include <cstring>

#include "tests/benchmarks/bench_planner/figures.h"

using namespace skippipe;
using namespace skippipe::bench;

int main(int argc, char** argv) {
    const bool longer = argc > 1 && std::strcmp(argv[1], "--long") == 0;
    const bool blocks_alone = argc > 1 && std::strcmp(argv[1], "--blocks") == 0;
    const authors::Authors authors(SKIPPIPE_SOURCE_DIR "/tests/data/authors-plan-20-nodes.json");
    PlannerRegistry registry;
    register_planners(registry);
    if (blocks_alone) return planned_blocks(authors, registry), 0;
    if (argc > 1 && std::strcmp(argv[1], "--growth") == 0) {
        growth(authors, registry);
        return 0;
    }
    if (argc > 1 && std::strcmp(argv[1], "--timelines") == 0) {
        rates(authors, registry);
        return 0;
    }
    if (argc > 1 && std::strcmp(argv[1], "--ten-minutes") == 0) {
        for (const double seconds : {20.0, 600.0}) large(authors, registry, 200, 1000, seconds, 1);
        for (const auto sizes : {Sizes::authors, Sizes::any}) joint_after(authors, registry, 600, sizes, 1);
        return 0;
    }
    if (argc > 1 && std::strcmp(argv[1], "--reductions") == 0) {
        reductions(registry);
        return 0;
    }
    if (argc > 1 && std::strcmp(argv[1], "--replanning") == 0)
        return replanning(authors), growth_in_regions(registry), 0;
    if (argc > 1 && std::strcmp(argv[1], "--planted") == 0) return planted(registry), 0;
    if (argc > 1 && std::strcmp(argv[1], "--anytime") == 0)
        return anytime(registry, argc > 2 ? std::atof(argv[2]) : 5), 0;
    if (argc > 1 && std::strcmp(argv[1], "--regions") == 0) {
        RegionRuns runs;
        if (argc > 2) runs.seconds = std::atof(argv[2]);
        if (argc > 3) runs.fewest_nodes = std::atoi(argv[3]);
        if (argc > 4) runs.most_nodes = std::atoi(argv[4]);
        if (argc > 5) runs.seeds = std::strtoul(argv[5], nullptr, 10);
        if (argc > 6) runs.first_seed = std::strtoul(argv[6], nullptr, 10);
        for (int k = 7; k < argc; ++k) {
            if (std::strcmp(argv[k], "unlimited") == 0) runs.shared_links = false;
            if (std::strcmp(argv[k], "placed") == 0) runs.placed = true;
            if (std::strcmp(argv[k], "bounds") == 0) runs.bounds = true;
            if (std::strcmp(argv[k], "planned") == 0) runs.reductions = true;
            if (std::strcmp(argv[k], "skippipe") == 0) runs.skippipe = true;
        }
        regions(registry, runs);
        return 0;
    }
    rates(authors, registry);
    for (const auto sizes : {Sizes::authors, Sizes::any}) {
        joint_after(authors, registry, 5, sizes);
        if (longer) joint_after(authors, registry, 30, sizes);
    }
    planner_times(authors, registry);
    against_skippipe(authors, registry);
    planned_blocks(authors, registry);
    growth(authors, registry);
    replanning(authors);
    reductions(registry);
    large(authors, registry, 200, 1000, longer ? 20 : 5, 1);
    large(authors, registry, 1000, 5000, 10, 10);
}
