// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/launcher.h"

#include <csignal>
#include <cerrno>

#include <QCoreApplication>
#include <QDateTime>
#include <QFile>
#include <QFileInfo>
#include <QProcess>

#include "core/experiment/io.h"
#include "core/experiment/paths.h"
#include "views/document/document.h"
#include "views/plan/plan_service.h"

namespace skippipe {
namespace {

constexpr int look_ms = 100;

QString read_text(const std::filesystem::path& file) {
    QFile in(QString::fromStdString(file.string()));
    return in.open(QIODevice::ReadOnly) ? QString::fromUtf8(in.readAll()) : QString{};
}

std::filesystem::path errors_of(const std::filesystem::path& log) { return std::filesystem::path{log} += ".err"; }

}  // namespace

std::filesystem::path freeze(const Document& document, const PlanOutcome* planned,
                             const std::filesystem::path& folder) {
    const Experiment experiment = document.file().empty()
                                      ? document.experiment()
                                      : with_absolute_paths(document.experiment(), document.file().parent_path());
    std::filesystem::create_directories(folder);
    const auto stamp = QDateTime::currentDateTimeUtc().toString("yyyyMMdd-HHmmss-zzz").toStdString();
    const auto file = folder / (stamp + ".json");
    write_file_atomically(file, planned == nullptr
                                    ? to_text(experiment)
                                    : to_json(planned->plan, planned->problem, to_json(experiment)).dump(2) + "\n");
    return file;
}

Launcher::Launcher(std::filesystem::path record, std::filesystem::path folder, QObject* parent)
    : QObject(parent), record_(std::move(record)), folder_(std::move(folder)) {
    timer_.setInterval(look_ms);
    connect(&timer_, &QTimer::timeout, this, &Launcher::look);
}

QString Launcher::program() {
    const QFileInfo beside(QCoreApplication::applicationDirPath() + "/skippipe");
    return beside.isExecutable() ? beside.absoluteFilePath() : QString{};
}

bool Launcher::launch(const Document& document, const PlanOutcome* planned) {
    if (is_starting()) return false;
    try {
        const auto file = freeze(document, planned, folder_);
        return start({"run", QString::fromStdString(file.string())}, std::filesystem::path{file} += ".log");
    } catch (const std::exception& error) {
        Q_EMIT failed(QString::fromStdString(error.what()));
        return false;
    }
}

bool Launcher::resume(RunId run) {
    if (is_starting()) return false;
    const auto log = folder_ / ("resume-" + std::to_string(run) + ".log");
    std::error_code told_when_it_is_written;
    std::filesystem::create_directories(folder_, told_when_it_is_written);
    std::filesystem::remove(log, told_when_it_is_written);  // of an earlier time
    return start({"resume", QString::number(run)}, log);
}

/// `log` takes what the process says for programs, and with ".err" what it says for people.
bool Launcher::start(const QStringList& arguments, std::filesystem::path log) {
    const QString program = Launcher::program();
    if (program.isEmpty()) {
        Q_EMIT failed(tr("The program \"skippipe\" is not beside this window, in %1; it does the training. Build the "
                         "project again")
                          .arg(QCoreApplication::applicationDirPath()));
        return false;
    }
    QProcess process;
    process.setProgram(program);
    process.setArguments(arguments + QStringList{"--db", QString::fromStdString(record_.string()), "--json"});
    process.setStandardInputFile(QProcess::nullDevice());
    process.setStandardOutputFile(QString::fromStdString(log.string()));
    process.setStandardErrorFile(QString::fromStdString(errors_of(log).string()));
    if (!process.startDetached(&pid_)) {
        Q_EMIT failed(tr("%1: %2; nothing was launched").arg(program, process.errorString()));
        return false;
    }
    log_ = std::move(log);
    timer_.start();
    Q_EMIT starting_changed();
    return true;
}

void Launcher::look() {
    const QString out = read_text(log_);
    const qsizetype line_end = out.indexOf('\n');
    if (line_end > 0) {
        Faults faults;
        const auto json = parse_json(out.left(line_end).toStdString(), faults);
        const bool is_run =
            !has_errors(faults) && json.is_object() && json.contains("run") && json.at("run").is_number_integer();
        // One that was to go on and did not come to train says so with its first word.
        if (is_run && json.contains("state") && json.at("state") == "failed")
            return end_with(read_text(errors_of(log_)).trimmed().left(600));
        if (is_run) {
            timer_.stop();
            log_.clear();
            Q_EMIT starting_changed();
            Q_EMIT started(json.at("run").get<qint64>());
            return;
        }
    }
    if (::kill(static_cast<pid_t>(pid_), 0) != 0 && errno == ESRCH) {
        // What it says in words; the same stands on its standard output for programs.
        const QString words = read_text(errors_of(log_)).trimmed();
        const QString said = words.isEmpty() ? out.trimmed() : words;
        end_with(said.isEmpty() ? tr("The run ended before it began and said nothing") : said.left(600));
    }
}

void Launcher::end_with(const QString& why) {
    timer_.stop();
    log_.clear();
    Q_EMIT starting_changed();
    Q_EMIT failed(why);
}

}  // namespace skippipe
