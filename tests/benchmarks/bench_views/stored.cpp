// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/benchmarks/bench_views/parts.h"

#include <algorithm>
#include <fmt/format.h>

#include <QTableView>

#include "plugins/planners/all.h"
#include "tests/benchmarks/bench_views/measure.h"
#include "tests/benchmarks/bench_views/stored_record.h"
#include "views/window/main_window.h"

namespace skippipe {
void stored_runs(const std::filesystem::path& folder) {
    constexpr int count = 10'000, metrics = 100, repeats = 10;
    const auto file = folder / "runs.sqlite";
    make_runs_record(file, count, metrics);
    const double begin_s = clock_s();
    RunFeed feed(file);
    RunList list(feed);
    list.resize(900, 700);
    list.show();
    if (!wait_until([&] { return feed.runs().size() == count; })) return;
    QApplication::processEvents();
    print("a record of 10,000 runs of 100 values, until it is listed", clock_s() - begin_s, "s", 1,
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

void stored_spans(const std::filesystem::path& folder, std::int64_t count, double paint_goal_s, double frame_goal_ms) {
    const auto file = folder / "spans.sqlite";
    std::filesystem::remove(file);
    make_spans_record(file, count);
    TimeZoom zoom;
    TimelineView view(zoom);
    view.resize(1280, 600);
    view.show();
    run_events(50);
    const double begin_s = clock_s();
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
    print(name + "until the newest are painted", clock_s() - begin_s, "s", paint_goal_s, "rows of SQLite as they come",
          1);
    if (!wait_until([&] { return !feed.is_loading(); })) return;
    paint();
    print(name + "until all that is read unasked is painted: " + std::to_string(feed.data(1)->lanes->span_count()),
          clock_s() - begin_s, "s", paint_goal_s, "rows of SQLite and idle causes", 1);
    feed.want(1, 0, feed.data(1)->network_s);
    if (!wait_until([&] { return !feed.is_loading() && feed.data(1)->unread.empty(); })) return;
    paint();
    print(name + "until all of them are painted: " + std::to_string(feed.data(1)->lanes->span_count()),
          clock_s() - begin_s, "s", static_cast<double>(count) * 1e-6, "rows of SQLite and idle causes", 1);
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

}  // namespace skippipe
