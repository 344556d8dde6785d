// SPDX-License-Identifier: GPL-3.0-or-later
// Attached GPUs in the window: looked for on a thread, nodes dragged onto them, drawn by one click.
#include <QMenu>
#include <QtTest>

#include <atomic>
#include <stdexcept>
#include <thread>

#include "core/experiment/io.h"
#include "tests/views/window_experiments.h"
#include "views/document/document.h"
#include "views/devices/device_lanes.h"

using namespace skippipe;

namespace {

/// A machine of two GPUs, the second of which NVML does not know.
GpuSource two_gpus() {
    return {
        [] {
            return AttachedGpus{{{0, "NVIDIA H100 80GB HBM3", "GPU-a", 80e9}, {1, "NVIDIA L40", "GPU-b", 48e9}}, {}};
        },
        [](const std::string& uuid) {
            if (uuid != "GPU-a") throw std::runtime_error("NVML does not find " + uuid);
            return GpuReading{0.5, 20e9, 80e9, 300, 1e9, 1e9};
        }};
}

struct Devices {
    explicit Devices(GpuSource source, const Experiment& e = three_linked_nodes())
        : lanes(document, selection, std::move(source)) {
        document.start_new(e);
        lanes.resize(800, 300);
        lanes.show();
        static_cast<void>(QTest::qWaitForWindowExposed(&lanes));
        static_cast<void>(QTest::qWaitFor([this] { return !lanes.is_looking(); }, patient_ms));
    }
    void drag(const std::string& node, const std::string& device) {
        auto& view = lanes.view();
        const QPoint from = view.chip(node).center(), to(from.x() + 30, view.lane(lanes.key_of(device)).center().y());
        QTest::mousePress(&view, Qt::LeftButton, {}, from);
        QTest::mouseMove(&view, (from + to) / 2);
        QTest::mouseMove(&view, to);
        QTest::mouseRelease(&view, Qt::LeftButton, {}, to);
    }
    std::string device_of(std::size_t node) const { return document.experiment().topology.nodes[node].device; }
    QString figures(const std::string& device) {
        return plain(lanes.view().lanes()[static_cast<std::size_t>(lanes.key_of(device))].figures);
    }

    Document document;
    SelectionModel selection;
    DeviceLanes lanes;
};

}  // namespace

class TestDeviceLanes : public QObject {
    Q_OBJECT
private Q_SLOTS:
    /// In a narrow window nodes have more room than the words about their device.
    void chips_have_room_in_a_narrow_window() {
        Devices d(two_gpus());
        const std::string node = d.document.experiment().topology.nodes.front().id;
        for (const int width : {900, 460}) {
            d.lanes.resize(width, 300);
            QTRY_COMPARE(d.lanes.view().width(), width);
            QVERIFY2(d.lanes.view().chip(node).left() <= width / 2, qPrintable(QString::number(width)));
        }
    }

    void gpus_are_listed_with_what_is_free() {
        Devices d(two_gpus());
        QCOMPARE(d.lanes.view().lanes().size(), std::size_t{4});  // cpu, any, two
        QCOMPARE(d.figures("cuda:0"), QString("NVIDIA H100 80GB HBM3, 60.0 GB free of 80.0 GB"));
        QCOMPARE(d.figures("cuda:1"), QString("NVIDIA L40, 48.0 GB"));
        QVERIFY2(d.lanes.words().text().startsWith("2 GPUs are attached."), qPrintable(d.lanes.words().text()));
        QVERIFY(d.lanes.words().toolTip().contains("NVML does not find GPU-b"));
        QCOMPARE(d.lanes.view().lanes().front().nodes.size(), std::size_t{3});
        QVERIFY(d.lanes.draw_button().isEnabled());
    }

    void a_node_is_dragged_onto_a_gpu_and_back() {
        Devices d(two_gpus());
        d.drag("node-2", "cuda:1");
        QCOMPARE(d.device_of(1), std::string("cuda:1"));
        QCOMPARE(d.lanes.view().lanes()[3].nodes, std::vector<std::string>{"node-2"});
        QCOMPARE(d.document.undo_stack().undoText(), QString("Put node-2 on cuda:1"));
        d.document.undo_stack().undo();
        QCOMPARE(d.device_of(1), std::string("cpu"));
        QCOMPARE(d.lanes.view().lanes()[3].nodes, std::vector<std::string>{});
    }

    void by_keys_and_by_menu() {
        Devices d(two_gpus());
        auto& view = d.lanes.view();
        d.selection.select({.nodes = {"node-1"}});
        view.setFocus();
        QTest::keyClick(&view, Qt::Key_Down, Qt::AltModifier);
        QCOMPARE(d.device_of(0), std::string("cuda"));
        QTest::keyClick(&view, Qt::Key_Down, Qt::AltModifier);
        QCOMPARE(d.device_of(0), std::string("cuda:0"));
        QTest::keyClick(&view, Qt::Key_Up, Qt::AltModifier);
        QCOMPARE(d.device_of(0), std::string("cuda"));
        // Of several nodes at once, one step to undo.
        d.selection.select({.nodes = {"node-2", "node-3"}});
        QContextMenuEvent event(QContextMenuEvent::Mouse, view.chip("node-2").center(),
                                view.mapToGlobal(view.chip("node-2").center()));
        QCoreApplication::sendEvent(&view, &event);
        auto* menu = d.lanes.findChild<QMenu*>();
        QVERIFY(menu != nullptr && menu->isVisible());
        QAction* entry = nullptr;
        for (auto* action : menu->actions())
            if (action->text().startsWith("Put on cuda:1, NVIDIA L40")) entry = action;
        QVERIFY(entry != nullptr);
        QTest::mouseClick(menu, Qt::LeftButton, {}, menu->actionGeometry(entry).center());
        QCOMPARE(d.device_of(1), std::string("cuda:1"));
        QCOMPARE(d.device_of(2), std::string("cuda:1"));
        d.document.undo_stack().undo();
        QCOMPARE(d.device_of(1), std::string("cpu"));
        QCOMPARE(d.device_of(2), std::string("cpu"));
    }

    void a_click_draws_what_is_attached() {
        auto e = three_linked_nodes();
        e.failures.push_back({.target = "node-1"});
        e.pipeline.placement = {{"node-1"}, {"node-2"}, {"node-3"}};
        Devices d(two_gpus(), e);
        QSignalSpy told(&d.lanes, &DeviceLanes::told);
        QTest::mouseClick(&d.lanes.draw_button(), Qt::LeftButton);
        const auto& drawn = d.document.experiment();
        QCOMPARE(drawn.topology.nodes.size(), std::size_t{3});  // a node a stage, on two GPUs
        QCOMPARE(drawn.topology.regions.size(), std::size_t{1});
        QVERIFY(drawn.failures.empty() && drawn.pipeline.placement.empty() && drawn.topology.links.empty());
        const auto& nodes = drawn.topology.nodes;
        QCOMPARE(nodes[0].device, std::string("cuda:0"));
        QCOMPARE(nodes[1].device, std::string("cuda:0"));
        QCOMPARE(nodes[2].device, std::string("cuda:1"));
        QCOMPARE(*nodes[0].memory_bytes, 40e9);  // they share it
        QCOMPARE(*nodes[2].memory_bytes, 48e9);
        // The H100's speed is known, and two nodes share it; the L40 is no L4.
        QVERIFY(nodes[0].seconds_per_sample_per_block < 1e-3);
        QCOMPARE(nodes[2].seconds_per_sample_per_block, Node{}.seconds_per_sample_per_block);
        QVERIFY2(!has_errors(d.document.faults()),
                 d.document.faults().empty() ? "" : d.document.faults()[0].what.c_str());
        QCOMPARE(told.count(), 1);
        d.document.undo_stack().undo();
        QVERIFY(d.document.experiment() == e);
    }

    void more_gpus_than_stages_get_a_node_each() {
        auto e = three_linked_nodes();
        e.pipeline.stages = 2;
        draw_attached(e, {{0, "A", "a", 10}, {1, "A", "b", 20}, {2, "A", "c", 30}}, "");
        QCOMPARE(e.topology.nodes.size(), std::size_t{3});
        for (int i = 0; i < 3; ++i) {
            QCOMPARE(e.topology.nodes[static_cast<std::size_t>(i)].device, "cuda:" + std::to_string(i));
            QCOMPARE(*e.topology.nodes[static_cast<std::size_t>(i)].memory_bytes, 10.0 * (i + 1));
        }
    }

    void without_a_gpu_it_says_what_was_looked_for() {
        auto e = three_linked_nodes();
        e.topology.nodes[2].device = "cuda:3";
        Devices d({[] {
                       return AttachedGpus{
                           {}, {{"device", "the driver is missing", "libcuda.so.1 is not there", "Install it"}}};
                   },
                   [](const std::string&) -> GpuReading { throw std::logic_error("nobody is there to be read"); }},
                  e);
        QCOMPARE(d.lanes.words().text(),
                 QString("No GPU here: the driver is missing (libcuda.so.1 is not there). Install it"));
        QVERIFY(!d.lanes.draw_button().isEnabled());
        QCOMPARE(d.figures("cuda:3"), QString("not attached here"));
        QCOMPARE(d.lanes.view().lanes().size(), std::size_t{2});
    }

    /// A driver that hangs for a while: the window goes on, and asks once.
    void looking_is_not_waited_for() {
        std::atomic<int> asked = 0;
        std::atomic<bool> go_on = false;
        const auto window = std::this_thread::get_id();
        std::atomic<bool> on_window = false;
        const GpuSource slow{[&] {
                                 ++asked;
                                 if (std::this_thread::get_id() == window) on_window = true;
                                 while (!go_on && !on_window) std::this_thread::sleep_for(std::chrono::milliseconds(1));
                                 return two_gpus().attached();
                             },
                             two_gpus().read};
        Document document;
        SelectionModel selection;
        DeviceLanes lanes(document, selection, slow);
        QCOMPARE(lanes.words().text(), QString("GPUs were not looked for yet"));
        lanes.show();
        QTRY_COMPARE(asked.load(), 1);
        QVERIFY(!on_window);
        QCOMPARE(lanes.words().text(), QString("Looking for GPUs…"));
        QTest::mouseClick(&lanes.look_button(), Qt::LeftButton);
        QTest::qWait(20);
        QCOMPARE(asked.load(), 1);
        go_on = true;
        QTRY_VERIFY(!lanes.is_looking());
        QCOMPARE(lanes.view().lanes().size(), std::size_t{4});
        QTest::mouseClick(&lanes.look_button(), Qt::LeftButton);
        QTRY_COMPARE(asked.load(), 2);
    }
};

QTEST_MAIN(TestDeviceLanes)
#include "test_device_lanes.moc"
