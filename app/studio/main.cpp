// SPDX-License-Identifier: GPL-3.0-or-later
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>
#include <QApplication>
#include <QEventLoop>
#include <QSettings>
#include <QStandardPaths>
#include <QTimer>

#include "core/base/build_info.h"
#include "core/record/record.h"
#include "plugins/planners/all.h"
#include "views/imgui/host.h"
#include "views/theme/theme.h"
#include "views/window/main_window.h"
#include "views/window/screenshot.h"

namespace {

struct Options {
    std::string file, theme, renderer = "auto", planner, record, screenshot, view = "topology", size = "1280x800",
                             select, report, question;
    std::vector<long long> runs;
    long long run = 0;
    double scale = 1;
    bool launch = false;
};

void describe(CLI::App& app, Options& o) {
    app.add_option("FILE,--experiment", o.file, "Experiment to open");
    app.add_option("--db", o.record, "Record of runs (default: in the XDG data folder)");
    app.add_option("--theme", o.theme, "Instead of the desktop's")->check(CLI::IsMember({"light", "dark"}));
    app.add_option("--planner", o.planner, "Planner to choose in the opened experiment");
    app.add_flag("--launch", o.launch, "Launch the experiment once the window is open");
    app.add_option("--renderer", o.renderer, "What draws timelines")
        ->check(CLI::IsMember({"auto", "software", "opengl"}));
    app.add_option("--screenshot", o.screenshot, "Draw a view into this PNG file, without a display");
    app.add_option("--view", o.view, "View to draw")
        ->check(CLI::IsMember({"topology", "timeline", "curves", "compare", "stages", "runs"}));
    app.add_option("--run", o.run, "Run to show (default: the newest)");
    app.add_option("--size", o.size, "Size of the screenshot")->check([](const std::string& text) {
        return skippipe::parse_size(text).isValid() ? std::string{} : "WIDTHxHEIGHT is needed, each 200 to 8000";
    });
    app.add_option(
        "--select", o.select,
        "What the screenshot selects: node:NAME, region:NAME, link:FROM->TO, stage:NUMBER, microbatch:NUMBER, "
        "reduction, runs:1,2, "
        "find:WORDS, tab:NAME, vary:FIELD=VALUES, menu:WORDS or context:NODE, several of them with ; between");
    app.add_option("--report", o.report, "Write a report of --runs into this file, .html or .pdf, without a display");
    app.add_option("--runs", o.runs, "Runs of the report, the baseline first, as 3,1,2")->delimiter(',');
    app.add_option("--question", o.question, "What these runs were made to answer");
    app.add_option("--scale", o.scale, "Pixels a point in the screenshot")->check(CLI::Range(0.5, 4.0));
}

/// Returns the program's exit code.
int report(skippipe::MainWindow& window, const Options& options) {
    bool is_written = false;
    QEventLoop loop;
    QObject::connect(&window, &skippipe::MainWindow::exported, &loop, [&](const QString&, bool written) {
        is_written = written;
        loop.quit();
    });
    window.export_report({options.runs.begin(), options.runs.end()}, QString::fromStdString(options.question),
                         std::filesystem::absolute(options.report));
    loop.exec();
    if (!is_written) std::fprintf(stderr, "%s\n", window.banner().text().toUtf8().constData());
    return is_written ? 0 : 2;
}

/// Returns the program's exit code.
int draw(skippipe::MainWindow& window, const Options& options) {
    const QString problem = skippipe::take_screenshot(
        window, {QString::fromStdString(options.screenshot), QString::fromStdString(options.view), options.run,
                 skippipe::parse_size(options.size), QString::fromStdString(options.select)});
    if (!problem.isEmpty()) std::fprintf(stderr, "%s\n", problem.toUtf8().constData());
    return problem.isEmpty() ? 0 : 2;
}

}  // namespace

int main(int argc, char** argv) {
    Options options;
    CLI::App app{"SkipPipe Studio: draw, launch, watch and compare pipelines that skip", "skippipe-studio"};
    app.set_version_flag("--version", skippipe::version);
    describe(app, options);
    try {
        app.parse(argc, argv);
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? 0 : 2;
    }
    if (!options.screenshot.empty() || !options.report.empty()) {
        qputenv("QT_QPA_PLATFORM", "offscreen");
        qputenv("QT_SCALE_FACTOR", QByteArray::number(options.scale));
    }
    int qt_arguments = 1;
    QApplication application(qt_arguments, argv);
    QApplication::setApplicationName("skippipe-studio");
    QApplication::setApplicationDisplayName("SkipPipe Studio");
    using namespace skippipe;
    if (options.renderer != "auto")
        choose_painter(options.renderer == "opengl" ? ImGuiPainter::opengl : ImGuiPainter::processor);
    const QString settings =
        QStandardPaths::writableLocation(QStandardPaths::ConfigLocation) + "/skippipe-studio/window.ini";
    const bool remembers = options.screenshot.empty() && options.report.empty();
    const QString theme_name = !options.theme.empty() ? QString::fromStdString(options.theme)
                               : remembers ? QSettings(settings, QSettings::IniFormat).value("theme").toString()
                                           : QString{};
    apply_theme(application, is_dark(theme_choice(theme_name)));

    PlannerRegistry planners;
    register_planners(planners);
    const std::filesystem::path record =
        options.record.empty() ? default_record_path() : std::filesystem::absolute(options.record);
    MainWindow window(planners, record);
    if (!options.report.empty()) return report(window, options);
    const auto begin = [&] {
        if (!options.planner.empty())
            window.document().edit("Planner", [&](Experiment& e) { e.pipeline.planner = options.planner; });
        if (options.launch && options.screenshot.empty()) window.launch();
    };
    if (remembers) window.remember_in(settings, theme_choice(theme_name));
    if (options.file.empty() && !(remembers && window.open_last())) {
        window.open_template("quick-start");
        begin();
    } else {
        QObject::connect(
            &window, &MainWindow::opened, &window,
            [&](bool shown) {
                if (shown || options.file.empty()) begin();
            },
            Qt::SingleShotConnection);
        if (!options.file.empty()) window.open(options.file);
    }
    if (!options.screenshot.empty()) return draw(window, options);
    window.show();
    QTimer::singleShot(0, &window, &MainWindow::offer_recovery);
    return QApplication::exec();
}
