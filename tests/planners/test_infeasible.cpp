// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <algorithm>
#include <cmath>

#include "core/base/fault.h"
#include "core/experiment/io.h"
#include "core/experiment/model_size.h"
#include "core/planner/plan/validator.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"
#include "tests/experiment/samples.h"
#include "tests/planner/authors.h"

using namespace skippipe;

/// What cannot be planned is refused with the place, the constraint, and a remedy; and the remedy works.
class TestInfeasible : public QObject {
    Q_OBJECT

    Experiment sample_;
    PlannerRegistry registry_;

    /// The error with all its words; empty where every planner makes a valid plan.
    std::string error(const Experiment& experiment) const {
        try {
            return error(make_problem(experiment));
        } catch (const InputError& error) {
            return to_string(error.faults().front());
        }
    }

    /// Every planner refuses, and all with the same first words.
    std::string error(const Problem& problem, bool skipping_only = false) const {
        std::string first;
        int refused = 0, asked = 0;
        for (const auto& planner : registry_.all()) {
            if (skipping_only && planner->full_pipeline()) continue;
            ++asked;
            PlanRequest request;
            request.steps = 50;
            try {
                const auto plan = planner->plan(problem, request);
                const auto violations = check_plan(problem, plan, evaluate(problem, plan));
                if (!violations.empty()) return planner->name() + " breaks " + violations.front().what;
            } catch (const InputError& error) {
                if (first.empty()) first = to_string(error.faults().front());
                ++refused;
            }
        }
        return refused == 0 ? "" : refused == asked ? first : "only some planners refuse: " + first;
    }

    static bool has(const std::string& text, std::initializer_list<const char*> parts) {
        return std::all_of(parts.begin(), parts.end(),
                           [&](const char* part) { return text.find(part) != std::string::npos; });
    }

#define SAYS(text, ...)                                             \
    do {                                                            \
        const std::string says_text = text;                         \
        QVERIFY2(has(says_text, {__VA_ARGS__}), says_text.c_str()); \
    } while (false)

private Q_SLOTS:
    void initTestCase() {
        register_planners(registry_);
        sample_ = parse_experiment(samples::small()).experiment;
        const auto found = error(sample_);
        QVERIFY2(found.empty(), found.c_str());
    }

    void a_node_that_nothing_reaches() {
        auto e = sample_;
        e.topology.nodes.push_back({.id = "lost"});
        SAYS(error(e), "/topology/nodes/4", "no link reaches", "\"lost\"", "Draw a link");
        e.topology.links.push_back({.from = "lost", .to = "a"});
        QCOMPARE(error(e), std::string());
        e.topology.links.back().both_ways = false;
        SAYS(error(e), "no way leads to node \"lost\"");
        e.topology.nodes.back().region = "east";
        QCOMPARE(error(e), std::string());
    }

    void too_little_memory() {
        auto e = sample_;
        e.topology.nodes[2].memory_bytes = 1000;
        const auto said = error(e);
        SAYS(said, "/topology/nodes/2/memory_bytes", "TC1", "Give it ", "kB or more", "memory_microbatches");
        // What it asks for, rounded up to three digits, is enough; of what is needed a byte less is not.
        const double needed = memory_for_one(e), asked = 1000 * std::stod(said.substr(said.find("Give it ") + 8));
        QVERIFY2(asked >= needed && asked < needed * 1.01, said.c_str());
        e.topology.nodes[2].memory_bytes = std::ceil(needed) - 1;
        SAYS(error(e), "TC1");
        e.topology.nodes[2].memory_bytes = std::ceil(needed);
        QCOMPARE(error(e), std::string());
        auto problem = make_problem(sample_);
        problem.memory[1] = 0;
        SAYS(error(problem), "/topology/nodes/1", "node b holds 0 microbatches", "TC1", "Give it more memory");
    }

    void a_skip_ratio_that_leaves_no_path() {
        auto e = sample_;
        e.pipeline.skip_ratio = 0.5;
        SAYS(error(e), "/pipeline/skip_ratio", "leaves 1 of 2 stages", "CC1", "Set it to 0.25 or less");
        e.pipeline.skip_ratio = 0.25;
        QCOMPARE(error(e), std::string());
        e.pipeline.stages = 4;
        e.pipeline.stage_sizes = {1, 1, 1, 1};
        e.pipeline.skip_ratio = 0.7;
        SAYS(error(e), "leaves 1 of 4 stages", "Set it to 0.625 or less");
        e.pipeline.skip_ratio = 0.625;
        QCOMPARE(error(e), std::string());
    }

    /// Few stages a path, short hops: the last stages would never run.
    void constraints_that_contradict_each_other() {
        const authors::Authors authors(SKIPPIPE_SOURCE_DIR "/tests/data/authors-plan-20-nodes.json");
        auto problem = authors.problem;
        problem.path_length = 2;
        SAYS(error(problem, true), "/pipeline/constraints", "CC2", "CC3",
             "Raise Max passed over (max_passed_over) to 4", "skip ratio", "uniform_execution");
        problem.constraints.max_passed_over = 4;
        QCOMPARE(error(problem, true), std::string());
        problem = authors.problem;
        problem.constraints.max_passed_over = 0;
        SAYS(error(problem, true), "Raise Max passed over (max_passed_over) to 1");
        problem.constraints.max_passed_over = 1;
        QCOMPARE(error(problem, true), std::string());
    }

    void sizes_that_do_not_divide() {
        auto e = sample_;
        e.pipeline.microbatches = 5;
        SAYS(error(e), "/pipeline/microbatches", "5 microbatches on 2 data nodes", "CC1", "Make it 6",
             "balance_data_nodes");
        e.pipeline.microbatches = 6;
        QCOMPARE(error(e), std::string());
        e.pipeline.microbatches = 5;
        e.pipeline.balance_data_nodes = false;
        QCOMPARE(error(e), std::string());
        e = sample_;
        e.pipeline.stage_sizes = {2, 3};
        SAYS(error(e), "/pipeline/stage_sizes", "sum up to 5, but there are 4 nodes", "add nodes");
        e = sample_;
        e.model.blocks = 5;
        SAYS(error(e), "/model/blocks", "5 blocks over 2 stages", "Blocks per stage (blocks_per_stage)");
    }

    void more_stages_than_nodes() {
        auto e = sample_;
        e.pipeline.stage_sizes.clear();
        e.pipeline.stages = 6;
        e.model.blocks = 6;
        SAYS(error(e), "/pipeline/stages", "6 stages on 4 nodes", "a node holds one stage",
             "Use 4 stages or fewer, or add 2 nodes");
        e.pipeline.stages = 4;
        e.model.blocks = 4;
        QCOMPARE(error(e), std::string());
        auto problem = make_problem(e);
        problem.stages = 6;
        problem.path_length = 6;
        problem.blocks.assign(6, 1);
        problem.gradient_bytes.assign(6, 0);
        SAYS(error(problem), "/pipeline/stages", "6 stages on 4 nodes", "Use 4 stages or fewer, or add 2 nodes");
    }

    /// Two regions with nothing between them: each can work on its own, but two stages of three nodes do not fit into
    /// one.
    void regions_without_a_link() {
        auto e = sample_;
        e.topology.links.clear();
        e.pipeline.stage_sizes = {1, 3};
        SAYS(error(e), "/topology/links", "are not linked", "2 groups", "a, b | c, d", "Draw a link");
        e.pipeline.placement = {{"a", "b"}, {"c", "d"}};
        e.pipeline.stage_sizes.clear();
        SAYS(error(e), "are not linked", "2 groups", "Draw a link");
        e.topology.links.push_back({.from = "west", .to = "east", .both_ways = false});
        SAYS(error(e), "is not linked to", "only", "2 groups", "both ways");
        e.topology.links.back().both_ways = true;
        QCOMPARE(error(e), std::string());
    }
};

QTEST_APPLESS_MAIN(TestInfeasible)
#include "test_infeasible.moc"
