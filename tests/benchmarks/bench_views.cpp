// SPDX-License-Identifier: GPL-3.0-or-later
// Figures of the window, one JSON line each: opening, idling, a frame of a large timeline, frames of a large
// canvas, the first plan after an edit; with --canvas the last two alone, with --lists lists and timelines, with --live
// a run that is watched while it goes on (--live 10000: among so many others), with --stored records of 10,000 runs and
// of 10 M spans. Drawn offscreen by the processor; figures of a frame are its thread's processor time, best of repeats.
#include <cstdlib>
#include <cstring>
#include <string>

#include <QApplication>
#include <QTemporaryDir>

#include "tests/benchmarks/bench_views/parts.h"
#include "tests/benchmarks/bench_views/stored_record.h"
#include "views/theme/theme.h"

using namespace skippipe;

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
