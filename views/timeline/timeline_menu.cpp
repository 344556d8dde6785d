// SPDX-License-Identifier: GPL-3.0-or-later
// The timeline's menu: what can be done with the lane, span or wait under the mouse.
#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QMenu>

#include "views/timeline/painter.h"

namespace skippipe {

/// What is under the mouse is selected first, as a click would: the menu is of what one sees selected.
void TimelineView::contextMenuEvent(QContextMenuEvent* event) {
    const bool by_key = event->reason() == QContextMenuEvent::Keyboard;
    const QPointF place = event->pos();
    if (compact_ || !data_ || drag_ != Drag::none) return ImGuiHost::contextMenuEvent(event);
    if (!by_key) {
        const int row = stack().lane_at(place.y());
        const LaneRow what = row < 0 ? LaneRow{} : layout_.rows()[static_cast<std::size_t>(row)];
        if (row >= 0 && what.lane >= 0 && place.x() < scale().left) {
            clear_selection();
            Q_EMIT selected_changed();
            Q_EMIT lane_activated(what.lane);
        } else if (row >= 0 && !what.is_head()) {
            click(place.x(), place.y());
            Q_EMIT selected_changed();
        }
        request_frame();
    }
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->setToolTipsVisible(true);
    fill_menu(*menu, by_key ? QStringList{} : words_at(place));
    Q_EMIT menu_opens(menu);
    card_hidden_ = true;
    const QPoint below_name(static_cast<int>(scale().left), static_cast<int>(stack().top));
    menu->popup(by_key ? mapToGlobal(below_name) : event->globalPos());
    event->accept();
}

/// What finds more of the kind that is selected; empty: nothing is.
QString TimelineView::alike_words() const {
    if (selected_.span != nullptr) return QString::fromStdString(query_words(selected_.span->kind));
    if (selected_gap_ && selected_gap_->cause != IdleCause::node_down)
        return QString::fromStdString(query_words(selected_gap_->cause));
    return {};
}

/// Keys stand beside the words.
void TimelineView::fill_menu(QMenu& menu, const QStringList& words) {
    const auto marked = marked_lanes();
    const int lane = selected_lane_ >= 0 ? selected_lane_ : marked.size() == 1 ? marked.front() : -1;
    const auto with_key = [](const QString& text, const char* key) { return text + '\t' + QString::fromUtf8(key); };
    if (cause_.span != nullptr)
        menu.addAction(with_key(tr("Go to what it waited for"), "Enter"), this, [this] { follow_cause(); });
    if (const QString alike = alike_words(); !alike.isEmpty())
        menu.addAction(tr("Find all like it: %1").arg(alike), this, [this, alike] { Q_EMIT alike_wanted(alike); });
    if (!before_.empty()) menu.addAction(with_key(tr("Back to what waited"), "Backspace"), this, [this] { go_back(); });
    if (selected_.span != nullptr && selected_.span->microbatch >= 0) {
        const int microbatch = selected_.span->microbatch;
        menu.addAction(with_key(tr("Next hop of microbatch %1").arg(microbatch), "]"), this, [this] { step_hop(+1); });
        menu.addAction(with_key(tr("Previous hop of microbatch %1").arg(microbatch), "["), this,
                       [this] { step_hop(-1); });
    }
    if (!words.isEmpty())
        menu.addAction(tr("Copy what is said of it"), this,
                       [text = words.join('\n')] { QApplication::clipboard()->setText(text); });
    if (!menu.isEmpty()) menu.addSeparator();
    if (lane >= 0) {
        const std::string& name = data_->lanes()[static_cast<std::size_t>(lane)].name;
        const QString shown = QString::fromStdString(name);
        menu.addAction(
            with_key(pinned_.contains(name) ? tr("Unpin %1").arg(shown) : tr("Pin %1 to the top").arg(shown), "P"),
            this, [this] { toggle_pin(); });
    }
    menu.addAction(with_key(selected_.span != nullptr || selected_gap_ ? tr("Bookmark where it begins")
                                                                       : tr("Bookmark the middle of what is in sight"),
                            "B"),
                   this, [this] { toggle_bookmark(); });
    menu.addSeparator();
    if (selected_.span != nullptr)
        menu.addAction(with_key(tr("Centre the selection"), "F"), this, [this] { show_selection_or_all(); });
    menu.addAction(with_key(tr("Whole run"), "Home"), this, [this] { zoom_.show_all(); });
}

}  // namespace skippipe
