// SPDX-License-Identifier: GPL-3.0-or-later
// A run, or what is seen, as a file for other programs.
#include <sstream>

#include <QBuffer>
#include <QDesktopServices>
#include <QFileInfo>
#include <QImage>
#include <QInputDialog>
#include <QMenu>
#include <QPixmap>
#include <QUrl>

#include "core/analysis/export.h"
#include "core/analysis/frozen_run.h"
#include "core/analysis/report.h"
#include "core/base/build_info.h"
#include "core/experiment/io.h"
#include "views/runs/run_loader.h"
#include "views/theme/file_dialogs.h"
#include "views/window/main_window.h"
#include "views/window/report_pdf.h"

namespace skippipe {
namespace {

struct Format {
    MainWindow::ExportFormat format;
    const char *words, *said;  ///< below "Export run", and where that does not stand above
    const char* name;          ///< of the file, after "run-7-"
    const char* filter;
};
constexpr Format formats[] = {
    {MainWindow::ExportFormat::spans_csv, "Spans as CSV…", "Export spans as CSV…", "spans.csv", "CSV (*.csv)"},
    {MainWindow::ExportFormat::metrics_csv, "Metrics as CSV…", "Export metrics as CSV…", "metrics.csv", "CSV (*.csv)"},
    {MainWindow::ExportFormat::chrome_trace, "Chrome trace for Perfetto…", "Export Chrome trace for Perfetto…",
     "trace.json", "Chrome trace (*.json)"},
    {MainWindow::ExportFormat::svg, "Timeline of the last iteration as SVG…",
     "Export timeline of the last iteration as SVG…", "timeline.svg", "SVG (*.svg)"}};

std::string text_of(Reader& reader, const RunData& run, MainWindow::ExportFormat format) {
    std::ostringstream text;
    const RunId id = run.info.id;
    if (format == MainWindow::ExportFormat::metrics_csv) {
        write_metrics_csv(text, reader.metrics(id));
        return text.str();
    }
    if (!run.problem)
        throw InputError("run " + std::to_string(id), "its experiment cannot be understood", "spans name its nodes",
                         "Export its metrics instead");
    if (format == MainWindow::ExportFormat::svg) {
        const int iteration = std::max(run.info.iterations_done - 1, 0);
        return timeline_svg(
            reader.spans(id, iteration), *run.problem, recorded_plan(reader, id, *run.problem, iteration),
            {.title = run.info.name + ": run " + std::to_string(id) + ", iteration " + std::to_string(iteration),
             .clock = run_clock({run.experiment.execution.clock})});
    }
    const auto spans = reader.spans(id);
    if (format == MainWindow::ExportFormat::spans_csv)
        write_spans_csv(text, spans, *run.problem);
    else
        write_chrome_trace(text, spans, *run.problem, recorded_plans(reader, id, *run.problem), run.info.name);
    return text.str();
}

}  // namespace

RunId MainWindow::run_in_sight() const {
    if (pages_->currentIndex() == compare)
        if (const auto runs = compare_->list().selected(); !runs.empty()) return runs.front();
    return watch_->run() != 0 ? watch_->run() : feed_.runs().empty() ? 0 : feed_.runs().front().id;
}

void MainWindow::export_run(RunId id, ExportFormat format, const std::filesystem::path& file) {
    const QString name = QString::fromStdString(file.string());
    status_->setText(tr("Writing run %1 to %2…").arg(id).arg(name));
    feed_.ask(
        [id, format, file](Reader& reader) {
            if (!reader.run(id))
                throw InputError("run " + std::to_string(id), "it is not there any more", "", "Choose another run");
            write_file_atomically(file, text_of(reader, *RunLoader(reader, id).snapshot(), format));
        },
        [this, id, name](const QString& fault) {
            fault.isEmpty() ? tell_written(tr("Run %1 was written to %2").arg(id).arg(name), name)
                            : banner_->show_message(tr("Could not export: %1").arg(fault));
            follow_runs();
            Q_EMIT exported(name, fault.isEmpty());
        });
}

/// With what comes next: a look at it.
void MainWindow::tell_written(const QString& words, const QString& file) {
    const auto open = [](const QString& what) { QDesktopServices::openUrl(QUrl::fromLocalFile(what)); };
    banner_->tell(words, {{tr("Open"), [=] { open(file); }},
                          {tr("Show in folder"), [=] { open(QFileInfo(file).absolutePath()); }}});
}

void MainWindow::export_report(const std::vector<RunId>& runs, const QString& question,
                               const std::filesystem::path& file) {
    const QString name = QString::fromStdString(file.string());
    status_->setText(tr("Writing a report to %1…").arg(name));
    feed_.ask(
        [runs, file, question = question.toStdString()](Reader& reader) {
            std::vector<ReportRun> read;
            for (const RunId id : runs)
                if (const auto info = reader.run(id)) read.push_back(read_report_run(reader, *info, true));
            if (read.empty()) throw InputError("runs", "they are not there any more", "", "Select other ones");
            const bool on_paper = file.extension() == ".pdf";
            const auto html = report_html(read, {.title = report_title(read),
                                                 .question = question,
                                                 .program = std::string("skippipe ") + version,
                                                 .lettering = on_paper ? paper_lettering : 1});
            write_file_atomically(file, on_paper ? report_pdf(html).toStdString() : html);
        },
        [this, name](const QString& fault) {
            fault.isEmpty() ? tell_written(tr("The report was written to %1").arg(name), name)
                            : banner_->show_message(tr("Could not write the report: %1").arg(fault));
            follow_runs();
            Q_EMIT exported(name, fault.isEmpty());
        });
}

void MainWindow::ask_report() {
    auto runs = compare_->list().selected();
    if (runs.empty() && run_in_sight() != 0) runs = {run_in_sight()};
    if (runs.empty()) return banner_->show_message(tr("There is no run to report on: launch one first"));
    bool wanted = false;
    const QString question = QInputDialog::getText(
        this, tr("Report"),
        runs.size() == 1 ? tr("What was run %1 made to answer? (may be left empty)").arg(runs.front())
                         : tr("What were these %1 runs made to answer? (may be left empty)").arg(runs.size()),
        QLineEdit::Normal, {}, &wanted);
    if (!wanted) return;
    const QString chosen = ask_where_to_save(this, tr("Report"), "report.html", tr("HTML (*.html);;PDF (*.pdf)"));
    if (!chosen.isEmpty()) export_report(runs, question, chosen.toStdString());
}

void MainWindow::export_picture(const QString& file) {
    write_picture(file, [picture = pages_->currentWidget()->grab().toImage()] {
        QByteArray png;
        QBuffer buffer(&png);
        buffer.open(QIODevice::WriteOnly);
        picture.save(&buffer, "PNG");
        return png;
    });
}

void MainWindow::export_curves(const CurvePanel& curves, CurveFormat format, const QString& file) {
    write_picture(file, curves.exporter(format));
}

void MainWindow::ask_curve_file(const CurvePanel& curves, CurveFormat format) {
    const QString name = name_of(format);
    const QString chosen = ask_where_to_save(this, tr("Export charts"), "curves." + name.toLower(),
                                             QStringLiteral("%1 (*.%2)").arg(name, name.toLower()));
    if (!chosen.isEmpty()) export_curves(curves, format, chosen);
}

/// `make` and the writing happen away from the window's thread.
void MainWindow::write_picture(const QString& file, std::function<QByteArray()> make) {
    files_.ask(
        {}, [make = std::move(make), file] { write_file_atomically(file.toStdString(), make().toStdString()); }, this,
        [this, file](const QString& fault) {
            fault.isEmpty() ? tell_written(tr("The picture was written to %1").arg(file), file)
                            : banner_->show_message(tr("Could not export: %1").arg(fault));
            Q_EMIT exported(file, fault.isEmpty());
        });
}

void MainWindow::make_export_menu(QMenu& file) {
    for (auto* curves : {&watch_->curves(), &compare_->curves()})
        connect(curves, &CurvePanel::export_wanted, this,
                [this, curves](CurveFormat format) { ask_curve_file(*curves, format); });
    auto* menu = file.addMenu(tr("Export run"));
    for (const auto& f : formats)
        add_action(*menu, tr(f.words), {}, [this, f] {
            const RunId run = run_in_sight();
            if (run == 0) {
                banner_->show_message(tr("There is no run to export: launch one first"));
                return;
            }
            const QString chosen = ask_where_to_save(this, tr("Export run %1").arg(run),
                                                     QStringLiteral("run-%1-%2").arg(run).arg(f.name), tr(f.filter));
            if (!chosen.isEmpty()) export_run(run, f.format, chosen.toStdString());
        })->setProperty("said", tr(f.said));
    add_action(file, tr("Report of the selected runs…"), {}, [this] {
        ask_report();
    })->setProperty("said", tr("Export report of the selected runs…"));
    add_action(file, tr("Export picture of the view…"), {}, [this] {
        const QString chosen = ask_where_to_save(this, tr("Export picture"), "view.png", tr("PNG (*.png)"));
        if (!chosen.isEmpty()) export_picture(chosen);
    });
}

}  // namespace skippipe
