// SPDX-License-Identifier: GPL-3.0-or-later
// Records of runs that ran as they were planned, and windows that show them.
#pragma once
#include <filesystem>
#include <memory>
#include <vector>

#include <QLabel>
#include <QTemporaryDir>
#include <QTextDocumentFragment>
#include <QtTest>

#include "core/experiment/io.h"
#include "core/planner/timeline/evaluator.h"
#include "tests/views/window_experiments.h"
#include "views/window/main_window.h"

namespace skippipe {

inline constexpr int recorded_iterations = 4;

/// A record of runs of one plan, with their spans.
struct Recorded {
    QTemporaryDir folder;
    std::filesystem::path file = folder.filePath("record.sqlite").toStdString();
    Experiment experiment = three_linked_nodes();
    std::shared_ptr<const PlanOutcome> planned;
    std::vector<RunId> runs;

    explicit Recorded(const PlannerRegistry& planners)
        : planned(make_plan(experiment, *planners.find("gpipe"), request_for(experiment))) {}

    double length() const { return planned->timeline.iteration_s; }
    RunId begin(Recorder& recorder, const Experiment& of) {
        runs.push_back(recorder.begin({.name = "recorded",
                                       .planner = "gpipe",
                                       .experiment_json = to_text(of),
                                       .plan_json = to_json(planned->plan, planned->problem, nullptr).dump(),
                                       .iterations = recorded_iterations,
                                       .predicted_iteration_s = length()}));
        return runs.back();
    }
    void iterate(Recorder& recorder, RunId run, int i) {
        recorder.spans(run, i, i * length(), planned->timeline.spans);
        recorder.metric(run, {0, i, "iteration_s", length(), (i + 1) * length(), 1, 1});
        recorder.metric(run, {0, i, "loss", 5.0 - i, (i + 1) * length(), 1, 1});
        recorder.iteration_done(run, i + 1, 1);
    }
    RunId add(Recorder& recorder, const Experiment& of, double loss = 3, double slower = 1) {
        const RunId run = begin(recorder, of);
        for (int i = 0; i < recorded_iterations; ++i) iterate(recorder, run, i);
        recorder.finish(run, RunState::finished,
                        {.iterations_done = recorded_iterations,
                         .iteration_s = slower * length(),
                         .tokens_per_second = 123456 / slower,
                         .last_validation_loss = loss},
                        "{}");
        return run;
    }
};

inline bool is_read(const MainWindow& window, RunId run) {
    auto& feed = const_cast<MainWindow&>(window).feed();
    const auto data = feed.data(run);
    return data != nullptr && data->explained_iterations >= recorded_iterations && !feed.is_loading();
}

/// A window that watches the run; nothing where it is not read in time.
inline std::unique_ptr<MainWindow> watching(const PlannerRegistry& planners, const Recorded& recorded, RunId run,
                                            QSize size = {1280, 800}) {
    auto window = std::make_unique<MainWindow>(planners, recorded.file);
    window->resize(size);
    window->show();
    if (!QTest::qWaitForWindowExposed(window.get())) return nullptr;
    window->show_workspace(MainWindow::watch);
    window->watch_page().show_run(run);
    if (!QTest::qWaitFor([&] { return is_read(*window, run); }, patient_ms)) return nullptr;
    return window;
}

/// What the selection panel says, without its links.
inline QString selection_words(const WatchPage& page) {
    return plain(QTextDocumentFragment::fromHtml(page.findChild<QLabel*>("selected_span")->text()).toPlainText());
}

/// A window that compares the runs; nothing where they are not read in time.
inline std::unique_ptr<MainWindow> comparing(const PlannerRegistry& planners, const Recorded& recorded,
                                             const std::vector<RunId>& runs, QSize size = {1280, 800}) {
    auto window = std::make_unique<MainWindow>(planners, recorded.file);
    window->resize(size);
    window->show();
    const auto waits = [](auto&& done) { return QTest::qWaitFor(done, patient_ms); };
    if (!waits([&] { return window->feed().run(runs.back()) != nullptr; })) return nullptr;
    window->show_workspace(MainWindow::compare);
    window->compare_page().list().select(runs);
    for (const RunId run : runs)
        if (!waits([&] { return is_read(*window, run); })) return nullptr;
    return window;
}

}  // namespace skippipe
