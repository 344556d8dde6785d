// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/benchmarks/bench_views/parts.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <QApplication>
#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QTimer>

#include "plugins/planners/all.h"
#include "tests/benchmarks/bench_views/measure.h"
#include "views/window/main_window.h"

extern char** environ;

namespace skippipe {
namespace {

/// Ends the process once the window has painted.
class FirstFrame : public QObject {
public:
    using QObject::QObject;
    bool eventFilter(QObject*, QEvent* event) override {
        if (event->type() == QEvent::Paint) QTimer::singleShot(0, [] { ::_exit(0); });
        return false;
    }
};

}  // namespace

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

}  // namespace skippipe
