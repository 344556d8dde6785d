// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/evaluator.h"

#include <algorithm>

#include "core/experiment/io.h"
#include "views/runs/launcher.h"
#include "views/runs/parameters.h"
#include "views/theme/numbers.h"

namespace skippipe {
namespace {

constexpr double known_from = 0.02;  ///< share from which on the time left can be told
constexpr int patience_ms = 2000, longest_words = 600;

}  // namespace

QString EvaluatorWork::words(std::optional<double> left_s) const {
    QString text = what.isEmpty() ? QObject::tr("Run %1: starting").arg(run)
                                  : QObject::tr("Run %1: %2, %3 %").arg(run).arg(what).arg(100 * share, 0, 'f', 0);
    if (left_s) text += QObject::tr(", %1 left").arg(duration(*left_s));
    return next.empty() ? text : text + QObject::tr("; then %1").arg(run_numbers(next));
}

Evaluator::Evaluator(std::filesystem::path record, QObject* parent) : QObject(parent), record_(std::move(record)) {
    process_.setStandardInputFile(QProcess::nullDevice());
    connect(&process_, &QProcess::readyReadStandardOutput, this, &Evaluator::hear);
    connect(&process_, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
        if (error == QProcess::FailedToStart) fail(process_.errorString());
    });
    connect(&process_, &QProcess::finished, this, &Evaluator::end);
}

Evaluator::~Evaluator() {
    disconnect(&process_, nullptr, this, nullptr);
    if (process_.state() == QProcess::NotRunning) return;
    process_.terminate();  // its worker ends with it
    if (!process_.waitForFinished(patience_ms)) process_.kill();
    process_.waitForFinished(patience_ms);
}

void Evaluator::evaluate(const std::vector<RunId>& runs) {
    const bool idle = !work_;
    if (idle) work_.emplace();
    for (const RunId run : runs)
        if (run != work_->run && std::find(work_->next.begin(), work_->next.end(), run) == work_->next.end())
            work_->next.push_back(run);
    idle ? go_on() : changed();
}

void Evaluator::cancel() {
    if (!work_) return;
    cancelled_ = true;
    work_->next.clear();
    process_.terminate();
    Q_EMIT changed();
}

QString Evaluator::words() const {
    if (!work_) return {};
    if (cancelled_) return tr("Run %1: stopping").arg(work_->run);
    const bool known = since_.isValid() && work_->share >= known_from && work_->share < 1;
    const double spent_s = known ? 1e-3 * static_cast<double>(since_.elapsed()) : 0;
    return work_->words(known ? std::optional(spent_s / work_->share - spent_s) : std::nullopt);
}

void Evaluator::begin() {
    const QString program = Launcher::program();
    if (program.isEmpty())
        return fail(
            tr("The program \"skippipe\" is not beside this window; it does the computing. Build the project "
               "again"));
    process_.start(program, {"evaluate", QString::number(work_->run), "--json", "--progress", "--db",
                             QString::fromStdString(record_.string())});
}

/// A line of JSON for each step of its progress; the last line is the result, which stands in the record.
void Evaluator::hear() {
    while (work_ && process_.canReadLine()) {
        Faults faults;
        const auto line = parse_json(process_.readLine().toStdString(), faults);
        if (has_errors(faults) || !line.is_object() || !line.contains("share") || !line["share"].is_number() ||
            !line.contains("what") || !line["what"].is_string())
            continue;
        const auto what = QString::fromStdString(line["what"].get<std::string>());
        if (what != work_->what) since_.start();
        work_->what = what;
        work_->share = std::clamp(line["share"].get<double>(), 0.0, 1.0);
    }
    Q_EMIT changed();
}

void Evaluator::end(int exit_code, QProcess::ExitStatus how) {
    if (how == QProcess::NormalExit && exit_code == 0) return go_on();
    const QString said = QString::fromUtf8(process_.readAllStandardError()).trimmed().right(longest_words);
    fail(said.isEmpty() ? tr("It ended and said nothing") : said);
}

void Evaluator::fail(const QString& why) {
    const RunId run = work_->run;
    if (!cancelled_) Q_EMIT failed(run, why);
    go_on();
}

/// The next one, if any.
void Evaluator::go_on() {
    cancelled_ = false;
    since_.invalidate();
    if (work_->next.empty()) {
        work_.reset();
        return changed();
    }
    EvaluatorWork next{.run = work_->next.front(), .next = {work_->next.begin() + 1, work_->next.end()}};
    work_ = std::move(next);
    begin();
    Q_EMIT changed();
}

}  // namespace skippipe
