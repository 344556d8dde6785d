// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/curves/curve_chart.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

#include <QVBoxLayout>

#include "views/curves/curve_ticks.h"
#include "views/curves/end_labels.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr double raw_share = 0.3;  ///< of a curve's colour, where a smoothed one is drawn above it
constexpr float band_share = 0.18F;
constexpr int disc_pixels = 6, least_buckets = 300;
constexpr int tick_px = 20;              ///< of the axis of y, so that figures in a low chart do not touch
constexpr int least_with_x_label = 110;  ///< pixels of one of a column: the choice above it names the axis

QSharedPointer<QCPAxisTicker> ticker(bool logarithmic, AxisKind kind, bool from_zero) {
    if (logarithmic) return QSharedPointer<QCPAxisTicker>(new QCPAxisTickerLog);
    return QSharedPointer<QCPAxisTicker>(new PlainTicker(kind, from_zero));
}
constexpr std::size_t most_fine_curves = 24;  ///< more are drawn plainly
constexpr double thick_from = 2.5;            ///< pixels: the baseline's

/// A drag that goes mostly along one axis is a band across the other, which stays as it is.
class ZoomRect final : public QCPSelectionRect {
public:
    ZoomRect(QCustomPlot* plot, std::function<void()> across) : QCPSelectionRect(plot), across_(std::move(across)) {}

protected:
    void startSelection(QMouseEvent* event) override {
        from_ = event->pos();
        QCPSelectionRect::startSelection(event);
    }
    void moveSelection(QMouseEvent* event) override {
        reach(event->pos());
        Q_EMIT changed(mRect, event);
        layer()->replot();
    }
    void endSelection(QMouseEvent* event) override {
        reach(event->pos());
        mActive = false;
        if (!goes_across_ && !goes_down_) return Q_EMIT accepted(mRect, event);
        // That axis alone: pixels would round the other.
        auto* axis = goes_across_ ? mParentPlot->xAxis : mParentPlot->yAxis;
        const QRectF band(mRect.normalized());
        axis->setRange(axis->pixelToCoord(goes_across_ ? band.left() : band.bottom()),
                       axis->pixelToCoord(goes_across_ ? band.right() : band.top()));
        if (goes_across_) across_();
        mParentPlot->replot();
    }

private:
    void reach(QPoint to) {
        constexpr int least = 4, mostly = 3;
        mRect = QRect(from_, to);
        const QRect axes = mParentPlot->axisRect()->rect();
        const int across = std::abs(to.x() - from_.x()), down = std::abs(to.y() - from_.y());
        goes_across_ = across >= least && across >= mostly * down;
        goes_down_ = down >= least && down >= mostly * across;
        if (goes_across_) {
            mRect.setTop(axes.top());
            mRect.setBottom(axes.bottom());
        } else if (goes_down_) {
            mRect.setLeft(axes.left());
            mRect.setRight(axes.right());
        }
    }
    std::function<void()> across_;  ///< what comes after a band across
    QPoint from_;
    bool goes_across_ = false, goes_down_ = false;
};

}  // namespace

CurveChart::CurveChart(QWidget* parent)
    : QWidget(parent),
      plot_(new QCustomPlot(this)),
      level_(new QCPItemStraightLine(plot_)),
      nothing_(new QCPItemText(plot_)),
      title_(new QCPItemText(plot_)),
      crosshair_(std::make_unique<Crosshair>(*plot_)),
      ends_(std::make_unique<EndLabels>(*plot_)) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(plot_);
    plot_->setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
    plot_->setMinimumHeight(80);
    plot_->setAccessibleName(tr("Chart"));
    plot_->setNoAntialiasingOnDrag(true);
    plot_->setMouseTracking(true);
    nothing_->setText(tr("No values of this kind"));
    nothing_->position->setType(QCPItemPosition::ptAxisRectRatio);
    nothing_->position->setCoords(0.5, 0.5);
    nothing_->setSelectable(false);
    title_->position->setType(QCPItemPosition::ptAxisRectRatio);
    title_->position->setCoords(1, 0);
    title_->setPositionAlignment(Qt::AlignRight | Qt::AlignTop);
    title_->setPadding({3, 1, 3, 1});
    title_->setSelectable(false);
    title_->setVisible(false);
    plot_->setSelectionRect(new ZoomRect(plot_, [this] {
        if (!y_by_hand_) fit_y();
    }));
    level_->setVisible(false);
    level_->setSelectable(false);
    for (auto* end : {level_->point1, level_->point2}) end->setTypeX(QCPItemPosition::ptAxisRectRatio);
    for (auto* axis : {plot_->xAxis, plot_->yAxis})
        connect(axis, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), this, [this] {
            if (!drawing_) Q_EMIT moved();
        });
    connect(plot_->yAxis, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), this, [this] {
        if (!drawing_) y_by_hand_ = true;
    });
    connect(plot_, &QCustomPlot::mousePress, this, [this](const QMouseEvent* event) {
        const bool moves = event->modifiers().testFlag(Qt::ShiftModifier);
        plot_->setSelectionRectMode(moves ? QCP::srmNone : QCP::srmZoom);
    });
    connect(plot_, &QCustomPlot::mouseMove, this, [this](const QMouseEvent* event) {
        if (plot_->axisRect()->rect().contains(event->pos()))
            Q_EMIT hovered(plot_->xAxis->pixelToCoord(event->position().x()));
        else
            Q_EMIT left();
    });
    connect(plot_, &QCustomPlot::mouseDoubleClick, this, &CurveChart::all_wanted);
    connect(plot_, &QCustomPlot::afterLayout, this, [this] {
        const auto& rect = *plot_->axisRect();
        if (!y_by_hand_ && rect.height() != fitted_px_) {
            fit_y();
            plot_->replot(QCustomPlot::rpQueuedReplot);
        }
        if (rect.margins().left() > rect.minimumMargins().left()) Q_EMIT outgrown();
    });
}

void CurveChart::leaveEvent(QEvent*) { Q_EMIT left(); }

CurveChart::Gutters CurveChart::wanted_gutters() const {
    auto& rect = *plot_->axisRect();
    const auto lay_out = [&](const QMargins& least) {
        rect.setMinimumMargins(least);
        for (const auto phase :
             {QCPLayoutElement::upPreparation, QCPLayoutElement::upMargins, QCPLayoutElement::upLayout})
            plot_->plotLayout()->update(phase);
        return rect.margins().left();
    };
    const QMargins kept = rect.minimumMargins();
    const int left = lay_out({EndLabels::least_left, kept.top(), kept.right(), kept.bottom()});
    lay_out(kept);
    return {left, ends_->wanted_width()};
}

void CurveChart::set_gutters(const Gutters& gutters) {
    const QMargins kept = plot_->axisRect()->minimumMargins();
    const QMargins now{gutters.left, kept.top(), gutters.right, kept.bottom()};
    if (now == kept) return;
    plot_->axisRect()->setMinimumMargins(now);
    plot_->replot(QCustomPlot::rpQueuedReplot);
}

void CurveChart::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    style();
    ends_->show_set(set_);
    Q_EMIT outgrown();
}

void CurveChart::set_logarithmic(bool x, bool y) {
    log_x_ = x;
    log_y_ = y;
}

void CurveChart::style() {
    apply_theme(*plot_);
    const Theme& t = theme();
    plot_->selectionRect()->setPen(QPen(t.accent));
    plot_->selectionRect()->setBrush(mix(t.surface, t.accent, 0.15));
    crosshair_->style();
    level_->setPen(QPen(t.text_2, 1, Qt::DashLine));
    nothing_->setFont(small_font());
    nothing_->setColor(t.text_2);
    title_->setFont(small_font());
    title_->setColor(t.text);
    QColor ground = t.surface;
    ground.setAlphaF(0.85F);  // a curve below it is seen
    title_->setBrush(ground);
    plot_->xAxis->setTickLabels(has_x_words_);
    for (auto* axis : {plot_->xAxis, plot_->yAxis}) {
        const bool is_x = axis == plot_->xAxis, logarithmic = is_x ? log_x_ : log_y_;
        axis->setScaleType(logarithmic ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
        const bool time = is_x ? set_.x_is_time : set_.y_is_time;
        const bool whole = is_x && set_.choice.x == WorkAxis::iteration;
        const bool bytes = !is_x && set_.choice.metric == "bytes_sent";
        axis->setTicker(ticker(logarithmic,
                               time    ? AxisKind::seconds
                               : whole ? AxisKind::whole_number
                               : bytes ? AxisKind::bytes
                                       : AxisKind::number,
                               is_x));
        if (!is_x && !logarithmic) axis->ticker()->setTickCount(std::clamp(height() / tick_px, 2, 5));
        axis->setNumberFormat(logarithmic ? "gb" : "g");
        axis->setNumberPrecision(logarithmic ? 3 : 5);
        // Powers of ten carry no unit.
        const QString unit = !logarithmic ? QString{} : time ? tr(" (s)") : bytes ? tr(" (bytes)") : QString{};
        const bool is_told = is_x ? has_x_words_ && (!in_column_ || height() >= least_with_x_label) : !in_column_;
        axis->setLabel(is_told ? (is_x ? set_.x_label : set_.y_label) + unit : QString{});
    }
    label_y();
}

/// What it is counted in is left out where a low chart would cut it.
void CurveChart::label_y() {
    constexpr int below = 48;  // pixels of the axis of x, its figures and label
    const QString whole = plot_->yAxis->label(), brief = set_.y_label.section(QStringLiteral(" ("), 0, 0);
    if (!whole.isEmpty() && QFontMetrics(small_font()).horizontalAdvance(whole) > height() - below)
        plot_->yAxis->setLabel(brief);
}

bool CurveChart::has_many() const { return set_.curves.size() > most_fine_curves; }

/// From `before` where they are there.
CurveChart::Thinned CurveChart::thin(const SharedPoints& points, const std::vector<Thinned>& before) const {
    const int buckets = std::max(least_buckets, plot_->width());
    const auto known = std::find_if(before.begin(), before.end(), [&](const Thinned& one) {
        return one.buckets == buckets && one.of.is_same(points);
    });
    if (known != before.end()) return *known;
    Thinned made{points, buckets, {}, {}};
    for (const auto& point : downsample(points, buckets)) made.x << point.x, made.y << point.y;
    return made;
}

void CurveChart::add_curve(const Curve& curve, const std::vector<Thinned>& before) {
    const auto graph_of = [&](const SharedPoints& points) {
        const auto& drawn = thinned_.emplace_back(thin(points, before));
        auto* graph = plot_->addGraph();
        graph->setData(drawn.x, drawn.y, true);
        graph->setAdaptiveSampling(true);
        // Of a hundred lines dashes and soft edges say nothing, and take a hundred times as long.
        const bool is_plain = has_many() && curve.pen.widthF() < thick_from;
        graph->setPen(is_plain ? QPen(curve.pen.color(), 1) : curve.pen);
        if (curve.marks || points.size() < 3)
            graph->setScatterStyle(QCPScatterStyle(curve.marks ? QCPScatterStyle::ssCircle : QCPScatterStyle::ssDisc,
                                                   QPen(curve.pen.color(), 1.5), theme().surface, disc_pixels));
        if (curve.marks) graph->setLineStyle(QCPGraph::lsNone);
        return graph;
    };
    if (!curve.low.empty()) {
        auto* low = graph_of(curve.low);
        auto* high = graph_of(curve.high);
        QColor band = curve.pen.color();
        band.setAlphaF(band_share);
        for (auto* edge : {low, high}) {
            edge->setPen(Qt::NoPen);
            edge->setScatterStyle(QCPScatterStyle::ssNone);
        }
        high->setBrush(band);
        high->setChannelFillGraph(low);
    }
    if (!curve.smooth.empty()) {
        auto* raw = graph_of(curve.points);
        QPen pale = curve.pen;
        pale.setColor(mix(theme().surface, pale.color(), raw_share));
        pale.setWidthF(1);
        raw->setPen(pale);
    }
    graph_of(curve.smooth.empty() ? curve.points : SharedPoints(curve.smooth));
}

void CurveChart::show_set(CurveSet set, bool keeps_sight) {
    drawing_ = true;
    set_ = std::move(set);
    plot_->clearGraphs();
    plot_->setNotAntialiasedElement(QCP::aePlottables, has_many());
    plot_->setPlottingHint(QCP::phFastPolylines, has_many());
    style();
    const auto before = std::exchange(thinned_, {});
    for (const auto& curve : set_.curves) add_curve(curve, before);
    nothing_->setVisible(set_.curves.empty());
    mark_losses();
    plot_->axisRect()->setMinimumMargins({});  // of the curves before
    ends_->show_set(set_);
    if (!keeps_sight)
        show_all();
    else if (!y_by_hand_)
        fit_y();
    drawing_ = false;
    set_crosshair(crosshair_x_);
}

void CurveChart::show_all() {
    plot_->rescaleAxes();
    leave_aside();
    if (plot_->xAxis->scaleType() == QCPAxis::stLinear) {
        begin_at_none();
        plot_->xAxis->scaleRange(1.06);
    }
    y_by_hand_ = false;
    fit_y();
}

/// Of the first point alone an axis says nothing but that it is the first.
void CurveChart::begin_at_none() {
    QCPRange all;
    bool any = false;
    for (int i = 0; i < plot_->graphCount(); ++i) {
        bool found = false;
        const QCPRange own = plot_->graph(i)->getKeyRange(found);
        if (found) all = std::exchange(any, true) ? all.expanded(own) : own;
    }
    if (any && all.size() <= 0) plot_->xAxis->setRange(std::min(0.0, all.lower), std::max(1.0, all.upper));
}

/// As high as what is in sight, and a little more: marks at its edges are whole in a low chart, too.
void CurveChart::fit_y() {
    const bool before = std::exchange(drawing_, true);
    QCPAxis& axis = *plot_->yAxis;
    const bool linear = axis.scaleType() == QCPAxis::stLinear;
    fitted_px_ = plot_->axisRect()->height();
    QCPRange all;
    bool any = false;
    for (int i = 0; i < plot_->graphCount(); ++i) {
        bool found = false;
        const QCPRange own =
            plot_->graph(i)->getValueRange(found, linear ? QCP::sdBoth : QCP::sdPositive, plot_->xAxis->range());
        if (found) all = std::exchange(any, true) ? all.expanded(own) : own;
    }
    // A share is read against nothing and all of it, not against the least of them.
    if (set_.choice.metric == "idle_share" && linear && !set_.choice.less_baseline) {
        axis.setRange(0, 100);
    } else if (any) {
        // Less than the least extent of what is seen is told in more digits than labels have.
        constexpr double beyond_px = 6, least_share = 0.06, flat_share = 0.1, least_extent = 0.002;
        const double high = fitted_px_, middle = all.center();
        if (all.size() <= 0) {
            const double half = middle != 0 ? flat_share * std::abs(middle) : 0.5;
            all = linear ? QCPRange(middle - half, middle + half) : QCPRange(middle / 2, middle * 2);
        } else if (const double half = least_extent / 2 * std::abs(middle); linear && all.size() < 2 * half) {
            all = {middle - half, middle + half};
        }
        const double named = title_->visible() ? QFontMetrics(small_font()).height() : 0;  // above the curves
        const double inside = std::max(high - 2 * beyond_px - named, high / 2);
        const double share = inside > 0 ? std::max(beyond_px / inside, least_share) : least_share;
        const double above = share + (inside > 0 ? named / inside : 0);
        axis.setRange(linear ? QCPRange(all.lower - share * all.size(), all.upper + above * all.size()) : all);
    }
    drawing_ = before;
}

/// What is set aside may go on for a hundred times as long as what is compared.
void CurveChart::leave_aside() {
    QCPRange compared;
    bool any = false, all = true;
    for (const auto& curve : set_.curves) {
        all = all && !curve.is_aside;
        if (curve.is_aside || curve.points.empty()) continue;
        const QCPRange own(curve.points.front().x, curve.points.back().x);
        compared = any ? compared.expanded(own) : own;
        any = true;
    }
    if (!all && any && compared.size() > 0) plot_->xAxis->setRange(compared);
}

void CurveChart::set_x_range(double begin, double end) {
    const bool before = std::exchange(drawing_, true);
    plot_->xAxis->setRange(begin, end);
    if (!y_by_hand_) fit_y();
    drawing_ = before;
    plot_->replot(QCustomPlot::rpQueuedReplot);
}

std::pair<double, double> CurveChart::x_range() const {
    return {plot_->xAxis->range().lower, plot_->xAxis->range().upper};
}

void CurveChart::set_crosshair(std::optional<double> x) {
    if (x && set_.choice.x == WorkAxis::iteration) x = std::round(*x);  // there are no others
    crosshair_x_ = x;
    if (x)
        crosshair_->show(*x, has_x_words_ ? x_words(*x) : QString{}, read(), reads_);
    else
        crosshair_->hide();
    plot_->replot(QCustomPlot::rpQueuedReplot);
}

/// Of lines, and of what the legend names; a run that has ended says when.
std::vector<Crosshair::Row> CurveChart::read() const {
    std::vector<Crosshair::Row> rows;
    for (const auto& curve : set_.curves) {
        if (curve.points.empty() || !crosshair_x_) continue;
        Crosshair::Row row{curve.run,          curve.runs.isEmpty() ? QString::number(curve.run) : curve.runs,
                           value_words(curve), {},
                           curve.pen.color(),  curve.in_legend};
        if (!row.words.isEmpty() || !curve.marks) row.at = curve.at(*crosshair_x_);
        if (const double last = curve.points.back().x; row.words.isEmpty() && !curve.marks && *crosshair_x_ > last)
            row.words = tr("ended at %1").arg(x_words(last));
        if (row.words.isEmpty() && !row.at) continue;
        row.is_read = row.is_read && !row.words.isEmpty();
        rows.push_back(std::move(row));
    }
    return rows;
}

/// In the unit of the axis.
QString CurveChart::words_on(const QCPAxis& axis, double value, bool is_time, const QString& unit) {
    const double largest = std::max(std::abs(axis.range().lower), std::abs(axis.range().upper));
    return is_time ? duration(value) : quantity_beside(value, std::max(largest, std::abs(value)), unit).trimmed();
}

QString CurveChart::crosshair_words() const {
    if (!crosshair_x_) return {};
    const QString where = tr("%1 %2").arg(set_.x_label, x_words(*crosshair_x_));
    return is_at_loss() ? tr("%1, nodes lost").arg(where) : where;
}

/// Ticks on the axis of x, in the colour that lanes have for what is lost.
void CurveChart::mark_losses() {
    constexpr double bottom = 1, tall = 0.08;  // of the axes' height
    for (auto* mark : losses_) plot_->removeItem(mark);
    losses_.clear();
    for (const double x : set_.losses) {
        auto* mark = losses_.emplace_back(new QCPItemLine(plot_));
        mark->setObjectName("loss");
        mark->setSelectable(false);
        mark->setPen(QPen(theme().bad, 2, Qt::SolidLine, Qt::FlatCap));
        for (auto* end : {mark->start, mark->end}) {
            end->setTypeX(QCPItemPosition::ptPlotCoords);
            end->setTypeY(QCPItemPosition::ptAxisRectRatio);
        }
        mark->start->setCoords(x, bottom);
        mark->end->setCoords(x, bottom - tall);
    }
}

bool CurveChart::is_at_loss() const {
    constexpr double near_px = 4;
    return std::any_of(set_.losses.begin(), set_.losses.end(), [&](double x) {
        return std::abs(plot_->xAxis->coordToPixel(x) - plot_->xAxis->coordToPixel(*crosshair_x_)) <= near_px;
    });
}

QString CurveChart::x_words(double x) const {
    return set_.choice.x == WorkAxis::iteration ? QString::number(std::llround(x))
                                                : words_on(*plot_->xAxis, x, set_.x_is_time, {});
}

QString CurveChart::value_words(const Curve& curve) const {
    constexpr double near = 0.02;  // of what is in sight
    const auto point = crosshair_x_ ? curve.at(*crosshair_x_) : std::nullopt;
    if (!point || (curve.marks && std::abs(point->x - *crosshair_x_) > near * plot_->xAxis->range().size())) return {};
    const QString value = curve_value_words(set_, point->y), there = x_words(point->x);
    return there == x_words(*crosshair_x_) ? value : tr("%1 at %2").arg(value, there);
}

void CurveChart::set_in_column(bool on, bool has_x_axis) {
    constexpr int usual_least = 80, least_in_column = 32;
    plot_->setMinimumHeight(on ? least_in_column : usual_least);
    title_->setVisible(on);
    const bool has_x_words = !on || has_x_axis;
    if (on == in_column_ && has_x_words == has_x_words_) return;
    in_column_ = on;
    has_x_words_ = has_x_words;
    style();
    plot_->replot(QCustomPlot::rpQueuedReplot);
}

void CurveChart::set_title(const QString& words) {
    if (words == title_->text()) return;
    title_->setText(words);
    plot_->replot(QCustomPlot::rpQueuedReplot);
}

QString CurveChart::title() const { return title_->visible() ? title_->text() : QString{}; }

void CurveChart::set_level(std::optional<double> y) {
    level_y_ = y;
    level_->setVisible(y.has_value());
    if (y) {
        level_->point1->setCoords(0, *y);
        level_->point2->setCoords(1, *y);
    }
    plot_->replot(QCustomPlot::rpQueuedReplot);
}

QString CurveChart::readout() const {
    QStringList lines;
    for (const auto& curve : set_.curves)
        if (curve.in_legend) lines << (curve.name + QStringLiteral("  ") + value_words(curve)).trimmed();
    return lines.join('\n');
}

int CurveChart::point_count() const {
    int count = 0;
    for (int i = 0; i < plot_->graphCount(); ++i) count += plot_->graph(i)->dataCount();
    return count;
}

}  // namespace skippipe
