// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include <limits>

#include "core/experiment/io.h"
#include "core/experiment/model_size.h"
#include "core/experiment/presets.h"
#include "core/planner/timeline/memory.h"
#include "plugins/planners/all.h"

using namespace skippipe;

class TestMemory : public QObject {
    Q_OBJECT
    Experiment experiment_;
    Plan plan_for(const Problem& problem) const {
        PlannerRegistry planners;
        register_planners(planners);
        PlanRequest request;
        request.steps = 100;
        return planners.find("gpipe")->plan(problem, request);
    }

private Q_SLOTS:
    void initTestCase() {
        auto parsed =
            load_experiment(std::filesystem::path(SKIPPIPE_SOURCE_DIR) / "resources/experiments/quick-start.json");
        QVERIFY(!has_errors(parsed.faults));
        experiment_ = parsed.experiment;
    }

    void counted_by_hand() {
        const auto problem = make_problem(experiment_);
        const auto plan = plan_for(problem);
        const auto needs = memory_needed(experiment_, problem, plan);
        double states = 0, expected = 0;
        for (const auto& need : needs) {
            states += need.state;
            QVERIFY(need.activations <= problem.memory[static_cast<std::size_t>(need.node)] *
                                                activation_bytes(experiment_, plan.blocks[0]) +
                                            1);
            QVERIFY(need.activations > 0);
        }
        for (std::size_t stage = 0; stage < plan.stages.size(); ++stage)
            expected += 16 * static_cast<double>(plan.stages[stage].size()) *
                        stage_parameters(experiment_.model, plan.blocks[stage], stage == 0);
        QCOMPARE(states, expected);
        QCOMPARE(needs.front().workspace, workspace_bytes(experiment_, plan.blocks[0], true));
        QCOMPARE(memory_together({{0, 10, 5, 3}, {1, 20, 5, 4}}, 8), 48.0);
        QCOMPARE(memory_together({{0, 10, 5, 3}, {1, 20, 5, 4}}, 1), 44.0);
    }

    /// Messages count: under way at who sent them, come too early at who is to use them.
    void messages_are_counted() {
        auto experiment = experiment_;
        const auto problem = make_problem(experiment);
        const auto plan = plan_for(problem);
        const auto needs = memory_needed(experiment, problem, plan);
        const double one = std::max(problem.forward_bytes, problem.backward_bytes);
        double most = 0;
        for (const auto& need : needs) {
            QVERIFY(need.messages >= std::min(problem.forward_bytes, problem.backward_bytes));
            QVERIFY(need.messages <= 2 * static_cast<double>(plan.paths.size()) * one);
            most = std::max(most, need.messages);
        }
        // A node that computes a hundred times as long is waited for: what is sent to it piles up there.
        auto slow = problem;
        const int late = plan.stages[1].front();
        slow.seconds_per_sample_per_block[static_cast<std::size_t>(late)] *= 100;
        for (const auto& need : memory_needed(experiment, slow, plan))
            if (need.node == late) QVERIFY2(need.messages > 2 * one, qPrintable(QString::number(need.messages / one)));
    }

    /// Eight posted receives an edge where messages are small, and never much more than the bound together.
    void posted_receives_are_bounded() {
        QCOMPARE(posted_ahead(0, 0), std::size_t{8});
        QCOMPARE(posted_ahead(3, 1e5), std::size_t{8});
        QCOMPARE(posted_ahead(3, 1e9), std::size_t{1});
        for (const std::size_t edges : {1, 5, 50})
            for (const double bytes : {1e3, 1e6, 2e7, 1e9}) {
                const double held = static_cast<double>(edges * posted_ahead(edges, bytes)) * bytes;
                QVERIFY(held <= std::max(posted_bytes, static_cast<double>(edges) * bytes));
            }
        auto experiment = experiment_;
        const auto problem = make_problem(experiment);
        QCOMPARE(posted_memory(experiment, problem), 0.0);
        experiment.execution.clock = Clock::wall;
        experiment.execution.ranks = 3;
        const double one = std::max(problem.forward_bytes, problem.backward_bytes);
        QCOMPARE(posted_memory(experiment, problem), 3 * 2 * static_cast<double>(posted_ahead(2, one)) * one);
        auto uneven = problem;
        uneven.sizes = {uneven.samples, 3 * uneven.samples};
        QVERIFY(posted_memory(experiment, uneven) > posted_memory(experiment, problem));
        // What is posted is part of what must fit.
        const auto plan = plan_for(problem);
        experiment.execution.threads = 2;
        const double nodes = memory_together(memory_needed(experiment, problem, plan), 3 * 2);  // two workers a rank
        QVERIFY(!check_memory_fits(experiment, problem, plan, nodes + 1).empty());
        experiment.training.checkpoint_every = 0;
        QVERIFY(
            check_memory_fits(experiment, problem, plan, nodes + posted_memory(experiment, problem, &plan)).empty());
        QCOMPARE(training_memory(experiment, problem, plan), nodes);
    }

    void says_what_is_missing() {
        auto experiment = experiment_;
        QVERIFY(
            check_memory_fits(experiment, make_problem(experiment), plan_for(make_problem(experiment)), 20e9).empty());
        experiment.model = find_model_preset("llama-3-8b").model;
        experiment.pipeline.stages = 4;
        experiment.pipeline.stage_sizes.clear();
        experiment.pipeline.skip_ratio = 0;
        experiment.pipeline.balance_data_nodes = false;
        const auto problem = make_problem(experiment);
        const auto plan = plan_for(problem);
        const auto faults = check_memory_fits(experiment, problem, plan, 20e9);
        QCOMPARE(faults.size(), std::size_t{1});
        const auto text = to_string(faults.front());
        for (const char* words : {"/model: 8.03", "are missing", "20.0", "one a stage: 128", "--ignore-memory"})
            QVERIFY2(text.find(words) != std::string::npos, text.c_str());
        experiment.execution.threads = 3;
        experiment.training.checkpoint_every = 0;
        const double total = memory_together(memory_needed(experiment, problem, plan), 3);
        QVERIFY(check_memory_fits(experiment, problem, plan, total).empty());
        QVERIFY(!check_memory_fits(experiment, problem, plan, total - 1).empty());
        experiment.training.checkpoint_every = 10;  // each from a copy of weights and moments
        const double copy = 12 * model_parameters(experiment.model);
        QVERIFY(check_memory_fits(experiment, problem, plan, total + copy).empty());
        QVERIFY(!check_memory_fits(experiment, problem, plan, total + copy - 1).empty());
        // A node on a GPU has its memory elsewhere.
        for (auto& node : experiment.topology.nodes) node.device = "cuda";
        QVERIFY(check_memory_fits(experiment, problem, plan, 20e9).empty());
    }

    void this_machine() {
        const double available = available_memory();
        QVERIFY(available > 1e7 && available < 1e15);
    }
};

QTEST_APPLESS_MAIN(TestMemory)
#include "test_memory.moc"
