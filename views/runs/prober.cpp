// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/prober.h"

#include "core/experiment/io.h"
#include "views/document/document.h"
#include "views/runs/launcher.h"

namespace skippipe {

Prober::Prober(std::filesystem::path folder, QObject* parent) : QObject(parent), folder_(std::move(folder)) {
    process_.setStandardInputFile(QProcess::nullDevice());
    connect(&process_, &QProcess::stateChanged, this, &Prober::measuring_changed);
    connect(&process_, &QProcess::finished, this,
            [this](int exit_code, QProcess::ExitStatus how) { take(how == QProcess::NormalExit ? exit_code : -1); });
}

Prober::~Prober() {
    disconnect(&process_, nullptr, this, nullptr);
    if (!is_measuring()) return;
    process_.terminate();  // its workers end with it
    if (!process_.waitForFinished(2000)) process_.kill();
    process_.waitForFinished(1000);
}

bool Prober::keeps_links(const Experiment& experiment) {
    return experiment.execution.clock == Clock::virtual_time || experiment.execution.shape_links;
}

bool Prober::measure(const Document& document) {
    if (is_measuring()) return false;
    const QString program = Launcher::program();
    if (program.isEmpty()) {
        Q_EMIT failed(
            tr("The program \"skippipe\" is not beside this window; it does the measuring. Build the project again"));
        return false;
    }
    try {
        const auto file = freeze(document, nullptr, folder_);
        result_ = std::filesystem::path{file} += ".measured";
        before_ = document.experiment();
        cancelled_ = false;
        QStringList arguments{"probe", QString::fromStdString(file.string()), "-o",
                              QString::fromStdString(result_.string())};
        if (keeps_links(before_)) arguments += "--keep-links";
        process_.start(program, arguments);
        return true;
    } catch (const std::exception& error) {
        Q_EMIT failed(QString::fromStdString(error.what()));
        return false;
    }
}

void Prober::cancel() {
    cancelled_ = true;
    process_.terminate();
}

void Prober::take(int exit_code) {
    if (cancelled_) return;
    const QString said = QString::fromUtf8(process_.readAllStandardError()).trimmed();
    Faults faults;
    const auto text = exit_code == 0 ? read_file(result_, faults) : std::string{};
    if (exit_code != 0 || has_errors(faults)) {
        Q_EMIT failed(said.isEmpty() ? tr("It ended and said nothing") : said.right(600));
        return;
    }
    const auto parsed = parse_experiment(parse_json(text, faults));
    if (has_errors(parsed.faults)) {
        Q_EMIT failed(QString::fromStdString(to_string(parsed.faults.front())));
        return;
    }
    Q_EMIT measured(parsed.experiment);
}

void take_measured(Experiment& experiment, const Experiment& measured) {
    experiment.topology = measured.topology;
    experiment.costs = measured.costs;
}

}  // namespace skippipe
