// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/sweeper.h"

#include <csignal>
#include <memory>
#include <utility>

#include <QFile>
#include <QProcess>

#include "core/experiment/paths.h"
#include "core/record/process.h"
#include "views/document/file_worker.h"
#include "views/runs/launcher.h"

namespace skippipe {
namespace {

constexpr int sweep_look_ms = 200, most_said = 600;

QStringList arguments_of(const std::filesystem::path& file, const SweepSetup& setup,
                         const std::filesystem::path& record) {
    QStringList arguments{"sweep", QString::fromStdString(file.string())};
    for (const auto& axis : setup.axes) arguments << "--vary" << QString::fromStdString(axis);
    arguments << "--seeds" << QString::number(setup.seeds) << "--jobs" << QString::number(setup.parallel);
    if (setup.draws > 0)
        arguments << "--draws" << QString::number(setup.draws) << "--draw-seed" << QString::number(setup.draw_seed);
    if (setup.iterations > 0) arguments << "--iterations" << QString::number(setup.iterations);
    return arguments << "--name"
                     << "sweep"
                     << "--db" << QString::fromStdString(record.string());
}

}  // namespace

std::vector<SweepPoint> points_of(Experiment experiment, const std::filesystem::path& folder, const SweepSetup& setup,
                                  std::set<std::string> full_pipelines) {
    experiment = with_absolute_paths(std::move(experiment), folder);
    if (setup.iterations > 0) experiment.training.iterations = setup.iterations;
    SweepRequest request{{}, setup.seeds, setup.draws, setup.draw_seed, std::move(full_pipelines)};
    for (const auto& text : setup.axes) request.axes.push_back(parse_axis(text));
    return sweep_points(experiment, request);
}

Sweeper::Sweeper(FileWorker& files, std::filesystem::path record, std::filesystem::path folder, QObject* parent)
    : QObject(parent), files_(files), record_(std::move(record)), folder_(std::move(folder)) {
    timer_.setInterval(sweep_look_ms);
    connect(&timer_, &QTimer::timeout, this, &Sweeper::look);
}

std::filesystem::path Sweeper::base_of(const std::filesystem::path& of) const {
    return of.empty() ? folder_ : of.parent_path();
}

void Sweeper::start(const Experiment& experiment, const std::filesystem::path& of, const SweepSetup& setup) {
    if (running_) return;
    running_ = true;
    cancelled_ = false;
    pid_ = 0;
    Q_EMIT running_changed();
    const auto frozen = std::make_shared<std::filesystem::path>();
    files_.ask(
        {}, [frozen, experiment, of, folder = folder_] { *frozen = freeze(experiment, of, nullptr, folder); }, this,
        [this, frozen, setup](const QString& fault) { fault.isEmpty() ? launch(*frozen, setup) : end(fault); });
}

void Sweeper::launch(const std::filesystem::path& file, const SweepSetup& setup) {
    if (cancelled_) return end({});
    const QString program = Launcher::program();
    if (program.isEmpty())
        return end(
            tr("The program \"skippipe\" is not beside this window; it does the training. Build the project again"));
    errors_ = std::filesystem::path{file} += ".sweep.err";
    QProcess process;
    process.setProgram(program);
    process.setArguments(arguments_of(file, setup, record_));
    process.setStandardInputFile(QProcess::nullDevice());
    process.setStandardOutputFile(QProcess::nullDevice());
    process.setStandardErrorFile(QString::fromStdString(errors_.string()));
    qint64 pid = 0;
    if (!process.startDetached(&pid))
        return end(tr("%1: %2; nothing was launched").arg(program, process.errorString()));
    pid_ = pid;
    process_start_ = record::start_of_process(pid_).value_or(0);
    timer_.start();
}

bool Sweeper::lives() const { return pid_ != 0 && record::start_of_process(pid_) == process_start_; }

void Sweeper::cancel() {
    cancelled_ = true;
    if (lives()) ::kill(static_cast<pid_t>(pid_), SIGTERM);
}

void Sweeper::look() {
    if (lives()) return;
    timer_.stop();
    if (cancelled_) return end({});
    const auto said = std::make_shared<QString>();
    files_.ask(
        {},
        [said, errors = errors_] {
            QFile file(QString::fromStdString(errors.string()));
            if (file.open(QIODevice::ReadOnly)) *said = QString::fromUtf8(file.readAll()).trimmed().left(most_said);
        },
        this, [this, said](const QString&) { end(*said); });
}

void Sweeper::end(const QString& said) {
    running_ = false;
    Q_EMIT running_changed();
    Q_EMIT ended(said);
}

}  // namespace skippipe
