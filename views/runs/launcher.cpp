// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/launcher.h"

#include <cerrno>
#include <csignal>
#include <utility>

#include <QCoreApplication>
#include <QDateTime>
#include <QFile>
#include <QFileInfo>
#include <QProcess>

#include "core/experiment/io.h"
#include "core/experiment/paths.h"
#include "views/document/document.h"
#include "views/document/file_worker.h"
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

std::filesystem::path freeze(const Experiment& experiment, const std::filesystem::path& of, const PlanOutcome* planned,
                             const std::filesystem::path& folder) {
    const Experiment frozen = of.empty() ? experiment : with_absolute_paths(experiment, of.parent_path());
    std::filesystem::create_directories(folder);
    const auto stamp = QDateTime::currentDateTimeUtc().toString("yyyyMMdd-HHmmss-zzz").toStdString();
    const auto file = folder / (stamp + ".json");
    write_file_atomically(file, planned == nullptr
                                    ? to_text(frozen)
                                    : to_json(planned->plan, planned->problem, to_json(frozen)).dump(2) + "\n");
    return file;
}

/// What is started: `log` takes what the process says for programs, and with ".err" what it says for people.
struct Launcher::Job {
    QStringList arguments;
    std::filesystem::path log;
};

/// What it has said so far.
struct Launcher::Said {
    bool lives = false;
    QString out, errors;
};

Launcher::Launcher(FileWorker& files, std::filesystem::path record, std::filesystem::path folder, QObject* parent)
    : QObject(parent), files_(files), record_(std::move(record)), folder_(std::move(folder)) {
    timer_.setInterval(look_ms);
    timer_.setSingleShot(true);
    connect(&timer_, &QTimer::timeout, this, &Launcher::look);
}

QString Launcher::program() {
    const QFileInfo beside(QCoreApplication::applicationDirPath() + "/skippipe");
    return beside.isExecutable() ? beside.absoluteFilePath() : QString{};
}

void Launcher::launch(const Document& document, std::shared_ptr<const PlanOutcome> planned) {
    prepare([experiment = document.experiment(), of = document.file(), planned = std::move(planned), folder = folder_] {
        const auto file = freeze(experiment, of, planned.get(), folder);
        return Job{{"run", QString::fromStdString(file.string())}, std::filesystem::path{file} += ".log"};
    });
}

void Launcher::resume(RunId run) { go_on(run, {"resume", QString::number(run)}); }

void Launcher::extend(RunId run, int iterations) {
    go_on(run, {"extend", QString::number(run), "--iterations", QString::number(iterations)});
}

void Launcher::fork(RunId run, int iterations_done, const Document& document) {
    prepare([experiment = document.experiment(), of = document.file(), run, iterations_done, folder = folder_] {
        const auto file = freeze(experiment, of, nullptr, folder);
        return Job{{"fork", QString::number(run), QString::fromStdString(file.string()), "--at",
                    QString::number(iterations_done)},
                   std::filesystem::path{file} += ".log"};
    });
}

void Launcher::go_on(RunId run, QStringList arguments) {
    prepare([run, arguments = std::move(arguments), folder = folder_] {
        const auto log = folder / ("resume-" + std::to_string(run) + ".log");
        std::error_code told_when_it_is_written;
        std::filesystem::create_directories(folder, told_when_it_is_written);
        std::filesystem::remove(log, told_when_it_is_written);  // of an earlier time
        return Job{arguments, log};
    });
}

void Launcher::prepare(std::function<Job()> work) {
    if (starting_) return;
    pid_ = 0;
    cancelled_ = false;
    set_starting(true);
    const auto job = std::make_shared<Job>();
    files_.ask(
        {}, [job, work = std::move(work)] { *job = work(); }, this,
        [this, job](const QString& fault) { fault.isEmpty() ? start(*job) : fail(fault); });
}

void Launcher::cancel() {
    if (!starting_) return;
    cancelled_ = true;
    if (pid_ > 0) ::kill(static_cast<pid_t>(pid_), SIGINT);
}

void Launcher::start(const Job& job) {
    if (cancelled_) return fail(tr("it was stopped before it began"));
    const QString program = Launcher::program();
    if (program.isEmpty())
        return fail(tr("The program \"skippipe\" is not beside this window, in %1; it does the training. Build the "
                       "project again")
                        .arg(QCoreApplication::applicationDirPath()));
    QProcess process;
    process.setProgram(program);
    QStringList arguments = job.arguments + QStringList{"--db", QString::fromStdString(record_.string()), "--json"};
    if (!stop_on_.isEmpty()) arguments += {"--stop-on", stop_on_.join(',')};
    process.setArguments(arguments);
    process.setStandardInputFile(QProcess::nullDevice());
    process.setStandardOutputFile(QString::fromStdString(job.log.string()));
    process.setStandardErrorFile(QString::fromStdString(errors_of(job.log).string()));
    if (!process.startDetached(&pid_))
        return fail(tr("%1: %2; nothing was launched").arg(program, process.errorString()));
    log_ = job.log;
    timer_.start();
}

void Launcher::look() {
    const auto said = std::make_shared<Said>();
    files_.ask(
        {},
        [said, log = log_, pid = static_cast<pid_t>(pid_)] {
            // Asked first: what one that has ended has said is whole.
            said->lives = ::kill(pid, 0) == 0 || errno != ESRCH;
            said->out = read_text(log);
            said->errors = read_text(errors_of(log)).trimmed().left(600);
        },
        this, [this, said](const QString&) { take(*said); });
}

void Launcher::take(const Said& said) {
    const qsizetype line_end = said.out.indexOf('\n');
    if (line_end > 0) {
        Faults faults;
        const auto json = parse_json(said.out.left(line_end).toStdString(), faults);
        const bool is_run =
            !has_errors(faults) && json.is_object() && json.contains("run") && json.at("run").is_number_integer();
        // One that was to go on and did not come to train says so with its first word.
        if (is_run && json.contains("state") && json.at("state") == "failed") return fail(said.errors);
        if (is_run) {
            set_starting(false);
            Q_EMIT started(json.at("run").get<qint64>());
            return;
        }
    }
    if (said.lives) return timer_.start();
    if (cancelled_) return fail(tr("it was stopped before it began"));
    // What it says in words; the same stands on its standard output for programs.
    const QString words = said.errors.isEmpty() ? said.out.trimmed().left(600) : said.errors;
    fail(words.isEmpty() ? tr("The run ended before it began and said nothing") : words);
}

void Launcher::set_starting(bool starting) {
    starting_ = starting;
    Q_EMIT starting_changed();
}

void Launcher::fail(const QString& why) {
    set_starting(false);
    Q_EMIT failed(why);
}

}  // namespace skippipe
