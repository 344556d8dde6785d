// SPDX-License-Identifier: GPL-3.0-or-later
// What devices did, beside why nodes idled, in Watch.
#include <QScrollBar>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QtTest>

#include "core/experiment/io.h"
#include "plugins/planners/all.h"
#include "tests/views/window_experiments.h"
#include "views/idle/device_panel.h"
#include "views/plan/plan_service.h"
#include "views/window/watch_page.h"

using namespace skippipe;

namespace {

DeviceReading device_of(const char* device, std::vector<int> nodes, double busy) {
    return {"here", device, "Card", device, std::move(nodes), 4, {busy, 50e9, 80e9, 412, 1.98e9, -1}};
}

}  // namespace

class TestDevicePanel : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void words_of_devices() {
        const auto one = device_of("cuda:0", {1}, 0.71), other = device_of("cuda:1", {2}, 0.12);
        QCOMPARE(plain(busy_words({one})), QString("The device was busy 71.0 %: cuda:0"));
        QCOMPARE(plain(busy_words({one, other})), QString("2 devices were busy 12.0 % to 71.0 %"));
        QCOMPARE(busy_words({device_of("cuda:0", {}, -1)}), QString());
        const auto words = plain(device_words(one, {"a", "b"}));
        for (const char* part :
             {"cuda:0 of here: Card", "nodes: b", "50.0 GB of 80.0 GB", "412 W", "1.98 GHz", "4 readings"})
            QVERIFY2(words.contains(part), qPrintable(words));
        QVERIFY2(!words.contains("clock of the memory"), "it was not told");
    }

    /// What it is called and what it is, memory in two lines: nothing is cut in the room that there is.
    void a_device_has_its_name() {
        DevicePanel panel;
        panel.resize(420, 200);
        panel.show_devices({device_of("cuda:0", {1}, 0.71)}, {"a", "b"});
        panel.show();
        QVERIFY(QTest::qWaitForWindowExposed(&panel));
        const auto* table = panel.findChild<QTableWidget*>();
        QCOMPARE(table->item(0, 0)->text(), QString("cuda:0\nCard"));
        QCOMPARE(plain(table->item(0, 2)->text()), QString("50.0 GB\nof 80.0 GB"));
        QVERIFY(!table->horizontalScrollBar()->isVisible());
        QVERIFY(table->rowHeight(0) >= 2 * table->fontMetrics().height());
    }

    void watch_shows_them_beside_the_idle_time() {
        PlannerRegistry planners;
        register_planners(planners);
        const Experiment e = three_linked_nodes();
        const auto planned = make_plan(e, *planners.find("gpipe"), request_for(e));
        QVERIFY(planned->has_plan);
        QTemporaryDir folder;
        const auto file = folder.filePath("record.sqlite").toStdString();
        Recorder recorder(file);
        const auto begin = [&] {
            return recorder.begin({.name = "on GPUs",
                                   .planner = "gpipe",
                                   .experiment_json = to_text(e),
                                   .plan_json = to_json(planned->plan, planned->problem, nullptr).dump(),
                                   .iterations = 2,
                                   .predicted_iteration_s = planned->timeline.iteration_s});
        };
        const auto record = [&](RunId run, bool with_devices) {
            recorder.spans(run, 0, 0, planned->timeline.spans);
            if (with_devices)
                recorder.devices(run, 0, {device_of("cuda:0", {0, 1}, 0.71), device_of("cuda:1", {2}, 0.12)});
            recorder.metric(run, {0, 0, "iteration_s", planned->timeline.iteration_s, 1, 1, 1});
            recorder.iteration_done(run, 1, 1);
            recorder.finish(run, RunState::finished, {}, "{}");
        };
        const RunId without = begin();
        record(without, false);
        const RunId run = begin();
        record(run, true);

        RunFeed feed(file);
        SelectionModel selection;
        WatchPage page(feed, selection);
        page.resize(1200, 700);
        page.show();
        page.show_run(run);
        auto* idle = page.findChild<IdlePanel*>();
        auto* tabs = page.findChild<QTabWidget*>("idle_tabs");
        auto* panel = page.findChild<DevicePanel*>();
        QTRY_COMPARE_WITH_TIMEOUT(plain(idle->devices().text()), QString("2 devices were busy 12.0 % to 71.0 %"),
                                  patient_ms);
        QVERIFY(idle->devices().isVisible());
        QVERIFY(idle->devices().toolTip().contains("A node is idle while it has nothing to execute"));
        QVERIFY(tabs->isTabVisible(tabs->indexOf(panel)));
        QCOMPARE(panel->table().rowCount(), 2);
        QCOMPARE(plain(panel->table().item(0, 1)->text()), QString("71.0 %"));
        QCOMPARE(plain(panel->table().item(0, 2)->text()), QString("50.0 GB\nof 80.0 GB"));
        QVERIFY(panel->table().item(0, 0)->toolTip().contains("nodes: node-1, node-2"));
        // Of the node that is selected its own.
        selection.select({.nodes = {"node-3"}});
        QCOMPARE(plain(idle->devices().text()), QString("The device was busy 12.0 %: cuda:1"));
        QVERIFY(idle->devices().toolTip().contains("nodes: node-3"));
        selection.select({.nodes = {"node-1"}});
        QCOMPARE(plain(idle->devices().text()), QString("The device was busy 71.0 %: cuda:0"));

        // A run that was on no GPU speaks of none.
        page.show_run(without);
        QTRY_VERIFY_WITH_TIMEOUT(!idle->devices().isVisible(), patient_ms);
        QVERIFY(!tabs->isTabVisible(tabs->indexOf(panel)));
    }
};

QTEST_MAIN(TestDevicePanel)
#include "test_device_panel.moc"
