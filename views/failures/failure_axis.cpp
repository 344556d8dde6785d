// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/failures/failure_axis.h"

#include <algorithm>
#include <cmath>

#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QToolTip>
#include <QWheelEvent>

#include "core/experiment/failure_text.h"
#include "views/document/document.h"
#include "views/document/selection_model.h"
#include "views/failures/failure_editor.h"
#include "views/theme/numbers.h"
#include "views/topology/failure_edits.h"

namespace skippipe {
namespace {

constexpr double most_lanes = 5, least_lanes = 2;
constexpr double grip = 4, mark_reach = 7;  // pixels around an end and a beginning that are it
constexpr double drag_threshold = 3;
constexpr double snap_pixels = 4;
constexpr double wide_names = 120, narrow_names = 92, wide_enough = 520;

bool has_lasting_time(const Failure& failure) { return failure.at_s.has_value(); }

}  // namespace

FailureAxis::FailureAxis(Document& document, SelectionModel& selection, FailureEditor& editor, QWidget* parent)
    : QWidget(parent), document_(document), selection_(selection), editor_(editor) {
    setObjectName("failure_axis");
    setAccessibleName(tr("Failures on network time"));
    setAccessibleDescription(
        tr("Insert adds a crash, Up and Down choose a failure, Left and Right move it, Delete removes it"));
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(&document, &Document::changed, this, &FailureAxis::follow_document);
    connect(&document, &Document::replaced, &zoom_, &TimeZoom::show_all);
    connect(&selection, &SelectionModel::changed, this, [this] {
        bring_selected_into_sight();
        update();
    });
    connect(&zoom_, &TimeZoom::changed, this, qOverload<>(&QWidget::update));
    follow_plan();
}

void FailureAxis::follow_document() {
    const auto& e = document_.experiment();
    if (e.failures == known_ && e.training.iterations == known_iterations_) return;
    follow_plan();
}

void FailureAxis::follow_plan() {
    const auto& e = document_.experiment();
    known_ = e.failures;
    known_iterations_ = e.training.iterations;
    lanes_ = failure_lanes(e.failures, editor_.iteration_s());
    if (!drag_) zoom_.set_extent(failure_extent_s(e, editor_.iteration_s()));
    scroll_ = stack().clamp_scroll(scroll_, height());
    updateGeometry();
    update();
}

/// One row more than there are lanes: an empty place to click.
int FailureAxis::height_of(double most_rows) const {
    const double rows = std::min(static_cast<double>(lanes_.size()) + 1, most_rows);
    return static_cast<int>(failure_scale_height + rows * failure_lane_height);
}

QSize FailureAxis::sizeHint() const { return {400, height_of(most_lanes)}; }

QSize FailureAxis::minimumSizeHint() const {
    return {200, lanes_.empty() ? static_cast<int>(failure_scale_height) : height_of(least_lanes)};
}

bool FailureAxis::is_one_row() const { return lanes_.empty() && height() < failure_scale_height + failure_lane_height; }

double FailureAxis::names_width() const { return width() < wide_enough ? narrow_names : wide_names; }

TimeScale FailureAxis::scale() const {
    return {zoom_.begin(), zoom_.end(), names_width(), std::max(width() - 1.0, names_width() + 1)};
}

LaneStack FailureAxis::stack() const {
    return {failure_scale_height, failure_lane_height, scroll_, static_cast<int>(lanes_.size())};
}

QPointF FailureAxis::place_of(double seconds, int lane) const {
    return {scale().x(seconds), stack().lane_top(lane) + failure_lane_height / 2};
}

double FailureAxis::pixels_s(double pixels) const { return pixels / scale().pixels_per_second(); }

const Failure& FailureAxis::shown(std::size_t index) const {
    return drag_ && drag_->moved && drag_->hit.failure == index ? drag_->failure
                                                                : document_.experiment().failures[index];
}

std::optional<std::size_t> FailureAxis::selected() const {
    const auto failure = selection_.now().failure;
    return failure && *failure < document_.experiment().failures.size() ? failure : std::nullopt;
}

void FailureAxis::bring_selected_into_sight() {
    const auto index = selected();
    if (!index || drag_) return;
    for (int lane = 0; lane < static_cast<int>(lanes_.size()); ++lane) {
        const auto& there = lanes_[static_cast<std::size_t>(lane)].failures;
        if (std::find(there.begin(), there.end(), *index) == there.end()) continue;
        const double top = lane * failure_lane_height, room = height() - failure_scale_height;
        if (top < scroll_) scroll_ = top;
        if (top + failure_lane_height > scroll_ + room) scroll_ = top + failure_lane_height - room;
        scroll_ = stack().clamp_scroll(scroll_, height());
    }
    if (const auto stretch = stretch_of(shown(*index), editor_.iteration_s());
        stretch && (stretch->begin_s < zoom_.begin() || stretch->begin_s > zoom_.end())) {
        const double width = zoom_.end() - zoom_.begin();
        zoom_.show(stretch->begin_s - width / 2, stretch->begin_s + width / 2);
    }
}

std::optional<FailureAxis::Hit> FailureAxis::hit_at(QPointF place) const {
    const int lane = stack().lane_at(place.y());
    const TimeScale s = scale();
    if (lane < 0 || place.x() < s.left - mark_reach) return std::nullopt;
    const auto& failures = lanes_[static_cast<std::size_t>(lane)].failures;
    if (!lanes_[static_cast<std::size_t>(lane)].timed) return Hit{failures.front()};
    std::optional<Hit> hit;
    for (const auto index : failures) {
        const auto& failure = shown(index);
        const auto stretch = stretch_of(failure, editor_.iteration_s());
        if (!stretch) continue;
        const double x0 = s.x(stretch->begin_s), x1 = std::isfinite(stretch->end_s) ? s.x(stretch->end_s) : s.right;
        const bool has_end = has_lasting_time(failure) && failure.rejoin_after_s && x1 - x0 > 3 * grip;
        if (has_end && std::abs(place.x() - x1) <= grip) return Hit{index, Part::end};
        if (place.x() >= x0 - mark_reach && place.x() <= std::max(x1, x0 + mark_reach)) hit = Hit{index};
    }
    return hit;
}

bool FailureAxis::is_empty_place(QPointF place) const {
    return rect().contains(place.toPoint()) && place.x() >= scale().left && !hit_at(place);
}

/// The selected node, else the one whose lane it is, else one or another.
std::string FailureAxis::target_at(QPointF place) const {
    if (selection_.now().nodes.size() == 1) return *selection_.now().nodes.begin();
    const auto& e = document_.experiment();
    const int lane = stack().lane_at(place.y());
    if (lane >= 0)
        for (const auto& node : e.topology.nodes)
            if (node.id == lanes_[static_cast<std::size_t>(lane)].name) return node.id;
    return any_target;
}

double FailureAxis::time_at(QPointF place, bool exact) const {
    const double seconds = std::max(0.0, scale().time(place.x()));
    return exact ? seconds : rounded_time(seconds, pixels_s(snap_pixels));
}

QString FailureAxis::words_at(QPointF place) const {
    if (const auto hit = hit_at(place)) {
        const auto& failure = shown(hit->failure);
        QStringList lines{QString::fromStdString(failure_subject(failure)),
                          QString::fromStdString(failure_words(failure))};
        if (hit->part == Part::end)
            lines << tr("Drag: when it is over");
        else if (stretch_of(failure, editor_.iteration_s()))
            lines << tr("Drag moves it, Delete removes it");
        else
            lines << tr("Delete removes it");
        return lines.join('\n');
    }
    if (!is_empty_place(place)) return {};
    const auto target = target_at(place);
    const QString who = target == any_target ? tr("one or another node") : QString::fromStdString(target);
    return tr("Click: %1 crashes at %2 of network time").arg(who, duration(time_at(place, false)));
}

bool FailureAxis::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const QString words = words_at(help->pos());
        words.isEmpty() ? QToolTip::hideText() : QToolTip::showText(help->globalPos(), words, this);
        return true;
    }
    return QWidget::event(event);
}

void FailureAxis::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return QWidget::mousePressEvent(event);
    setFocus(Qt::MouseFocusReason);
    const auto hit = hit_at(event->position());
    if (!hit) {
        if (is_empty_place(event->position())) pressed_empty_ = event->position();
        return;
    }
    drag_ = Drag{*hit, event->position(), document_.experiment().failures[hit->failure]};
    editor_.select(hit->failure);
}

void FailureAxis::drag_to(QPointF place, bool exact) {
    const Failure was = document_.experiment().failures[drag_->hit.failure];
    const double moved_s = pixels_s(place.x() - drag_->from.x());
    const auto to_time = [&](double seconds) {
        return exact ? std::max(0.0, seconds) : rounded_time(seconds, pixels_s(snap_pixels));
    };
    Failure& failure = drag_->failure;
    if (drag_->hit.part == Part::end && was.at_s && was.rejoin_after_s) {
        const double end_s = to_time(*was.at_s + *was.rejoin_after_s + moved_s);
        failure.rejoin_after_s = std::max(end_s - *was.at_s, exact ? 0.0 : pixels_s(1));
    } else if (was.at_s) {
        failure.at_s = to_time(*was.at_s + moved_s);
    } else if (was.at_iteration && editor_.iteration_s() > 0) {
        const double iterations = std::round(moved_s / editor_.iteration_s());
        failure.at_iteration = static_cast<int>(std::clamp(*was.at_iteration + iterations, 0.0, 1e9));
    }
}

void FailureAxis::mouseMoveEvent(QMouseEvent* event) {
    const QPointF place = event->position();
    if (drag_) {
        drag_->moved = drag_->moved || std::abs(place.x() - drag_->from.x()) >= drag_threshold;
        if (drag_->moved) {
            drag_to(place, event->modifiers() & Qt::AltModifier);
            QToolTip::showText(event->globalPosition().toPoint(), QString::fromStdString(failure_words(drag_->failure)),
                               this);
        }
    } else {
        const auto hit = hit_at(place);
        const bool is_timed = hit && stretch_of(shown(hit->failure), editor_.iteration_s());
        setCursor(is_timed ? Qt::SizeHorCursor : hit ? Qt::PointingHandCursor : Qt::ArrowCursor);
    }
    hover_ = place;
    update();
}

void FailureAxis::mouseReleaseEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton) return QWidget::mouseReleaseEvent(event);
    const QPointF place = event->position();
    if (drag_) {
        const Drag done = *drag_;
        drag_.reset();
        if (done.moved)
            document_.edit(tr("Move failure"), [&](Experiment& e) {
                if (done.hit.failure < e.failures.size()) e.failures[done.hit.failure] = done.failure;
            });
    } else if (pressed_empty_ && std::abs(place.x() - pressed_empty_->x()) < drag_threshold && is_empty_place(place)) {
        editor_.add_crash(target_at(place), time_at(place, event->modifiers() & Qt::AltModifier));
    }
    pressed_empty_.reset();
    update();
}

void FailureAxis::mouseDoubleClickEvent(QMouseEvent* event) {
    // The second press of a quick pair is none of its own: it would add a second crash.
    if (hit_at(event->position())) Q_EMIT edit_requested();
}

void FailureAxis::leaveEvent(QEvent*) {
    hover_.reset();
    update();
}

void FailureAxis::wheelEvent(QWheelEvent* event) {
    const double steps = event->angleDelta().y() / 120.0;
    if (event->modifiers() & Qt::ControlModifier)
        zoom_.zoom_at(scale().time(event->position().x()), std::pow(0.8, steps));
    else if (event->modifiers() & Qt::ShiftModifier || event->angleDelta().x() != 0)
        zoom_.pan(-(steps != 0 ? steps : event->angleDelta().x() / 120.0) * (zoom_.end() - zoom_.begin()) * 0.1);
    else
        scroll_ = stack().clamp_scroll(scroll_ - steps * failure_lane_height, height());
    event->accept();
    update();
}

/// By the keyboard: what a drag of a few pixels does.
void FailureAxis::step_time(int steps) {
    const auto index = selected();
    if (!index) return;
    const double step_s = clock_step(pixels_s(snap_pixels));
    document_.edit(
        tr("Move failure"),
        [&](Experiment& e) {
            auto& failure = e.failures[*index];
            if (failure.at_s)
                failure.at_s = rounded_time(*failure.at_s + steps * step_s, step_s);
            else if (failure.at_iteration)
                failure.at_iteration = std::clamp(*failure.at_iteration + steps, 0, 1'000'000'000);
        },
        QStringLiteral("failure/%1/step").arg(*index));
}

void FailureAxis::step_selection(int steps) {
    std::vector<std::size_t> order;
    for (const auto& lane : lanes_) order.insert(order.end(), lane.failures.begin(), lane.failures.end());
    if (order.empty()) return;
    const auto index = selected();
    const auto now = index ? std::find(order.begin(), order.end(), *index) : order.end();
    const auto last = static_cast<std::ptrdiff_t>(order.size()) - 1;
    const auto next = now == order.end() ? (steps > 0 ? 0 : last) : std::clamp((now - order.begin()) + steps, {}, last);
    editor_.select(order[static_cast<std::size_t>(next)]);
}

void FailureAxis::keyPressEvent(QKeyEvent* event) {
    const int far = event->modifiers() & Qt::ShiftModifier ? 10 : 1;
    switch (event->key()) {
        case Qt::Key_Left: return step_time(-far);
        case Qt::Key_Right: return step_time(far);
        case Qt::Key_Up: return step_selection(-1);
        case Qt::Key_Down: return step_selection(1);
        case Qt::Key_Home: return zoom_.show_all();
        case Qt::Key_Insert: {
            const double middle_s = (zoom_.begin() + zoom_.end()) / 2;
            const auto& nodes = selection_.now().nodes;
            return editor_.add_crash(nodes.size() == 1 ? *nodes.begin() : any_target,
                                     rounded_time(middle_s, pixels_s(snap_pixels)));
        }
        case Qt::Key_Delete:
        case Qt::Key_Backspace:
            if (const auto index = selected()) editor_.remove(*index);
            return;
        case Qt::Key_Return:
        case Qt::Key_Enter:
            if (selected()) Q_EMIT edit_requested();
            return;
        case Qt::Key_Escape:
            if (drag_) {
                drag_.reset();
            } else if (selection_.now().failure) {
                Selection without = selection_.now();
                without.failure.reset();
                selection_.select(without);
            }
            return update();
        default: QWidget::keyPressEvent(event);
    }
}

void FailureAxis::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    scroll_ = stack().clamp_scroll(scroll_, height());
}

}  // namespace skippipe
