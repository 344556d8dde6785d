// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/resuming.h"

#include <QCoreApplication>
#include <QStringList>

#include "core/analysis/ranking.h"
#include "views/runs/run_table.h"

namespace skippipe {

namespace {

QString tr(const char* text) { return QCoreApplication::translate("resuming", text); }

}  // namespace

bool is_interrupted(const RunInfo& run) { return run.state != RunState::running && run.state != RunState::finished; }

QString progress_words(const RunInfo& run) {
    if (did_nothing(run)) return did_nothing_words(run);
    const QString words = run.state == RunState::running   ? tr("Run %1 is at %2 of %3")
                          : run.state == RunState::failed  ? tr("Run %1 failed after %2 of %3 iterations")
                          : run.state == RunState::stopped ? tr("Run %1 was stopped after %2 of %3 iterations")
                          : run.state == RunState::died    ? tr("Run %1 died after %2 of %3 iterations")
                                                           : tr("Run %1 did %2 of %3 iterations");
    return words.arg(run.id).arg(run.iterations_done).arg(run.iterations);
}

QString ending_words(const RunInfo& run) {
    const QString why = why_not_resume(run);
    QStringList words{error_words(run)};
    if (why.isEmpty())
        words << tr("It can go on after iteration %1, where its newest checkpoint is").arg(run.checkpoint);
    else if (!did_nothing(run))
        words << why;
    words.removeAll(QString{});
    return words.join(QStringLiteral(". "));
}

QString why_not_resume(const RunInfo& run) {
    if (run.state == RunState::running) return tr("Run %1 goes on").arg(run.id);
    if (run.state == RunState::finished) return tr("Run %1 has finished").arg(run.id);
    if (run.checkpoint == 0)
        return tr("Run %1 has no checkpoint: it wrote none (Training, Checkpoint every), or ended before the first")
            .arg(run.id);
    return {};
}

void set_resume(QPushButton& button, const RunInfo* run, const QString& hindrance) {
    const QString why = run == nullptr ? tr("Select one run") : why_not_resume(*run);
    const QString reason = why.isEmpty() ? hindrance : why;
    const bool possible = run != nullptr && reason.isEmpty();
    button.setEnabled(possible);
    button.setToolTip(!possible ? reason
                                : tr("Goes on after iteration %1 of %2, where the newest checkpoint is; what "
                                     "was recorded after it is computed again")
                                      .arg(run->checkpoint)
                                      .arg(run->iterations));
}

}  // namespace skippipe
