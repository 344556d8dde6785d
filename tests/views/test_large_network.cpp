// SPDX-License-Identifier: GPL-3.0-or-later
// A large network in the whole window: an edit does not wait for views that nobody looks at.
#include <ctime>

#include <QElapsedTimer>
#include <QPainter>
#include <QTemporaryDir>
#include <QtTest>

#include "core/base/rng.h"
#include "core/experiment/io.h"
#include "core/planner/timeline/evaluator.h"
#include "plugins/planners/all.h"
#include "tests/views/window_experiments.h"
#include "views/topology/edits.h"
#include "views/topology/shapes.h"
#include "views/window/main_window.h"

using namespace skippipe;

namespace {

constexpr int nodes = 500, links = 2'000;
/// Of this thread, so that others do not count. With a linear search of the links for each pair it was some seconds.
constexpr double most_edit_s = 0.25;
constexpr int followed_nodes = 200;
constexpr double most_following = 0.35;  ///< of a core

double thread_s() {
    timespec time{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Experiment large_network() {
    Experiment e;
    e.pipeline.stages = 6;
    e.pipeline.plan_steps = 1;
    for (int i = 0; i < nodes; ++i) {
        e.topology.nodes.push_back({.id = "n" + std::to_string(i)});
        e.topology.nodes.back().x = 100 * (i % 25), e.topology.nodes.back().y = 100 * (i / 25);
    }
    for (int i = 0; i < links; ++i) {
        const int from = i % nodes, to = (from + 1 + i / nodes * 7) % nodes;
        e.topology.links.push_back({"n" + std::to_string(from), "n" + std::to_string(to), 0.01, 1e8, true});
    }
    return e;
}

}  // namespace

class TestLargeNetwork : public QObject {
    Q_OBJECT
    PlannerRegistry planners_;

private Q_SLOTS:
    void initTestCase() { register_planners(planners_); }

    /// The map of a run that goes on moves, and leaves the machine to the run.
    void a_run_is_followed_at_little_cost() {
        Experiment e = make_shape(Shape::random, followed_nodes, 1);
        e.execution.compute = Compute::cost;
        const auto planned = make_plan(e, *planners_.find("gpipe"), request_for(e));
        QVERIFY2(planned->has_plan, planned->faults.empty() ? "" : planned->faults.front().what.c_str());
        const double length = planned->timeline.iteration_s;
        QTemporaryDir folder;
        const std::filesystem::path file = folder.filePath("record.sqlite").toStdString();
        Recorder recorder(file);
        const RunId run = recorder.begin({.name = "large",
                                          .planner = "gpipe",
                                          .experiment_json = to_text(e),
                                          .plan_json = to_json(planned->plan, planned->problem, nullptr).dump(),
                                          .iterations = 9,
                                          .predicted_iteration_s = length});
        for (int i = 0; i < 2; ++i) {
            recorder.spans(run, i, i * length, planned->timeline.spans);
            recorder.metric(run, {0, i, "iteration_s", length, (i + 1) * length, 100.0 * i, 1});
            recorder.iteration_done(run, i + 1, 1);
        }
        MainWindow window(planners_, file);
        window.resize(1280, 800);
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        window.show_workspace(MainWindow::watch);
        auto& page = window.watch_page();
        page.show_run(run);
        QTRY_VERIFY_WITH_TIMEOUT(page.replay().is_following() && !page.helps().is_busy(), patient_ms);
        QTest::qWait(500);
        QSignalSpy moved(&page.replay(), &ReplayBar::moved);
        QElapsedTimer passed;
        passed.start();
        const double before_s = thread_s();
        QTest::qWait(2000);
        const double share = (thread_s() - before_s) * 1000 / static_cast<double>(passed.elapsed());
        QVERIFY(page.replay().is_following());
        QVERIFY2(moved.size() >= 3 && moved.size() <= 70, qPrintable(QString::number(moved.size())));
        QVERIFY2(share < most_following, qPrintable(QString::number(share)));
    }

    void an_edit_is_quick() {
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        window.document().start_new(large_network());
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        double least_s = 1e9;
        for (int i = 0; i < 3; ++i) {
            const double begin_s = thread_s();
            window.document().edit("edit", [](Experiment& e) { e.topology.links[7].latency_s *= 1.1; });
            least_s = std::min(least_s, thread_s() - begin_s);
        }
        QVERIFY2(least_s < most_edit_s, qPrintable(QString("%1 s").arg(least_s)));
    }

    /// Links that step back are most of the canvas: drawn at once, and with soft edges when it rests.
    void a_selection_is_drawn_quickly_first() {
        const auto is_soft = [](const TopologyView& view) {
            return view.renderHints().testFlag(QPainter::Antialiasing);
        };
        Document document;
        SelectionModel selection;
        TopologyView view(document, selection, true);
        document.start_new(large_network());
        view.show();
        QVERIFY(QTest::qWaitForWindowExposed(&view));
        QTRY_VERIFY(is_soft(view));
        selection.select({.nodes = {"n7"}});
        QVERIFY(!is_soft(view));
        QTRY_VERIFY(is_soft(view));
        Experiment few = large_network();
        few.topology.links.resize(100);
        document.start_new(few);
        selection.clear();
        QTRY_VERIFY(is_soft(view));
        selection.select({.nodes = {"n7"}});
        QVERIFY2(is_soft(view), "a small picture need not");
    }

    /// One that is looked at follows, in time that a person can wait for.
    void the_matrix_follows_when_it_is_seen() {
        QTemporaryDir folder;
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        window.document().start_new(large_network());
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        auto& matrix = window.design_page().matrix();
        window.document().edit("edit", [](Experiment& e) { e.topology.links[7].latency_s = 0.5; });
        const double begin_s = thread_s();
        see_tab(matrix);
        QVERIFY2(thread_s() - begin_s < 4 * most_edit_s, qPrintable(QString("%1 s").arg(thread_s() - begin_s)));
        QCOMPARE(matrix.model().rowCount(), nodes);
        const auto place = [&](const char* id) {
            for (int row = 0; row < nodes; ++row)
                if (matrix.model().row_end(row).id == id) return row;
            return -1;
        };
        const auto shown = [&] {
            return matrix.model().data(matrix.model().index(place("n8"), place("n7")), Qt::DisplayRole).toString();
        };
        QCOMPARE(shown(), QString("500"));  // the way back of a link both ways
        window.document().edit("edit", [](Experiment& e) { e.topology.links[7].latency_s = 0.25; });
        QCOMPARE(shown(), QString("250"));
    }
};

QTEST_MAIN(TestLargeNetwork)
#include "test_large_network.moc"
