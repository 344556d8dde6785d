// SPDX-License-Identifier: GPL-3.0-or-later
// Keys of the timeline.
#include <algorithm>

#include <QKeyEvent>

#include "views/timeline/painter.h"

namespace skippipe {

void TimelineView::step_lane(int step) { go(data_->neighbour_in_lane(selected_, step)); }
void TimelineView::step_hop(int step) { go(data_->neighbour_hop(selected_, step)); }

/// Centres the selection; a second time it fills the view. Nothing selected: everything.
void TimelineView::show_selection_or_all() {
    const double width = zoom_.end() - zoom_.begin();
    if (selected_.span == nullptr) return zoom_.show_all();
    const double middle = (selected_.span->start_s + selected_.span->end_s) / 2;
    const double room = std::max(selected_.span->end_s - selected_.span->start_s, 1e-9);
    zoom_.set_follows(false);
    if (centred_once_)
        zoom_.show(selected_.span->start_s - room, selected_.span->end_s + room);
    else
        zoom_.show(middle - width / 2, middle + width / 2);
    centred_once_ = !centred_once_;
}

/// The selected lane, else those that are marked: above the others, or back among them.
void TimelineView::toggle_pin() {
    std::set<std::string> names = marked_nodes_;
    if (selected_lane_ >= 0) names = {data_->lanes()[static_cast<std::size_t>(selected_lane_)].name};
    if (names.empty()) return;
    auto pinned = pinned_;
    const bool all = std::includes(pinned.begin(), pinned.end(), names.begin(), names.end());
    for (const auto& name : names) {
        if (all)
            pinned.erase(name);
        else
            pinned.insert(name);
    }
    set_pinned(std::move(pinned));
}

/// At the selection's begin, else in the middle of what is in sight; one that is there is taken away.
void TimelineView::toggle_bookmark() {
    const double time = selected_.span != nullptr ? selected_.span->start_s
                        : selected_gap_           ? selected_gap_->start_s
                        : area_                   ? area_->begin
                                                  : (zoom_.begin() + zoom_.end()) / 2;
    const double near_s = 4 / scale().pixels_per_second();
    auto marks = bookmarks_;
    if (std::erase_if(marks, [&](double mark) { return std::abs(mark - time) <= near_s; }) == 0) marks.push_back(time);
    set_bookmarks(std::move(marks));
}

void TimelineView::step_bookmark(int step) {
    const double width = zoom_.end() - zoom_.begin(), middle = zoom_.begin() + width / 2, least = width * 1e-6;
    const double* best = nullptr;
    for (const double& mark : bookmarks_)
        if (step > 0 ? mark > middle + least && best == nullptr : mark < middle - least) best = &mark;
    if (best != nullptr) show_time(*best);
}

void TimelineView::show_time(double time) {
    zoom_.set_follows(false);
    show_around(time);
}

void TimelineView::focusInEvent(QFocusEvent* event) {
    ImGuiHost::focusInEvent(event);
    request_frame();  // with its frame
}

void TimelineView::focusOutEvent(QFocusEvent* event) {
    ImGuiHost::focusOutEvent(event);
    request_frame();
}

void TimelineView::keyPressEvent(QKeyEvent* event) {
    if (!data_ || (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier))) {
        ImGuiHost::keyPressEvent(event);
        return;
    }
    const double width = zoom_.end() - zoom_.begin();
    const QPointF cursor = mapFromGlobal(QCursor::pos());
    const bool inside = rect().contains(cursor.toPoint()) && cursor.x() > scale().left;
    const double about = inside ? scale().time(cursor.x()) : (zoom_.begin() + zoom_.end()) / 2;
    const auto moved = [&] { zoom_.set_follows(false); };
    switch (event->key()) {
        case Qt::Key_W: moved(), zoom_.zoom_at(about, 0.7); break;
        case Qt::Key_S: moved(), zoom_.zoom_at(about, 1 / 0.7); break;
        case Qt::Key_A:
        case Qt::Key_Left: moved(), zoom_.pan(-0.15 * width); break;
        case Qt::Key_D:
        case Qt::Key_Right: moved(), zoom_.pan(0.15 * width); break;
        case Qt::Key_Up: scroll_by_hand(scroll_ - stack().height); break;
        case Qt::Key_Down: scroll_by_hand(scroll_ + stack().height); break;
        case Qt::Key_Home: zoom_.show_all(); break;
        case Qt::Key_F: show_selection_or_all(); break;
        case Qt::Key_Comma: step_lane(-1); break;
        case Qt::Key_Period: step_lane(+1); break;
        case Qt::Key_BracketLeft: step_hop(-1); break;
        case Qt::Key_BracketRight: step_hop(+1); break;
        case Qt::Key_Return:
        case Qt::Key_Enter: follow_cause(); break;
        case Qt::Key_Backspace: go_back(); break;
        case Qt::Key_B: toggle_bookmark(); break;
        case Qt::Key_T: Q_EMIT alone_wanted(); break;
        case Qt::Key_P: toggle_pin(); break;
        case Qt::Key_PageUp: step_bookmark(-1); break;
        case Qt::Key_PageDown: step_bookmark(+1); break;
        case Qt::Key_Escape:
            give_up_drag();
            clear_selection();
            Q_EMIT selected_changed();
            break;
        default: ImGuiHost::keyPressEvent(event); return;
    }
    if (event->key() != Qt::Key_F) centred_once_ = false;
    card_hidden_ = true;
    event->accept();
    request_frame();
}

}  // namespace skippipe
