// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/benchmarks/bench_views/parts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>

#include <QElapsedTimer>
#include <fmt/format.h>

#include "core/base/rng.h"
#include "core/experiment/io.h"
#include "plugins/planners/all.h"
#include "tests/benchmarks/bench_views/measure.h"
#include "views/topology/view.h"
#include "views/window/main_window.h"

namespace skippipe {
namespace {

Experiment large_experiment(int nodes, int links) {
    Experiment e;
    Rng rng(2);
    const int columns = 20;
    for (int i = 0; i < nodes; ++i) {
        Node node;
        node.id = "n" + std::to_string(i);
        node.x = 90.0 * (i % columns);
        node.y = 90.0 * (i / columns);
        e.topology.nodes.push_back(node);
    }
    while (static_cast<int>(e.topology.links.size()) < links) {
        const auto a = rng.below(static_cast<std::uint64_t>(nodes)), b = rng.below(static_cast<std::uint64_t>(nodes));
        if (a != b) e.topology.links.push_back({"n" + std::to_string(a), "n" + std::to_string(b), 0.05, 1e8, true});
    }
    return e;
}

/// Median and 95th percentile of what `move(i)` and the events after it take.
void print_frames(const std::string& what, double goal_ms, const std::function<void(int)>& move) {
    constexpr int frames = 100;
    std::vector<double> took;
    for (int i = 0; i < frames; ++i) {
        const double begin_s = thread_s();
        move(i);
        QApplication::processEvents();
        took.push_back(thread_s() - begin_s);
    }
    std::sort(took.begin(), took.end());
    print(what + " (median)", 1e3 * took[took.size() / 2], "ms", goal_ms, "Qt's rasteriser on one core", frames);
    print(what + " (95th percentile)", 1e3 * took[took.size() * 95 / 100], "ms", goal_ms, "Qt's rasteriser on one core",
          frames);
}

/// Nodes of 20 columns; with `regions`, a hull for 25 each, which fold by themselves far out.
void canvas_frames(int nodes, int links, bool regions, double goal_ms) {
    Document document;
    SelectionModel selection;
    TopologyView view(document, selection, true);
    view.resize(1000, 900);  // in which no region of 500 nodes folds by itself
    view.show();
    Experiment e = large_experiment(nodes, links);
    for (int i = 0; regions && i < nodes; ++i) {
        const std::string region = "r" + std::to_string(i / 100 * 4 + i % 20 / 5);
        e.topology.nodes[static_cast<std::size_t>(i)].region = region;
        if (i % 5 == 0 && i / 20 % 5 == 0) e.topology.regions.push_back({region, 0, 0});
    }
    document.start_new(e);
    run_events(200);
    const auto name = fmt::format("canvas of {} nodes and {} links{}", nodes, links, regions ? " in regions" : "");
    for (const int together : {1, 20, nodes}) {
        Selection selected;
        for (int i = 0; i < together; ++i) selected.nodes.insert("n" + std::to_string((105 + i) % nodes));
        selection.select(selected);
        run_events(50);
        const QPoint from = view.mapFromScene(view.scene_model().node("n105")->pos());
        mouse(*view.viewport(), QEvent::MouseButtonPress, from, Qt::LeftButton, Qt::LeftButton);
        print_frames(fmt::format("{}, a drag frame of {}", name, together), goal_ms, [&](int i) {
            const QPoint to = from + QPoint(static_cast<int>(60 * std::sin(0.2 * i)), 5 + i / 2);
            mouse(*view.viewport(), QEvent::MouseMove, to, Qt::NoButton, Qt::LeftButton);
        });
        mouse(*view.viewport(), QEvent::MouseButtonRelease, from, Qt::LeftButton, Qt::NoButton);
        run_events(50);
        document.undo_stack().undo();
    }
    print_frames(name + ", another node is selected", goal_ms,
                 [&](int i) { selection.select({.nodes = {"n" + std::to_string(100 + i % 7)}}); });
    selection.select({});
    const QPoint middle = view.viewport()->rect().center();
    mouse(*view.viewport(), QEvent::MouseButtonPress, middle, Qt::MiddleButton, Qt::MiddleButton);
    print_frames(name + ", the camera moves", goal_ms, [&](int i) {
        const QPoint to = middle + QPoint(i % 2 ? 30 : -30, i % 4 < 2 ? 9 : -9);
        mouse(*view.viewport(), QEvent::MouseMove, to, Qt::NoButton, Qt::MiddleButton);
    });
    mouse(*view.viewport(), QEvent::MouseButtonRelease, middle, Qt::MiddleButton, Qt::NoButton);
    const auto turn = [&](bool closer) {
        const QPointF at = view.viewport()->rect().center();
        QWheelEvent wheel(at, view.viewport()->mapToGlobal(at), {}, {0, closer ? 120 : -120}, Qt::NoButton,
                          Qt::NoModifier, Qt::NoScrollPhase, false);
        QApplication::sendEvent(view.viewport(), &wheel);
    };
    print_frames(name + ", a step of the wheel", goal_ms, [&](int i) { turn(i % 20 < 10); });
    if (!regions || nodes < 500) return;  // only these are near enough to where they fold
    view.fit();
    print_frames(name + ", a step at which all regions fold or unfold", goal_ms, [&](int i) { turn(i % 2); });
}

/// From an edit of the quick start, 20 nodes, to the first plan that is shown of it.
void first_answer() {
    constexpr int edits = 12;
    PlannerRegistry planners;
    register_planners(planners);
    Document document;
    document.start_new(load_experiment(SKIPPIPE_SOURCE_DIR "/resources/experiments/quick-start.json").experiment);
    PlanService plans(document, planners);
    const auto took_ms = [&](const std::function<void(Experiment&)>& edit) {
        bool answered = false;
        const auto watching = QObject::connect(&plans, &PlanService::planned, [&] { answered = true; });
        const double from_s = clock_s();
        document.edit("edit", edit);
        while (!answered && clock_s() < from_s + 10) QApplication::processEvents(QEventLoop::AllEvents, 5);
        QObject::disconnect(watching);
        return 1e3 * (clock_s() - from_s);
    };
    std::vector<double> carried, searched;
    for (int i = 0; i < edits; ++i) {
        carried.push_back(took_ms([](Experiment& e) { e.topology.links[3].latency_s *= 1.1; }));
        searched.push_back(
            took_ms([&](Experiment& e) { e.pipeline.stages = i % 2 ? 6 : 5, e.pipeline.stage_sizes.clear(); }));
    }
    for (auto* all : {&carried, &searched}) std::sort(all->begin(), all->end());
    print("an edit of 20 nodes, first plan, by the clock (median)", carried[edits / 2], "ms", 100,
          "15 ms are waited for the next edit", edits);
    print("the same where the plan before no longer holds (median)", searched[edits / 2], "ms", 100,
          "15 ms are waited for the next edit", edits);
}

/// What an edit of a large network takes of the window's thread, planning beside it left out.
void window_edits() {
    const QTemporaryDir folder;
    PlannerRegistry planners;
    register_planners(planners);
    MainWindow window(planners, folder.filePath("record.sqlite").toStdString());
    window.resize(1280, 800);
    window.show();
    Experiment e = large_experiment(500, 2'000);
    e.pipeline.plan_steps = 1;
    window.document().start_new(e);
    run_events(500);
    const std::string what = "an edit of 500 nodes and 2000 links in the whole window, ";
    print_frames(what + "a link's latency", 33, [&](int i) {
        window.document().edit("edit", [&](Experiment& x) { x.topology.links[7].latency_s = 0.01 + 1e-4 * i; });
    });
    print_frames(what + "a node moved", 33, [&](int i) {
        window.document().edit("move", [&](Experiment& x) { x.topology.nodes[7].x = 3.0 * i; });
    });
}

}  // namespace

void canvases() {
    window_edits();
    canvas_frames(200, 800, false, 8);
    canvas_frames(500, 2'000, false, 16.7);
    canvas_frames(500, 2'000, true, 16.7);
    first_answer();
}

}  // namespace skippipe
