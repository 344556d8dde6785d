// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/benchmarks/bench_views/parts.h"

#include <algorithm>
#include <fmt/format.h>

#include <QTableView>
#include <QTemporaryDir>

#include "core/experiment/io.h"
#include "plugins/planners/all.h"
#include "tests/benchmarks/bench_views/measure.h"
#include "views/curves/curve_panel.h"
#include "views/curves/plot.h"
#include "views/runs/run_list.h"
#include "views/runs/run_table.h"

namespace skippipe {
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

void many_curves() {
    constexpr int runs = 100, points = 10'000, repeats = 5;
    std::vector<std::shared_ptr<const RunData>> shown, other;
    for (int r = 0; r < runs; ++r) {
        auto run = std::make_shared<RunData>();
        run->info.id = r + 1;
        for (int i = 0; i < points; ++i)
            run->metrics.push_back(
                {.iteration = i, .name = "loss", .value = 6 - 1e-4 * i + 0.01 * (i * 7 % 13) + 0.01 * r});
        other.push_back(std::make_shared<RunData>(*run));
        shown.push_back(std::move(run));
    }
    CurvePanel panel;
    panel.resize(1000, 600);
    panel.show();
    panel.show_runs(shown, 1);
    run_events(50);
    double new_s = 1e300, all_s = 1e300, again_s = 1e300;
    for (int i = 0; i < repeats; ++i) {
        double from_s = thread_s();
        std::swap(shown.front(), other.front());  // another snapshot of it
        panel.show_runs(shown, 1);
        QApplication::processEvents();
        new_s = std::min(new_s, thread_s() - from_s);
        std::swap(shown, other);
        from_s = thread_s();
        panel.show_runs(shown, 1);
        QApplication::processEvents();
        all_s = std::min(all_s, thread_s() - from_s);
        from_s = thread_s();
        panel.charts().front()->plot().replot(QCustomPlot::rpImmediateRefresh);
        again_s = std::min(again_s, thread_s() - from_s);
    }
    print("100 runs of 10,000 points, a frame", 1e3 * again_s, "ms", 33, "Qt's rasteriser on one core", repeats);
    print("the same after new points of one", 1e3 * new_s, "ms", 33, "its curve thinned, then a frame", repeats);
    print("the same after new points of all", 1e3 * all_s, "ms", 33, "values sorted and thinned, then a frame",
          repeats);
    const double taken_s = thread_s();
    const auto draw = panel.exporter(CurveFormat::pdf);
    print("the same as a PDF, what the window's thread does for it", 1e3 * (thread_s() - taken_s), "ms", 33,
          "1 M points copied", 1);
}

}  // namespace skippipe
