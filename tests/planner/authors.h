// SPDX-License-Identifier: GPL-3.0-or-later
// The authors' default problem and the plans that their planner printed for it (tests/data/authors-plan-20-nodes.json).
#pragma once
#include <fstream>
#include <stdexcept>
#include <string>

#include <nlohmann/json.hpp>

#include "core/planner/plan/plan.h"
#include "core/planner/plan/problem.h"

namespace skippipe::authors {

/// 20 nodes, stages [5,3,3,3,3,3], p = 4, 30 microbatches, M = 3, hop matrix, placement free.
struct Authors {
    Problem problem;
    nlohmann::json json;

    explicit Authors(const std::string& file) {
        std::ifstream stream(file);
        if (!stream) throw std::runtime_error("cannot read " + file);
        json = nlohmann::json::parse(stream);
        const auto& hops = json.at("hop_seconds");
        const std::size_t n = hops.size();
        problem.stages = 6;
        problem.path_length = 4;
        problem.microbatches = 30;
        problem.samples = 8;
        problem.seconds_per_sample_per_block.assign(n, 0.055);
        problem.blocks.assign(6, 4);
        problem.memory.assign(n, 3);
        problem.gradient_bytes.assign(6, 0);
        problem.shared_links = false;
        problem.charge_all_reduce = false;
        problem.stage_sizes = {5, 3, 3, 3, 3, 3};
        for (std::size_t a = 0; a < n; ++a) problem.node_ids.push_back("n" + std::to_string(a));
        std::vector<Hop> pairs;
        for (std::size_t a = 0; a < n; ++a)
            for (std::size_t b = 0; b < n; ++b) {
                pairs.push_back({hops[a][b].get<double>(), 1e300, 0, 0, static_cast<int>(a * n + b)});
                problem.line_names.push_back(problem.node_ids[a] + "->" + problem.node_ids[b]);
            }
        problem.hops = std::move(pairs);
    }

    /// One of the authors' plans: all its paths once in file order, then all again.
    Plan plan(const std::string& planner) const {
        Plan plan;
        plan.planner = planner;
        plan.blocks = problem.blocks;
        plan.stages = json.at("stages").get<PerStage<std::vector<NodeIndex>>>();
        const auto paths = json.at("paths").at(planner).get<std::vector<std::vector<NodeIndex>>>();
        for (int wave = 0; wave < 2; ++wave)
            for (const auto& path : paths) plan.paths.push_back({MicrobatchIndex(plan.paths.size()), path});
        return plan;
    }
};

}  // namespace skippipe::authors
