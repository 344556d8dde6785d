// SPDX-License-Identifier: GPL-3.0-or-later
// Nodes placed in stages by hand: dragged from lane to lane, by keys, and left to the planner again.
#include <QtTest>

#include "core/experiment/io.h"
#include "plugins/planners/all.h"
#include "tests/views/window_experiments.h"
#include "views/document/document.h"
#include "views/plan/plan_service.h"
#include "views/plan/stage_lanes.h"

using namespace skippipe;

namespace {

struct Lanes {
    explicit Lanes(const Experiment& e) {
        document.start_new(e);
        lanes.resize(700, 300);
        lanes.show();
        static_cast<void>(QTest::qWaitForWindowExposed(&lanes));
    }
    void drag(const std::string& node, int stage) {
        auto& view = lanes.view();
        const QPoint from = view.chip(node).center(), to(from.x() + 40, view.lane(stage).center().y());
        QTest::mousePress(&view, Qt::LeftButton, {}, from);
        QTest::mouseMove(&view, (from + to) / 2);
        QTest::mouseMove(&view, to);
        QTest::mouseRelease(&view, Qt::LeftButton, {}, to);
    }
    const std::vector<std::vector<std::string>>& placement() { return document.experiment().pipeline.placement; }

    Document document;
    SelectionModel selection;
    StageLanes lanes{document, selection};
};

/// Three nodes, of which the plan uses all: stage 0 has two.
std::shared_ptr<PlanOutcome> planned(Experiment& e, const PlannerRegistry& planners) {
    e = three_linked_nodes();
    e.pipeline.stages = 2;
    e.pipeline.stage_sizes = {2, 1};
    e.model.blocks = 2;
    return make_plan(e, *planners.find("gpipe"), request_for(e));
}

}  // namespace

class TestStageLanes : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { register_planners(planners_); }

    void a_node_is_dragged_to_another_stage() {
        Experiment e;
        const auto outcome = planned(e, planners_);
        QVERIFY2(outcome->has_plan,
                 qPrintable(outcome->faults.empty() ? QString() : QString::fromStdString(outcome->faults[0].what)));
        Lanes l(e);
        QVERIFY(l.lanes.view().lanes().empty() && !l.lanes.button().isEnabled());
        l.lanes.show_plan(outcome.get());
        const auto lanes = l.lanes.view().lanes();
        QCOMPARE(lanes.size(), std::size_t{2});
        QCOMPARE(lanes[0].nodes.size(), std::size_t{2});
        QVERIFY2(lanes[1].figures.contains("1 block") && lanes[1].figures.contains("4 visits"),
                 qPrintable(lanes[1].figures));
        const std::string moved = lanes[0].nodes[1];
        l.drag(moved, 1);
        QCOMPARE(l.placement().size(), std::size_t{2});
        QCOMPARE(l.placement()[1], (std::vector<std::string>{lanes[1].nodes[0], moved}));
        QVERIFY2(l.document.experiment().pipeline.stage_sizes.empty(), "they would contradict it");
        QVERIFY(l.selection.now().nodes.contains(moved));
        QVERIFY(!has_errors(l.document.faults()));
        // The last node of a stage stays.
        QSignalSpy told(&l.lanes, &StageLanes::told);
        l.drag(lanes[0].nodes[0], 1);
        QCOMPARE(told.count(), 1);
        QVERIFY2(told[0][0].toString().contains("only node of stage 0"), qPrintable(told[0][0].toString()));
        QCOMPARE(l.placement()[0].size(), std::size_t{1});
        const auto fixed =
            make_plan(l.document.experiment(), *planners_.find("gpipe"), request_for(l.document.experiment()));
        QVERIFY(fixed->has_plan && fixed->plan.stages[StageIndex(1)].size() == 2);
        QTest::mouseClick(&l.lanes.button(), Qt::LeftButton);
        QVERIFY(l.placement().empty());
        l.document.undo_stack().undo();
        l.document.undo_stack().undo();
        QVERIFY(l.document.experiment() == e);
    }

    void by_keys_and_into_no_stage() {
        Experiment e;
        const auto outcome = planned(e, planners_);
        Lanes l(e);
        l.lanes.show_plan(outcome.get());
        QTest::mouseClick(&l.lanes.button(), Qt::LeftButton);
        QCOMPARE(l.placement().size(), std::size_t{2});
        const std::string first = l.placement()[0][0], second = l.placement()[0][1], third = l.placement()[1][0];
        auto& view = l.lanes.view();
        view.setFocus();
        QTest::keyClick(&view, Qt::Key_Right);
        QVERIFY(l.selection.now().nodes == std::set<std::string>{first});
        QTest::keyClick(&view, Qt::Key_Right);
        QVERIFY(l.selection.now().nodes == std::set<std::string>{second});
        QTest::keyClick(&view, Qt::Key_Down);
        QVERIFY(l.selection.now().nodes == std::set<std::string>{third});
        l.selection.select({.nodes = {second}});
        QTest::keyClick(&view, Qt::Key_Down, Qt::AltModifier);
        QCOMPARE(l.placement()[1], (std::vector<std::string>{third, second}));
        QTest::keyClick(&view, Qt::Key_Up, Qt::AltModifier);
        QCOMPARE(l.placement()[0], (std::vector<std::string>{first, second}));
        // A node that came later serves no stage until it is dragged into one.
        l.document.edit("Add", [](Experiment& x) { add_node(x, {0, 0}); });
        QCOMPARE(view.lanes().back().key, -1);
        QCOMPARE(view.lanes().back().nodes, std::vector<std::string>{"node-4"});
        l.drag("node-4", 1);
        QCOMPARE(l.placement()[1].back(), std::string("node-4"));
        QCOMPARE(view.lanes().size(), std::size_t{2});
        // A lane's name selects its stage.
        QTest::mouseClick(&view, Qt::LeftButton, {}, QPoint(30, view.lane(1).center().y()));
        QCOMPARE(l.selection.now().stage, std::optional<int>(1));
    }

private:
    PlannerRegistry planners_;
};

QTEST_MAIN(TestStageLanes)
#include "test_stage_lanes.moc"
