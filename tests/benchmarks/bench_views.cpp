// SPDX-License-Identifier: GPL-3.0-or-later
// Figures of the window, one JSON line each: opening, idling, a frame of a large timeline, frames of a large
// canvas, the first plan after an edit; with --canvas the last two alone, with --lists lists and timelines, with --live
// a run that is watched while it goes on (--live 10000: among so many others), with --stored records of 10,000 runs and
// of 10 M spans. Drawn offscreen by the processor; figures of a frame are its
// thread's processor time, best of repeats.
#include <algorithm>
#include <csignal>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QMouseEvent>
#include <QTableView>
#include <QTemporaryDir>
#include <QTimer>
#include <QWheelEvent>
#include <fmt/format.h>
#include <imgui.h>

#include "core/base/rng.h"
#include "core/experiment/io.h"
#include "plugins/planners/all.h"
#include "tests/benchmarks/bench_views/stored_record.h"
#include "tests/views/borrowed.h"
#include "views/curves/curve_panel.h"
#include "views/curves/plot.h"
#include "views/runs/run_list.h"
#include "views/runs/run_table.h"
#include "views/theme/theme.h"
#include "views/timeline/timeline_view.h"
#include "views/topology/view.h"
#include "views/window/main_window.h"

using namespace skippipe;

extern char** environ;

namespace {

double seconds_of(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double clock_s() { return seconds_of(CLOCK_MONOTONIC); }
double thread_s() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

void print(const std::string& name, double value, const char* unit, double goal, const char* ceiling, int repeat) {
    std::printf(
        "{\"name\": \"%s\", \"value\": %.4g, \"unit\": \"%s\", \"baseline\": \"goal\", \"baseline_value\": %g, "
        "\"ratio\": %.3g, \"threads\": 1, "
        "\"ceiling\": \"%s\", \"repeat\": %d}\n",
        name.c_str(), value, unit, goal, value / goal, ceiling, repeat);
    std::fflush(stdout);
}

void run_events(int ms) {
    QEventLoop loop;
    QTimer::singleShot(ms, &loop, &QEventLoop::quit);
    loop.exec();
}

/// Ends the process once the window has painted.
class FirstFrame : public QObject {
public:
    using QObject::QObject;
    bool eventFilter(QObject*, QEvent* event) override {
        if (event->type() == QEvent::Paint) QTimer::singleShot(0, [] { ::_exit(0); });
        return false;
    }
};

/// The window as the program opens it. `idle`: prints the share of a core that it takes over 5 s; else ends at its
/// first frame.
int window_process(QApplication& application, bool idle) {
    QTemporaryDir folder;
    const std::filesystem::path record = folder.filePath("record.sqlite").toStdString();
    if (idle) {
        Recorder recorder(record);
        RunStart start;
        start.name = "finished";
        start.experiment_json = start.plan_json = start.versions_json = start.machine_json = "{}";
        recorder.finish(recorder.begin(start), RunState::finished, {}, "{}");
    }
    PlannerRegistry planners;
    register_planners(planners);
    MainWindow window(planners, record);
    window.open_template("quick-start");
    FirstFrame first;
    if (!idle) window.centralWidget()->installEventFilter(&first);
    window.show();
    if (!idle) return QApplication::exec();
    while (window.plans().is_busy()) run_events(100);
    run_events(2000);
    const double cpu_s = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
    QElapsedTimer clock;
    clock.start();
    run_events(5000);
    print("processor share of an idle window over 5 s",
          100 * (seconds_of(CLOCK_PROCESS_CPUTIME_ID) - cpu_s) / (1e-3 * static_cast<double>(clock.elapsed())), "%", 1,
          "timers: a look at the record's time once a second", 1);
    application.processEvents();
    return 0;
}

void opening() {
    const std::string self = QCoreApplication::applicationFilePath().toStdString();
    double best_s = 1e300;
    constexpr int repeats = 5;
    for (int i = 0; i < repeats; ++i) {
        char* arguments[] = {const_cast<char*>(self.c_str()), const_cast<char*>("--open"), nullptr};
        const auto begin = std::chrono::steady_clock::now();
        pid_t child = 0;
        int status = 0;
        if (posix_spawn(&child, self.c_str(), nullptr, nullptr, arguments, environ) != 0 ||
            waitpid(child, &status, 0) != child || status != 0)
            return;
        best_s = std::min(best_s, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    }
    print("window opens: start of the process to the first frame", best_s, "s", 1,
          "loading Qt's libraries and making widgets", repeats);
}

void idling() {
    const std::string command = QCoreApplication::applicationFilePath().toStdString() + " --idle";
    if (std::system(command.c_str()) != 0) std::fprintf(stderr, "the idle window failed\n");
}

/// What spans of finished lanes take in memory, their share of running sums included; idle stretches are none.
double bytes_a_span(const TimelineData& data) {
    const TimelineData kept = data;  // as the window keeps it: without room to grow
    std::size_t bytes = 0;
    for (const auto& lane : kept.lanes())
        bytes += (lane.work.capacity() + lane.transfers.capacity()) * sizeof(LaneSpan) +
                 (lane.worked.capacity() + lane.forward.capacity() + lane.reach.capacity()) * sizeof(double);
    return static_cast<double>(bytes) / static_cast<double>(kept.span_count());
}

/// `count` spans on 50 lanes. With counters, what is in sight moves each frame, so that they are summed up anew.
void timeline_frame(int count, double goal_ms, bool counters) {
    constexpr int lanes = 50, repeats = 20;
    auto data = std::make_shared<TimelineData>();
    std::vector<std::string> names;
    for (int i = 0; i < lanes; ++i) names.push_back("node-" + std::to_string(i));
    data->set_lanes(names);
    Rng rng(1);
    std::vector<double> at(lanes, 0.0);
    for (int i = 0; i < count; ++i) {
        const NodeIndex node(i % lanes);
        auto& now = at[static_cast<std::size_t>(node)];
        const double start = now + 0.01 * static_cast<double>(rng.below(100)) / 100,
                     end = start + 0.02 + 0.01 * static_cast<double>(rng.below(100)) / 100;
        data->add(Span{i % 3 == 0 ? SpanKind::backward : SpanKind::forward, node, -1, StageIndex(node % 8),
                       MicrobatchIndex(i / lanes % 60), start, start, end, 0},
                  i / lanes / 60, 0, i);
        now = end;
    }
    data->finish();
    std::vector<IterationTime> iterations;
    for (int i = 0; i < 100; ++i) iterations.push_back({i, data->extent_s() * (i + 1) / 100, data->extent_s() / 100});
    data->set_iterations(iterations);
    TimeZoom zoom;
    zoom.set_extent(data->extent_s());
    TimelineView view(zoom);
    view.resize(1280, 24 + lanes * 28);
    view.set_data(data);
    view.set_counters(counters);
    if (counters) {  // as Watch shows it
        std::vector<int> stages;
        for (int i = 0; i < lanes; ++i) stages.push_back(i % 8);
        view.set_overview(true);
        view.set_groups(group_by_stage(stages));
    }
    view.show();
    run_events(50);
    if (!counters)
        print("memory of a span, of " + std::to_string(count / 1000) + ",000", bytes_a_span(*data), "B", 48,
              "40 B and its share of running sums", 1);
    for (const auto& [words, share] :
         {std::pair{"all in sight", 1.0}, {"a tenth in sight", 0.1}, {"a hundredth in sight", 0.01}}) {
        double best_s = 1e300;
        int vertices = 0;
        for (int i = 0; i < repeats; ++i) {
            zoom.show(0, data->extent_s() * share * (1 + 0.001 * i));
            const double begin_s = thread_s();
            vertices = view.build_frame()->TotalVtxCount;
            best_s = std::min(best_s, thread_s() - begin_s);
        }
        print(
            "timeline of " + std::to_string(count / 1000) + ",000 spans" +
                (counters ? ", overview, ruler, groups and counters" : "") + ", a frame up to the draw call, " + words,
            1e3 * best_s, "ms", goal_ms, (std::to_string(vertices) + " vertices of what is in sight").c_str(), repeats);
    }
}

/// A list of 10,000 runs: what a person waits for after a letter of the filter, and after a click on a column's head.
void run_list() {
    constexpr int count = 10'000, repeats = 10;
    std::vector<RunInfo> runs;
    Rng rng(3);
    for (int i = count; i > 0; --i) {
        RunInfo run;
        run.id = i;
        run.name = "experiment " + std::to_string(rng.below(100));
        run.planner = rng.below(2) == 0 ? "gpipe" : "skippipe-joint";
        run.state = RunState::finished;
        run.started_utc = "2026-01-31T12:00:00Z";
        run.last_validation_loss = 2 + rng.uniform();
        run.iteration_s = 1 + rng.uniform();
        if (rng.below(3) == 0) run.tags = {"sweep", "seed " + std::to_string(rng.below(5))};
        runs.push_back(std::move(run));
    }
    RunTable table;
    RunFilter filter;
    filter.setSourceModel(&table);
    QTableView view;
    view.setModel(&filter);
    view.setSortingEnabled(true);
    view.resize(900, 700);
    view.show();
    table.set_runs(runs);
    run_events(50);
    const auto best = [&](const std::string& name, const std::function<void(int)>& work) {
        double best_s = 1e300;
        for (int i = 0; i < repeats; ++i) {
            const double begin_s = thread_s();
            work(i);
            QApplication::processEvents();
            best_s = std::min(best_s, thread_s() - begin_s);
        }
        print("10,000 runs, " + name, 1e3 * best_s, "ms", 100, "the list painted anew, too", repeats);
    };
    best("filtered", [&](int i) { filter.set_words(i % 2 == 0 ? "gpipe sweep" : "gpipe"); });
    filter.set_words({});
    best("sorted by loss", [&](int i) {
        view.sortByColumn(RunTable::validation_loss, i % 2 == 0 ? Qt::AscendingOrder : Qt::DescendingOrder);
    });
    best("sorted by name",
         [&](int i) { view.sortByColumn(RunTable::name, i % 2 == 0 ? Qt::AscendingOrder : Qt::DescendingOrder); });
}

/// What a chart of 100 runs takes that all have grown: from the metrics to pixels; and how long the window is held up
/// when it is written as a file, which is drawn elsewhere.
void many_curves() {
    constexpr int runs = 100, points = 10'000, repeats = 5;
    std::vector<RunData> all(runs);
    for (int r = 0; r < runs; ++r) {
        all[static_cast<std::size_t>(r)].info.id = r + 1;
        for (int i = 0; i < points; ++i)
            all[static_cast<std::size_t>(r)].metrics.push_back(
                {.iteration = i, .name = "loss", .value = 6 - 1e-4 * i + 0.01 * (i * 7 % 13) + 0.01 * r});
    }
    std::vector<const RunData*> shown;
    for (const auto& run : all) shown.push_back(&run);
    CurvePanel panel;
    panel.resize(1000, 600);
    panel.show();
    panel.show_runs(borrowed(shown), 1);
    run_events(50);
    double new_s = 1e300, again_s = 1e300;
    for (int i = 0; i < repeats; ++i) {
        double from_s = thread_s();
        panel.show_runs(borrowed(shown), 1);
        QApplication::processEvents();
        new_s = std::min(new_s, thread_s() - from_s);
        from_s = thread_s();
        panel.charts().front()->plot().replot(QCustomPlot::rpImmediateRefresh);
        again_s = std::min(again_s, thread_s() - from_s);
    }
    print("100 runs of 10,000 points, a frame", 1e3 * again_s, "ms", 33, "Qt's rasteriser on one core", repeats);
    print("the same after new points of all", 1e3 * new_s, "ms", 33, "values sorted and thinned, then a frame",
          repeats);
    const double taken_s = thread_s();
    const auto draw = panel.exporter(CurveFormat::pdf);
    print("the same as a PDF, what the window's thread does for it", 1e3 * (thread_s() - taken_s), "ms", 33,
          "1 M points copied", 1);
}

double wall_s() { return seconds_of(CLOCK_MONOTONIC); }

/// Runs events until it is so; gives up after a minute.
bool wait_until(const std::function<bool()>& done) {
    for (const double begin_s = wall_s(); !done(); run_events(1))
        if (wall_s() - begin_s > 60) return false;
    return true;
}

/// A record on the disk of 10,000 runs with 100 values each: until it is listed, then filtered and sorted.
void stored_runs(const std::filesystem::path& folder) {
    constexpr int count = 10'000, metrics = 100, repeats = 10;
    const auto file = folder / "runs.sqlite";
    make_runs_record(file, count, metrics);
    const double begin_s = wall_s();
    RunFeed feed(file);
    RunList list(feed);
    list.resize(900, 700);
    list.show();
    if (!wait_until([&] { return feed.runs().size() == count; })) return;
    QApplication::processEvents();
    print("a record of 10,000 runs of 100 values, until it is listed", wall_s() - begin_s, "s", 1,
          "a row a run read and painted", 1);
    auto* filter = list.findChild<QLineEdit*>("run_filter");
    double filtered_s = 0, sorted_s = 0;
    for (int i = 0; i < repeats; ++i) {
        double from_s = thread_s();
        filter->setText(i % 2 == 0 ? "gpipe" : "experiment 7");
        QApplication::processEvents();
        filtered_s = std::max(filtered_s, thread_s() - from_s);
        from_s = thread_s();
        list.view().sortByColumn(RunTable::validation_loss, i % 2 == 0 ? Qt::AscendingOrder : Qt::DescendingOrder);
        QApplication::processEvents();
        sorted_s = std::max(sorted_s, thread_s() - from_s);
    }
    print("the same list filtered, the longest", 1e3 * filtered_s, "ms", 100, "painted anew, too", repeats);
    print("the same list sorted, the longest", 1e3 * sorted_s, "ms", 100, "painted anew, too", repeats);
}

/// A stored run's spans: until the newest are painted, until all that is read unasked is, and a frame then.
void stored_spans(const std::filesystem::path& folder, std::int64_t count, double paint_goal_s, double frame_goal_ms) {
    const auto file = folder / "spans.sqlite";
    std::filesystem::remove(file);
    make_spans_record(file, count);
    TimeZoom zoom;
    TimelineView view(zoom);
    view.resize(1280, 600);
    view.show();
    run_events(50);
    const double begin_s = wall_s();
    RunFeed feed(file);
    feed.watch(1);
    const auto paint = [&] {
        const auto run = feed.data(1);
        zoom.set_extent(run->lanes->extent_s());
        view.set_data(run->lanes);
        view.build_frame();
    };
    const std::string name = std::to_string(count / 1'000'000) + " M stored spans, ";
    if (!wait_until([&] { return feed.data(1) != nullptr && feed.data(1)->lanes->span_count() > 0; })) return;
    paint();
    print(name + "until the newest are painted", wall_s() - begin_s, "s", paint_goal_s, "rows of SQLite as they come",
          1);
    if (!wait_until([&] { return !feed.is_loading(); })) return;
    paint();
    print(name + "until all that is read unasked is painted: " + std::to_string(feed.data(1)->lanes->span_count()),
          wall_s() - begin_s, "s", paint_goal_s, "rows of SQLite and idle causes", 1);
    feed.want(1, 0, feed.data(1)->network_s);
    if (!wait_until([&] { return !feed.is_loading() && feed.data(1)->unread.empty(); })) return;
    paint();
    print(name + "until all of them are painted: " + std::to_string(feed.data(1)->lanes->span_count()),
          wall_s() - begin_s, "s", static_cast<double>(count) * 1e-6, "rows of SQLite and idle causes", 1);
    double best_s = 1e300;
    constexpr int repeats = 10;
    for (int i = 0; i < repeats; ++i) {
        zoom.show(0, feed.data(1)->lanes->extent_s() * (1 - 0.001 * i));
        const double from_s = thread_s();
        view.build_frame();
        best_s = std::min(best_s, thread_s() - from_s);
    }
    print(name + "a frame up to the draw call", 1e3 * best_s, "ms", frame_goal_ms, "all in sight", repeats);
}

/// Of the list in Compare, while one of its runs goes on.
void filter_while_live(MainWindow& window) {
    constexpr int repeats = 10;
    window.show_workspace(MainWindow::compare);
    run_events(1000);
    auto* filter = window.compare_page().list().findChild<QLineEdit*>("run_filter");
    double longest_s = 0;
    for (int i = 0; i < repeats; ++i) {
        run_events(300);
        const double from_s = thread_s();
        filter->setText(i % 2 == 0 ? "gpipe" : "experiment 7");
        QApplication::processEvents();
        longest_s = std::max(longest_s, thread_s() - from_s);
    }
    print("10,000 runs filtered while one of them goes on, the longest", 1e3 * longest_s, "ms", 100,
          "painted anew, too", repeats);
}

/// Another process records 50,000 spans a second while Watch follows them: how evenly the window answers, as gaps
/// between ticks of 16 ms, and what its thread works. `others`: finished runs that the record has besides.
void live_run(const std::filesystem::path& folder, int others) {
    constexpr double spans_per_s = 50'000, writes_s = 60, settles_s = 5, measures_s = 10;
    const auto file = folder / fmt::format("live-{}.sqlite", others);
    if (others > 0) make_runs_record(file, others, 1);
    const std::string self = QCoreApplication::applicationFilePath().toStdString(), rate = std::to_string(spans_per_s),
                      length = std::to_string(writes_s);
    std::string name = file.string();
    const char* arguments[] = {self.c_str(), "--write", name.c_str(), rate.c_str(), length.c_str(), nullptr};
    pid_t writer = 0;
    if (posix_spawn(&writer, self.c_str(), nullptr, nullptr, const_cast<char**>(arguments), environ) != 0) return;
    PlannerRegistry planners;
    register_planners(planners);
    {
        MainWindow window(planners, file);
        window.resize(1280, 800);
        window.show();
        const auto running = [&] { return window.feed().running(); };
        if (wait_until([&] { return running() != nullptr && running()->iterations_done > 0; })) {
            window.show_workspace(MainWindow::watch);
            window.watch_page().show_run(running()->id);
            const RunId run = running()->id;
            run_events(static_cast<int>(1000 * settles_s));
            const auto spans = [&] {
                const auto data = window.feed().data(run);
                return data ? static_cast<double>(data->lanes->span_count()) : 0.0;
            };
            std::vector<double> gaps_ms, works_ms;
            double last_s = wall_s(), worked_s = thread_s();
            const double cpu_s = thread_s(), from_s = last_s;
            // From one arrival to another one: between them it is not known what was written.
            std::vector<std::pair<double, double>> arrivals;
            QObject listener;
            QObject::connect(&window.feed(), &RunFeed::run_grew, &listener,
                             [&] { arrivals.emplace_back(wall_s(), spans()); });
            QTimer ticks;
            ticks.setTimerType(Qt::PreciseTimer);
            QObject::connect(&ticks, &QTimer::timeout, [&] {
                const double now_s = wall_s();
                gaps_ms.push_back(1e3 * (now_s - std::exchange(last_s, now_s)));
                const double work_s = thread_s();
                works_ms.push_back(1e3 * (work_s - std::exchange(worked_s, work_s)));
            });
            ticks.start(16);
            run_events(static_cast<int>(1000 * measures_s));
            ticks.stop();
            const double took_s = wall_s() - from_s;
            std::sort(gaps_ms.begin(), gaps_ms.end());
            std::sort(works_ms.begin(), works_ms.end());
            const std::string what = fmt::format("50,000 spans a second arrive in Watch{}, ",
                                                 others > 0 ? fmt::format(", among {} runs", others + 1) : "");
            const auto ticks_seen = static_cast<int>(gaps_ms.size());
            print(what + "gap between ticks (95th percentile)", gaps_ms[gaps_ms.size() * 95 / 100], "ms", 33,
                  "16 ms by the timer", ticks_seen);
            print(what + "the longest gap", gaps_ms.back(), "ms", 33, "16 ms by the timer", ticks_seen);
            print(what + "the window's own work between two ticks, the most", works_ms.back(), "ms", 33,
                  "a thread's processor time, whatever else runs", ticks_seen);
            print(what + "the same (95th percentile)", works_ms[works_ms.size() * 95 / 100], "ms", 33,
                  "a thread's processor time, whatever else runs", ticks_seen);
            print(what + "share of a core that the window's thread works", 100 * (thread_s() - cpu_s) / took_s, "%", 50,
                  "pictures of what came", 1);
            print(what + "ticks", static_cast<double>(ticks_seen) / took_s, "1/s", 30, "62.5 by the timer", ticks_seen);
            if (arrivals.size() > 1)
                print(what + "taken in",
                      (arrivals.back().second - arrivals.front().second) /
                          (arrivals.back().first - arrivals.front().first),
                      "spans/s", spans_per_s, "what is written", static_cast<int>(arrivals.size()) - 1);
            if (others > 0) filter_while_live(window);
        }
    }
    ::kill(writer, SIGTERM);
    ::waitpid(writer, nullptr, 0);
}

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

void mouse(QWidget& on, QEvent::Type type, QPoint at, Qt::MouseButton button, Qt::MouseButtons down) {
    QMouseEvent event(type, at, on.mapToGlobal(at), button, down, Qt::AltModifier);
    QApplication::sendEvent(&on, &event);
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

void canvases() {
    window_edits();
    canvas_frames(200, 800, false, 8);
    canvas_frames(500, 2'000, false, 16.7);
    canvas_frames(500, 2'000, true, 16.7);
    first_answer();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc > 4 && std::strcmp(argv[1], "--write") == 0)
        return write_live_run(argv[2], std::stod(argv[3]), std::stod(argv[4])), 0;
    qputenv("QT_QPA_PLATFORM", "offscreen");
    qputenv("QT_LOGGING_RULES", "qt.qpa.*=false");
    QApplication application(argc, argv);
    apply_theme(application, false);
    if (argc > 1 && std::strcmp(argv[1], "--open") == 0) return window_process(application, false);
    if (argc > 1 && std::strcmp(argv[1], "--idle") == 0) return window_process(application, true);
    if (argc > 1 && std::strcmp(argv[1], "--stored") == 0) {
        const QTemporaryDir folder;
        stored_runs(folder.path().toStdString());
        stored_spans(folder.path().toStdString(), 1'000'000, 1, 16);
        stored_spans(folder.path().toStdString(), 10'000'000, 1, 33);
        return 0;
    }
    if (argc > 1 && std::strcmp(argv[1], "--live") == 0) {
        const QTemporaryDir folder;
        live_run(folder.path().toStdString(), argc > 2 ? std::atoi(argv[2]) : 0);
        return 0;
    }
    if (argc > 1 && std::strcmp(argv[1], "--canvas") == 0) return canvases(), 0;
    timeline_frame(100'000, 16, false);
    timeline_frame(1'000'000, 16, false);
    timeline_frame(1'000'000, 16, true);
    timeline_frame(10'000'000, 33, false);
    timeline_frame(10'000'000, 33, true);
    run_list();
    many_curves();
    if (argc > 1 && std::strcmp(argv[1], "--lists") == 0) return 0;
    canvases();
    opening();
    idling();
    return 0;
}
