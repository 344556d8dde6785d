// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/prober.h"

#include <memory>

#include "core/experiment/io.h"
#include "views/document/document.h"
#include "views/document/file_worker.h"
#include "views/runs/launcher.h"

namespace skippipe {

Prober::Prober(FileWorker& files, std::filesystem::path folder, QObject* parent)
    : QObject(parent), files_(files), folder_(std::move(folder)) {
    process_.setStandardInputFile(QProcess::nullDevice());
    connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart) fail(process_.errorString());
    });
    connect(&process_, &QProcess::finished, this, [this](int exit_code, QProcess::ExitStatus how) {
        read_result(how == QProcess::NormalExit ? exit_code : -1);
    });
}

Prober::~Prober() {
    disconnect(&process_, nullptr, this, nullptr);
    if (process_.state() == QProcess::NotRunning) return;
    process_.terminate();  // its workers end with it
    if (!process_.waitForFinished(2000)) process_.kill();
    process_.waitForFinished(1000);
}

bool Prober::keeps_links(const Experiment& experiment) {
    return experiment.execution.clock == Clock::virtual_time || experiment.execution.shape_links;
}

void Prober::measure(const Document& document) {
    if (is_measuring()) return;
    measuring_ = true;
    cancelled_ = false;
    before_ = document.experiment();
    Q_EMIT measuring_changed();
    const auto frozen = std::make_shared<std::filesystem::path>();
    files_.ask(
        {},
        [frozen, experiment = before_, of = document.file(), folder = folder_] {
            *frozen = freeze(experiment, of, nullptr, folder);
        },
        this, [this, frozen](const QString& fault) { fault.isEmpty() ? start(*frozen) : fail(fault); });
}

void Prober::start(const std::filesystem::path& file) {
    if (cancelled_) return end();
    const QString program = Launcher::program();
    if (program.isEmpty())
        return fail(
            tr("The program \"skippipe\" is not beside this window; it does the measuring. Build the project again"));
    result_ = std::filesystem::path{file} += ".measured";
    QStringList arguments{"probe", QString::fromStdString(file.string()), "-o",
                          QString::fromStdString(result_.string())};
    if (keeps_links(before_)) arguments += "--keep-links";
    process_.start(program, arguments);
}

void Prober::cancel() {
    cancelled_ = true;
    process_.terminate();
}

void Prober::read_result(int exit_code) {
    const QString said = QString::fromUtf8(process_.readAllStandardError()).trimmed().right(600);
    if (exit_code != 0) return fail(said.isEmpty() ? tr("It ended and said nothing") : said);
    const auto found = std::make_shared<ParsedExperiment>();
    files_.ask(
        {}, [found, result = result_] { *found = load_experiment(result); }, this,
        [this, found](const QString& fault) {
            if (!fault.isEmpty()) return fail(fault);
            if (has_errors(found->faults)) return fail(QString::fromStdString(to_string(found->faults.front())));
            end();
            if (!cancelled_) Q_EMIT measured(found->experiment);
        });
}

void Prober::end() {
    measuring_ = false;
    Q_EMIT measuring_changed();
}

void Prober::fail(const QString& why) {
    end();
    if (!cancelled_) Q_EMIT failed(why);
}

void take_measured(Experiment& experiment, const Experiment& measured) {
    experiment.topology = measured.topology;
    experiment.costs = measured.costs;
}

}  // namespace skippipe
