// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/benchmarks/bench_views/parts.h"

#include <algorithm>
#include <csignal>
#include <string>

#include <spawn.h>
#include <sys/wait.h>

#include <QElapsedTimer>
#include <QTimer>
#include <fmt/format.h>

#include "plugins/planners/all.h"
#include "tests/benchmarks/bench_views/measure.h"
#include "tests/benchmarks/bench_views/stored_record.h"
#include "views/window/main_window.h"

extern char** environ;

namespace skippipe {
namespace {

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

}  // namespace

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
            double last_s = clock_s(), worked_s = thread_s();
            const double cpu_s = thread_s(), from_s = last_s;
            // From one arrival to another one: between them it is not known what was written.
            std::vector<std::pair<double, double>> arrivals;
            QObject listener;
            QObject::connect(&window.feed(), &RunFeed::run_grew, &listener,
                             [&] { arrivals.emplace_back(clock_s(), spans()); });
            QTimer ticks;
            ticks.setTimerType(Qt::PreciseTimer);
            QObject::connect(&ticks, &QTimer::timeout, [&] {
                const double now_s = clock_s();
                gaps_ms.push_back(1e3 * (now_s - std::exchange(last_s, now_s)));
                const double work_s = thread_s();
                works_ms.push_back(1e3 * (work_s - std::exchange(worked_s, work_s)));
            });
            ticks.start(16);
            run_events(static_cast<int>(1000 * measures_s));
            ticks.stop();
            const double took_s = clock_s() - from_s;
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

}  // namespace skippipe
