// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/sweep_plots.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include <QMouseEvent>
#include <QToolTip>

#include "views/runs/clock_words.h"
#include "views/runs/parameters.h"
#include "views/runs/run_marks.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr double pointed_px = 9, point_radius = 4, plot_head = 34, plot_foot = 34, plot_edge = 44, axis_left = 56;
constexpr int wanted_plot_ticks = 4;

struct PlotExtent {
    double low = 0, high = 1;
    double share(double value) const { return high > low ? (value - low) / (high - low) : 0.5; }
};

PlotExtent extent_of(const SweepColumn& column) {
    PlotExtent extent{std::numeric_limits<double>::infinity(), -std::numeric_limits<double>::infinity()};
    for (const auto& value : column.values)
        if (value) extent = {std::min(extent.low, *value), std::max(extent.high, *value)};
    return extent.low <= extent.high ? extent : PlotExtent{};
}

/// A twentieth of room on both sides, so that no point lies on an axis.
PlotExtent with_room(PlotExtent extent) {
    const double room =
        extent.high > extent.low ? 0.06 * (extent.high - extent.low) : std::max(1e-9, 0.1 * extent.high);
    return {extent.low - room, extent.high + room};
}

double distance_to(QPointF at, QPointF a, QPointF b) {
    const QPointF along = b - a;
    const double length2 = QPointF::dotProduct(along, along);
    const double share = length2 > 0 ? std::clamp(QPointF::dotProduct(at - a, along) / length2, 0.0, 1.0) : 0;
    const QPointF off = at - (a + share * along);
    return std::hypot(off.x(), off.y());
}

double distance_to(QPointF at, const QPolygonF& places) {
    double least = std::numeric_limits<double>::infinity();
    for (qsizetype i = 0; i < places.size(); ++i)
        least = std::min(least, distance_to(at, places[i], places[std::min(i + 1, places.size() - 1)]));
    return least;
}

/// Multiples of the step.
std::vector<double> ticks_between(const PlotExtent& extent, double step) {
    std::vector<double> ticks;
    const auto first = static_cast<std::int64_t>(std::ceil(extent.low / step));
    for (std::int64_t i = first; static_cast<double>(i) * step <= extent.high; ++i)
        ticks.push_back(static_cast<double>(i) * step);
    return ticks;
}

/// An axis' end as the table writes it.
QString figure_text(const SweepColumn& column, const SweepLook& look, double value) {
    if (&column == look.iteration()) return duration(value);
    return column.is_figure ? three_digits(value) : without_zeros(three_digits(value));
}

void draw_elided(QPainter& painter, const QRectF& box, int flags, const QString& words) {
    painter.drawText(box, flags,
                     painter.fontMetrics().elidedText(words, Qt::ElideRight, static_cast<int>(box.width())));
}

}  // namespace

SweepPlot::SweepPlot(const QString& name, QWidget* parent) : QWidget(parent) {
    setAccessibleName(name);
    setMouseTracking(true);
    setMinimumSize(220, 160);
}

void SweepPlot::set_look(const SweepLook& look) {
    look_ = look;
    pointed_ = -1;
    if (chosen_ >= look_.rows()) chosen_ = -1;
    update();
}

void SweepPlot::set_chosen(int row) {
    chosen_ = row;
    update();
}

/// A run's own, as elsewhere; of several runs the accent where none is better.
QColor SweepPlot::colour_of(int row) const {
    const auto place = static_cast<std::size_t>(row);
    const auto& runs = look_.runs[place];
    if (runs.size() == 1) return run_pen(runs.front(), 1).color();
    return look_.is_front[place] ? theme().accent : theme().text_2;
}

/// Beside their lines and points, as far as there is room.
void SweepPlot::draw_names(QPainter& painter) const {
    constexpr int most_named = 200;  // more have no room
    if (look_.rows() > most_named) return;
    std::vector<QRectF> taken;
    for (int row = 0; row < look_.rows(); ++row) {
        const auto& runs = look_.runs[static_cast<std::size_t>(row)];
        if (runs.empty()) continue;
        const QString words = run_numbers(runs);
        const QSizeF room(painter.fontMetrics().horizontalAdvance(words) + 2, painter.fontMetrics().height());
        for (const QRectF& box : name_boxes(row, room)) {
            const bool is_free =
                QRectF(rect()).contains(box) &&
                std::none_of(taken.begin(), taken.end(), [&](const QRectF& other) { return other.intersects(box); });
            if (!is_free) continue;
            taken.push_back(box);
            painter.setPen(row == chosen_ || row == pointed_ ? theme().text : theme().text_2);
            draw_elided(painter, box, Qt::AlignLeft | Qt::AlignVCenter, words);
            break;
        }
    }
}

/// A row has its run's colour; what is best or pointed at is thicker, what is chosen is thickest, and all else is pale
/// then.
void SweepPlot::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), theme().surface);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setFont(small_font());
    draw_axes(painter);
    const auto draw = [&](int row) {
        const bool best = look_.is_front[static_cast<std::size_t>(row)], marked = row == chosen_ || row == pointed_;
        QColor colour = colour_of(row);
        if (chosen_ >= 0 && !marked) colour.setAlphaF(best ? 0.6F : 0.35F);
        draw_row(painter, row, QPen(colour, row == chosen_ ? 3 : marked || best ? 2 : 1));
    };
    for (const bool best : {false, true})
        for (int row = 0; row < look_.rows(); ++row)
            if (look_.is_front[static_cast<std::size_t>(row)] == best && row != chosen_) draw(row);
    if (chosen_ >= 0) draw(chosen_);
    draw_names(painter);
}

int SweepPlot::row_at(QPointF at) const {
    int nearest = -1;
    double least = pointed_px;
    for (int row = 0; row < look_.rows(); ++row)
        if (const double away = distance_to(at, places(row)); away < least) {
            least = away;
            nearest = row;
        }
    return nearest;
}

QString SweepPlot::words_of(int row) const {
    QStringList lines;
    for (const auto& column : look_.columns)
        if (!column.words[row].isEmpty()) lines << column.name + ": " + column.words[row];
    if (look_.is_front[static_cast<std::size_t>(row)]) lines << tr("No other is as good in all and better in one");
    return lines.join('\n');
}

void SweepPlot::mousePressEvent(QMouseEvent* event) {
    if (const int row = row_at(event->position()); row >= 0) Q_EMIT row_clicked(row);
}

void SweepPlot::mouseMoveEvent(QMouseEvent* event) {
    const int row = row_at(event->position());
    if (row >= 0)
        QToolTip::showText(event->globalPosition().toPoint(), words_of(row), this);
    else
        QToolTip::hideText();
    setCursor(row >= 0 ? Qt::PointingHandCursor : Qt::ArrowCursor);
    if (row == pointed_) return;
    pointed_ = row;
    update();
}

void SweepPlot::leaveEvent(QEvent*) {
    pointed_ = -1;
    update();
}

ParallelPlot::ParallelPlot(QWidget* parent) : SweepPlot(tr("Parallel coordinates of the sweep"), parent) {}

double ParallelPlot::axis_x(std::size_t column) const {
    const double gaps = std::max(1.0, static_cast<double>(look().columns.size()) - 1);
    return plot_edge + (width() - 2 * plot_edge) * static_cast<double>(column) / gaps;
}

double ParallelPlot::place_y(const SweepColumn& column, double value) const {
    return height() - plot_foot - (height() - plot_head - plot_foot) * extent_of(column).share(value);
}

QPolygonF ParallelPlot::places(int row) const {
    QPolygonF line;
    for (std::size_t c = 0; c < look().columns.size(); ++c) {
        const auto& column = look().columns[c];
        const auto& value = column.values[static_cast<std::size_t>(row)];
        if (!value) return {};
        line << QPointF(axis_x(c), place_y(column, *value));
    }
    return line;
}

void ParallelPlot::draw_axes(QPainter& painter) const {
    QRectF figures;  ///< below the axes of what is measured
    for (std::size_t c = 0; c < look().columns.size(); ++c) {
        const auto& column = look().columns[c];
        const double x = axis_x(c);
        const bool last = c + 1 == look().columns.size();
        painter.setPen(QPen(theme().line, 1));
        painter.drawLine(QPointF(x, plot_head), QPointF(x, height() - plot_foot));
        const double half =
            (width() - 2 * plot_edge) / std::max(1.0, static_cast<double>(look().columns.size()) - 1) / 2;
        const double room = std::min(2 * half - size::unit, 2 * plot_edge - size::unit);
        painter.setPen(theme().text);
        draw_elided(painter, {x - room / 2, 2, room, 14}, Qt::AlignHCenter | Qt::AlignVCenter, column.name);
        painter.setPen(theme().text_2);
        for (qsizetype i = 0; i < column.choices.size(); ++i) {  // beside the axis, on the side where there is room
            const double y = place_y(column, static_cast<double>(i));
            const QRectF box =
                last ? QRectF(x - 2 * plot_edge - 4, y - 8, 2 * plot_edge, 14) : QRectF(x + 4, y - 8, half * 1.5, 14);
            draw_elided(painter, box, (last ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter, column.choices[i]);
        }
        if (!column.choices.isEmpty()) continue;
        const PlotExtent extent = extent_of(column);
        const auto end = [&](double y, double value) {
            draw_elided(painter, {x - room / 2, y, room, 14}, Qt::AlignHCenter | Qt::AlignVCenter,
                        figure_text(column, look(), value));
        };
        end(plot_head - 17, extent.high);
        end(height() - plot_foot + 3, extent.low);
        if (!column.is_figure) continue;
        const double line = height() - plot_foot + 19;
        if (figures.isNull()) figures = {x - room / 2, line, 0, 14};
        figures.setRight(x + room / 2);
    }
    if (figures.isNull()) return;
    // Once, below all that it holds for.
    painter.setPen(QPen(theme().line, 1));
    painter.drawLine(figures.topLeft(), figures.topRight());
    painter.setPen(theme().text_2);
    draw_elided(painter, figures, Qt::AlignHCenter | Qt::AlignVCenter, tr("lower is better"));
}

void ParallelPlot::draw_row(QPainter& painter, int row, const QPen& pen) const {
    painter.setPen(pen);
    painter.setBrush(Qt::NoBrush);
    painter.drawPolyline(places(row));
}

/// Right of its end, or as near as other names let it be.
std::vector<QRectF> ParallelPlot::name_boxes(int row, QSizeF words) const {
    const QPolygonF line = places(row);
    std::vector<QRectF> boxes;
    if (line.isEmpty()) return boxes;
    const QSizeF size(std::min(words.width(), plot_edge - 2 * size::unit), words.height());
    const QPointF middle = line.back() + QPointF(size::unit, -size.height() / 2);
    for (const double aside : {0., -1., 1., -2., 2.})
        boxes.emplace_back(middle + QPointF(0, aside * size.height()), size);
    return boxes;
}

TradeOffPlot::TradeOffPlot(QWidget* parent) : SweepPlot(tr("What the sweep's rows pay for their loss"), parent) {}

void TradeOffPlot::set_over_money(bool over_money) {
    over_money_ = over_money;
    update();
}

const SweepColumn* TradeOffPlot::across() const {
    return over_money_ && look().money() != nullptr ? look().money() : look().iteration();
}

QRectF TradeOffPlot::field() const {
    return QRectF(rect()).adjusted(axis_left, size::wide_gap, -size::wide_gap, -plot_foot - 8);
}

QPolygonF TradeOffPlot::places(int row) const {
    const auto *x = across(), *y = look().loss();
    if (x == nullptr || y == nullptr) return {};
    const auto &a = x->values[static_cast<std::size_t>(row)], &b = y->values[static_cast<std::size_t>(row)];
    if (!a || !b) return {};
    const QRectF box = field();
    return {QPointF(box.left() + box.width() * with_room(extent_of(*x)).share(*a),
                    box.bottom() - box.height() * with_room(extent_of(*y)).share(*b))};
}

void TradeOffPlot::draw_axes(QPainter& painter) const {
    const auto *x = across(), *y = look().loss();
    if (x == nullptr || y == nullptr) return;
    const QRectF box = field();
    const PlotExtent across_x = with_room(extent_of(*x)), up = with_room(extent_of(*y));
    const double step_x = nice_step((across_x.high - across_x.low) / wanted_plot_ticks),
                 step_y = nice_step((up.high - up.low) / wanted_plot_ticks);
    painter.setPen(QPen(theme().line, 1));
    painter.drawLine(box.bottomLeft(), box.bottomRight());
    painter.drawLine(box.bottomLeft(), box.topLeft());
    const bool is_time = x == look().iteration();
    for (const double v : ticks_between(across_x, step_x)) {
        const double at = box.left() + box.width() * across_x.share(v);
        painter.setPen(QPen(theme().line, 1));
        painter.drawLine(QPointF(at, box.top()), QPointF(at, box.bottom()));
        painter.setPen(theme().text_2);
        draw_elided(painter, {at - 30, box.bottom() + 3, 60, 14}, Qt::AlignHCenter | Qt::AlignVCenter,
                    is_time ? tick(v, step_x) : number_tick(v, step_x, across_x.high));
    }
    for (const double v : ticks_between(up, step_y)) {
        const double at = box.bottom() - box.height() * up.share(v);
        painter.setPen(QPen(theme().line, 1));
        painter.drawLine(QPointF(box.left(), at), QPointF(box.right(), at));
        painter.setPen(theme().text_2);
        draw_elided(painter, {0, at - 7, axis_left - 6, 14}, Qt::AlignRight | Qt::AlignVCenter,
                    number_tick(v, step_y, up.high));
    }
    painter.setPen(theme().text_2);
    draw_elided(painter, {box.left(), box.bottom() + 19, box.width(), 14}, Qt::AlignHCenter | Qt::AlignVCenter,
                is_time ? tr("Iteration, %1").arg(in_sentence(time_name(look().clock))) : tr("Money of a run"));
    draw_elided(painter, {box.left(), 1, box.width(), 14}, Qt::AlignRight | Qt::AlignVCenter,
                tr("lower is better on both axes"));
    painter.save();
    painter.translate(2, box.center().y());
    painter.rotate(-90);
    draw_elided(painter, {-box.height() / 2, 0, box.height(), 14}, Qt::AlignHCenter | Qt::AlignVCenter,
                tr("Validation loss (nats a token)"));
    painter.restore();
}

void TradeOffPlot::draw_row(QPainter& painter, int row, const QPen& pen) const {
    const QPolygonF at = places(row);
    if (at.isEmpty()) return;
    painter.setPen(QPen(pen.color(), 1.5));
    painter.setBrush(look().is_front[static_cast<std::size_t>(row)] ? QBrush(pen.color()) : QBrush(theme().surface));
    const double radius = row == chosen() ? point_radius + 2 : point_radius;
    painter.drawEllipse(at.front(), radius, radius);
}

/// At its right, else at its left, above or below.
std::vector<QRectF> TradeOffPlot::name_boxes(int row, QSizeF words) const {
    const QPolygonF at = places(row);
    if (at.isEmpty()) return {};
    const double apart = point_radius + size::unit, wide = words.width(), high = words.height();
    const QPointF p = at.front();
    return {{p + QPointF(apart, -high / 2), words},
            {p + QPointF(-apart - wide, -high / 2), words},
            {p + QPointF(-wide / 2, -apart - high), words},
            {p + QPointF(-wide / 2, apart), words}};
}

}  // namespace skippipe
