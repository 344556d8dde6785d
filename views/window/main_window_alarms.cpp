// SPDX-License-Identifier: GPL-3.0-or-later
// What the window tells of runs unasked, and what ends them by itself.
#include <QApplication>
#include <QMenu>
#include <QSettings>

#include "views/runs/run_table.h"
#include "views/theme/numbers.h"
#include "views/window/desktop_notes.h"
#include "views/window/main_window.h"

namespace skippipe {

namespace {

/// Of `--stop-on`, as the menu says it.
constexpr std::pair<const char*, const char*> rules[] = {{"spike", "A loss or gradient jumps"},
                                                         {"disk", "The disk fills up"},
                                                         {"silence", "Its worker says nothing for 5 s"}};
constexpr auto stop_key = "stop_on";

}  // namespace

/// Says what happened to runs since the last look: they ended, something is wrong with them, or they cannot be
/// recorded.
void MainWindow::tell_changes() {
    for (const auto& now : feed_.runs()) {
        const auto before = known_.find(now.id);
        const bool ended =
            before != known_.end() && before->second == RunState::running && now.state != RunState::running;
        // There is nothing to watch any longer.
        if (now.state != RunState::running && banner_->text() == begun_words(now.id)) banner_->dismiss();
        if (ended) {
            const bool badly = now.state == RunState::died || now.state == RunState::failed;
            const QString words =
                badly ? bad_end_words(now) : tr("Run %1 %2").arg(now.id).arg(state_words(now).toLower());
            if (badly) tell_bad_end(words, now.id);
            note(words, now);
        }
        if (!now.silent) {
            silent_.erase(now.id);
        } else if (silent_.insert(now.id).second) {
            const QString words = tr("Run %1 has given no sign of life for %2: its process is stopped, or its record "
                                     "cannot be written")
                                      .arg(now.id)
                                      .arg(duration(silent_after_s));
            banner_->show_message(words);
            note(words, now);
        }
        const bool was_running = before == known_.end() || now.state == RunState::running;
        known_[now.id] = now.state;
        if (std::exchange(warned_[now.id], now.warning) != now.warning && !now.warning.empty() && was_running) {
            const QString words = tr("Run %1: %2").arg(now.id).arg(QString::fromStdString(now.warning));
            banner_->show_message(words);
            note(words, now);
        }
    }
}

/// With the ways to what it left: the run where it is not in sight, and its log.
void MainWindow::tell_bad_end(const QString& words, RunId run) {
    std::vector<Banner::Action> ways;
    const auto show = [this, run] {
        watch_->show_run(run);
        show_workspace(watch);
    };
    if (pages_->currentIndex() != watch || watch_->run() != run) ways.push_back({tr("Show run"), show});
    ways.push_back({tr("Open its log"), [this, show] {
                        show();
                        watch_->show_log();
                    }});
    banner_->alarm(words, ways);
}

/// Whoever looks at the window sees it there; others hear of it from their desktop.
void MainWindow::note(const QString& words, const RunInfo& run) {
    if (isActiveWindow()) return;
    Q_EMIT noted(words);
    DesktopNotes().show(words, QString::fromStdString(run.name));
    QApplication::alert(this);
}

void MainWindow::make_stop_menu(QMenu& run) {
    auto* menu = run.addMenu(tr("Stop a run by itself if"));
    menu->setToolTipsVisible(true);
    for (std::size_t k = 0; k < std::size(rules); ++k) {
        auto* action = add_action(*menu, tr(rules[k].second), {}, [this] { set_stop_rules(stop_rules()); });
        action->setCheckable(true);
        action->setToolTip(
            tr("Runs launched from now on end after the iteration in which it happens; they can go on from a "
               "checkpoint. Unchecked, they say so and go on"));
        stop_actions_[k] = action;
    }
}

QStringList MainWindow::stop_rules() const {
    QStringList names;
    for (std::size_t k = 0; k < std::size(rules); ++k)
        if (stop_actions_[k]->isChecked()) names << rules[k].first;
    return names;
}

void MainWindow::set_stop_rules(const QStringList& names) {
    for (std::size_t k = 0; k < std::size(rules); ++k) stop_actions_[k]->setChecked(names.contains(rules[k].first));
    launcher_.set_stop_on(stop_rules());
    if (!settings_file_.isEmpty()) QSettings(settings_file_, QSettings::IniFormat).setValue(stop_key, names);
}

void MainWindow::recall_stop_rules() {
    const QSettings settings(settings_file_, QSettings::IniFormat);
    if (settings.contains(stop_key)) set_stop_rules(settings.value(stop_key).toStringList());
}

}  // namespace skippipe
