// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <functional>

#include "core/planner/runnable.h"
#include "tests/planner/examples.h"

using namespace skippipe;

namespace {

/// Four stages of one node, full reach; paths of three stages; every other microbatch skips another stage.
std::pair<Problem, Plan> sound() {
    auto problem = examples::toy({"a", "b", "c", "d"}, 4, 3, 6);
    Plan plan{.planner = "test", .stages = {{0}, {1}, {2}, {3}}, .blocks = {1, 1, 1, 1}};
    const std::vector<NodeIndex> paths[] = {{0, 1, 2}, {0, 2, 3}, {0, 1, 3}};
    for (MicrobatchIndex m = 0; m < 6; ++m) plan.paths.push_back({m, paths[m % 3]});
    problem.experiment_hash = plan.experiment_hash = "of this one";
    return {problem, plan};
}

QString said(const std::function<void(Problem&, Plan&)>& change) {
    auto [problem, plan] = sound();
    change(problem, plan);
    QStringList all;
    for (const auto& fault : check_runnable(problem, plan))
        all << (fault.severity == Fault::Severity::error ? "error " : "warning ") + QString::fromStdString(fault.what);
    return all.join("; ");
}

}  // namespace

class TestRunnable : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void says_nothing_of_a_sound_plan() {
        QCOMPARE(said([](Problem&, Plan&) {}), "");
        QCOMPARE(said([](Problem&, Plan& p) { p.experiment_hash.clear(); }), "");
    }

    void refuses_what_cannot_be_executed() {
        QVERIFY(said([](Problem&, Plan& p) { p.paths.pop_back(); }).startsWith("error structure"));
        QVERIFY(said([](Problem& r, Plan& p) {
                    r.memory.assign(4, 1);
                    p.order = {{}, {}, {}, {}};
                    for (MicrobatchIndex m = 0; m < 6; ++m)
                        for (const NodeIndex node : p.paths[at(m)].nodes) {
                            auto& order = p.order[node];
                            order.insert(order.begin(), {{OpKind::B, m}, {OpKind::F, m}});
                            if (node == 0) order.insert(order.begin(), {OpKind::L, m});
                        }
                }).startsWith("error deadlock"));
    }

    void warns_of_what_breaks_the_rules() {
        // Each once, with how often.
        QCOMPARE(said([](Problem&, Plan& p) {
                     for (auto& path : p.paths) path.nodes = {0, 1, 2};
                 }),
                 "warning CC2: stage 1 runs 6 microbatches, at most 4 are allowed (and 1 more)");
        QCOMPARE(said([](Problem& r, Plan& p) {
                     r.constraints.max_swaps = 0;
                     p.paths[0].nodes = {0, 2, 1};
                 }),
                 "warning CC3: microbatch 0 swaps 1 times, at most 0 are allowed");
        QVERIFY(said([](Problem& r, Plan&) { r.path_length = 2; }).contains("warning skip-ratio"));
        QVERIFY(said([](Problem& r, Plan&) { r.constraints.uniform_execution = false; }).isEmpty());
        QVERIFY(said([](Problem&, Plan& p) {
                    p.experiment_hash = "of another";
                }).startsWith("warning it was made for another experiment (of another)"));
    }
};

QTEST_APPLESS_MAIN(TestRunnable)
#include "test_runnable.moc"
