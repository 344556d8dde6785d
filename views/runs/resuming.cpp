// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/resuming.h"

#include <QCoreApplication>

namespace skippipe {

namespace {

QString tr(const char* text) { return QCoreApplication::translate("resuming", text); }

}  // namespace

bool is_interrupted(const RunInfo& run) { return run.state != RunState::running && run.state != RunState::finished; }

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
