// SPDX-License-Identifier: GPL-3.0-or-later
// What can be done to runs of the list: star, archive, delete and undo it, repeat by a command.
#include <algorithm>

#include <QClipboard>
#include <QGuiApplication>
#include <QMenu>
#include <QScopedValueRollback>

#include "core/base/shell.h"
#include "views/runs/parameters.h"
#include "views/runs/run_list.h"
#include "views/theme/words.h"

namespace skippipe {
namespace {

bool all_have(const RunFeed& feed, const std::vector<RunId>& runs, const std::string& tag) {
    return std::all_of(runs.begin(), runs.end(), [&](RunId id) {
        const auto* run = feed.run(id);
        return run != nullptr && has_tag(*run, tag);
    });
}

}  // namespace

QString repeat_command(RunId run, const std::filesystem::path& record) {
    return QStringLiteral("skippipe export %1 --format plan -o run-%1.json --db %2 && skippipe run run-%1.json --db %2")
        .arg(run)
        .arg(QString::fromStdString(in_shell_quotes(record.string())));
}

/// Gives all of them the tag, or takes it from all where all have it.
void RunList::toggle_tag(const std::vector<RunId>& runs, const std::string& tag) {
    const bool off = all_have(feed_, runs, tag);
    for (const RunId id : runs) {
        const auto* run = feed_.run(id);
        if (run == nullptr || has_tag(*run, tag) != off) continue;
        auto tags = run->tags;
        off ? static_cast<void>(std::erase(tags, tag)) : tags.push_back(tag);
        feed_.set_tags(id, tags);
    }
}

/// And nothing else. What follows the selection tells the table, which a filter at work does not bear.
void RunList::hide_removed() {
    auto gone = deleted_;
    gone.insert(removed_.begin(), removed_.end());
    const QScopedValueRollback changes(changes_rows_, true);
    filter_.set_gone(std::move(gone));
}

/// The run in sight below the last of them, else the one above the first; 0: there is none.
RunId RunList::neighbour_of(const std::vector<RunId>& runs) const {
    const auto is_one = [&](RunId id) { return std::find(runs.begin(), runs.end(), id) != runs.end(); };
    RunId above = 0, below = 0;
    bool met = false;
    for (int row = 0; row < filter_.rowCount(); ++row) {
        const RunId id = filter_.index(row, 0).data(RunTable::run_role).toLongLong();
        if (is_one(id)) {
            met = true;
            below = 0;
        } else if (!met) {
            above = id;
        } else if (below == 0) {
            below = id;
        }
    }
    return below != 0 ? below : above;
}

void RunList::remove_later(const std::vector<RunId>& runs) {
    if (!removed_.empty()) {
        remove_now();
        Q_EMIT restored();  // of those nothing can be undone any more
    }
    for (const RunId id : runs)
        if (const auto* run = feed_.run(id); run != nullptr && run->state != RunState::running) removed_.insert(id);
    if (removed_.empty()) return;
    const RunId next = neighbour_of(runs);
    hide_removed();
    if (next != 0 && chosen_in_sight().empty()) {
        const QScopedValueRollback changes(changes_rows_, true);
        const auto row = rows_of({next}).indexes().front();
        view_->setCurrentIndex(row);
    }
    follow_selection();
    const QString names = capitalised(run_numbers({removed_.begin(), removed_.end()}));
    Q_EMIT removed((removed_.size() == 1 ? tr("%1 is deleted") : tr("%1 are deleted")).arg(names));
}

void RunList::undo_removal() {
    if (removed_.empty()) return;
    const std::vector<RunId> back(removed_.begin(), removed_.end());
    removed_.clear();
    hide_removed();
    select(back);
    if (isVisible()) view_->setFocus();
    Q_EMIT restored();
}

/// Their rows stay hidden until the record has told so.
void RunList::remove_now() {
    for (const RunId id : removed_) feed_.remove(id);
    deleted_.insert(removed_.begin(), removed_.end());
    removed_.clear();
}

void RunList::offer_menu(QPoint place) {
    const auto runs = chosen_in_sight();
    auto* menu = new QMenu(view_);
    menu->setObjectName("run_menu");
    menu->setAttribute(Qt::WA_DeleteOnClose);
    if (const auto pointed = view_->indexAt(place); pointed.isValid()) {
        const RunId run = pointed.data(RunTable::run_role).toLongLong();
        menu->addAction(run == baseline() ? tr("No baseline") : tr("Run %1 as baseline").arg(run), this,
                        [this, run] { pin(run); });
        menu->addSeparator();
    }
    if (!runs.empty()) {
        menu->addAction(all_have(feed_, runs, star_tag) ? tr("Take the star away") : tr("Star"), this,
                        [this, runs] { toggle_tag(runs, star_tag); });
        menu->addAction(all_have(feed_, runs, archive_tag) ? tr("Take out of the archive") : tr("Archive"), this,
                        [this, runs] { toggle_tag(runs, archive_tag); });
        const bool runs_on = std::any_of(runs.begin(), runs.end(), [this](RunId id) {
            const auto* run = feed_.run(id);
            return run != nullptr && run->state == RunState::running;
        });
        auto* remove = menu->addAction(tr("Delete"), this, [this, runs] { remove_later(runs); });
        remove->setShortcut(Qt::Key_Delete);
        remove->setEnabled(!runs_on);
        remove->setText(runs_on ? tr("Delete (stop it first)") : tr("Delete"));
        menu->addSeparator();
        if (runs.size() == 1) {
            menu->addAction(tr("Extend…"), this, [this, id = runs.front()] { Q_EMIT extend_requested(id); });
            menu->addAction(tr("Fork from checkpoint…"), this,
                            [this, id = runs.front()] { Q_EMIT fork_requested(id); });
        }
        auto* copy = menu->addAction(tr("Copy as command"), this, [this, runs] {
            QStringList lines;
            for (const RunId id : runs) lines << repeat_command(id, feed_.file());
            QGuiApplication::clipboard()->setText(lines.join('\n'));
        });
        copy->setToolTip(
            tr("Repeats the run exactly: its experiment, plan and seed. Where its data has a relative path, from the "
               "folder that it was started in"));
        menu->addAction(tr("Report…"), this, &RunList::report_requested)
            ->setToolTip(tr("Writes the runs that are selected as one page: HTML or PDF"));
        menu->addSeparator();
    }
    auto* archived = menu->addAction(tr("Show archived runs"));
    archived->setCheckable(true);
    archived->setChecked(filter_.shows_archived());
    connect(archived, &QAction::toggled, this, [this](bool on) {
        {
            const QScopedValueRollback changes(changes_rows_, true);
            filter_.set_shows_archived(on);
        }
        follow_selection();
    });
    menu->popup(view_->viewport()->mapToGlobal(place));
}

}  // namespace skippipe
