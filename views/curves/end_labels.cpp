// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/curves/end_labels.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "views/curves/plot.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr int least_width = 240;  ///< pixels of a chart that has room for them
constexpr int leader = 12, gap = 3;
constexpr double faint = 0.45;  ///< of its colour

/// Of several runs the discs are their lines' of the same colour; what is set aside has no result.
bool is_labelled(const Curve& curve) { return (!curve.marks || curve.in_legend) && !curve.is_aside; }

std::size_t labelled(const CurveSet& set) {
    return static_cast<std::size_t>(std::count_if(set.curves.begin(), set.curves.end(), is_labelled));
}

constexpr double long_from = 1e4;  ///< that has a prefix

}  // namespace

QString curve_value_words(const CurveSet& set, double y) {
    if (set.y_is_time) return duration(y);
    if (set.choice.metric == "idle_share") return percent(y / 100);
    if (set.choice.metric == "bytes_sent") return quantity(y, QStringLiteral("B"));
    return std::abs(y) < long_from ? three_digits(y) : quantity(y, {});
}

std::vector<CurveEnd> curve_ends(const CurveSet& set, double begin, double end) {
    std::vector<CurveEnd> ends;
    for (const auto& curve : set.curves) {
        if (!is_labelled(curve) || curve.points.empty()) continue;
        const double last = curve.points.back().x;
        if (last < begin || curve.points.front().x > end) continue;
        if (const auto point = curve.at(std::min(end, last))) ends.push_back({&curve, *point});
    }
    return ends;
}

std::vector<double> spread(const std::vector<double>& wanted, double distance, double low, double high) {
    std::vector<std::size_t> order(wanted.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return wanted[a] < wanted[b]; });
    if (wanted.size() > 1) distance = std::min(distance, (high - low) / static_cast<double>(wanted.size() - 1));
    // Neighbours that would touch become a block about the mean of where they want to be.
    struct Block {
        double sum;  ///< of where each wants the block's first to be
        std::size_t count;
    };
    std::vector<Block> blocks;
    const auto first_of = [&](const Block& block) {
        const double length = distance * static_cast<double>(block.count - 1);
        return std::clamp(block.sum / static_cast<double>(block.count), low, std::max(low, high - length));
    };
    for (const auto i : order) {
        blocks.push_back({wanted[i], 1});
        while (blocks.size() > 1) {
            const Block last = blocks.back();
            Block& before = blocks[blocks.size() - 2];
            const double length = distance * static_cast<double>(before.count);
            if (first_of(before) + length <= first_of(last)) break;
            before.sum += last.sum - length * static_cast<double>(last.count);
            before.count += last.count;
            blocks.pop_back();
        }
    }
    std::vector<double> places(wanted.size());
    std::size_t next = 0;
    for (const auto& block : blocks)
        for (std::size_t k = 0; k < block.count; ++k)
            places[order[next++]] = first_of(block) + distance * static_cast<double>(k);
    return places;
}

EndLabels::EndLabels(QCustomPlot& plot) : plot_(plot) {
    QObject::connect(&plot, &QCustomPlot::afterLayout, &plot, [this] { place(); });
}

QString EndLabels::words_of(const CurveEnd& end) const {
    QString value = (end.curve->marks ? QString::fromUtf8("○ ") : QString{}) + curve_value_words(*set_, end.point.y);
    if (!names_runs_) return value;
    const QString runs = end.curve->runs.isEmpty() ? QString::number(end.curve->run) : end.curve->runs;
    return QStringLiteral("%1  %2").arg(runs, value);
}

void EndLabels::show_set(const CurveSet& set) {
    set_ = &set;
    const auto runs = labelled(set);
    names_runs_ = std::any_of(set.curves.begin(), set.curves.end(),
                              [&](const Curve& curve) { return curve.run != set.curves.front().run; });
    const bool fits = runs > 0 && runs <= most_labelled && plot_.width() >= least_width;
    int width = 0;
    if (fits) {
        const QFontMetrics metrics(small_font());
        for (const auto& end : curve_ends(set, -INFINITY, INFINITY))
            width = std::max(width, metrics.horizontalAdvance(words_of(end)));
        // A value in sight may be longer than the last one.
        width += metrics.horizontalAdvance(QStringLiteral("00")) + leader + gap;
    }
    width_ = width;
    const QMargins kept = plot_.axisRect()->minimumMargins();
    plot_.axisRect()->setMinimumMargins({std::max(least_left, kept.left()), 0, std::max(width, kept.right()), 0});
    const std::size_t count = fits ? runs : 0;
    while (labels_.size() > count) {
        for (QCPAbstractItem* item :
             std::initializer_list<QCPAbstractItem*>{labels_.back().text, labels_.back().leader, labels_.back().reach})
            plot_.removeItem(item);
        labels_.pop_back();
    }
    while (labels_.size() < count) labels_.push_back(make_label());
}

EndLabels::Label EndLabels::make_label() const {
    const Label label{new QCPItemText(&plot_), new QCPItemLine(&plot_), new QCPItemLine(&plot_)};
    label.text->position->setType(QCPItemPosition::ptAbsolute);
    label.text->setPositionAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    for (auto* line : {label.leader, label.reach})
        for (auto* end : {line->start, line->end}) end->setType(QCPItemPosition::ptAbsolute);
    for (QCPAbstractItem* item : std::initializer_list<QCPAbstractItem*>{label.text, label.leader, label.reach}) {
        item->setClipToAxisRect(false);
        item->setSelectable(false);
    }
    return label;
}

void EndLabels::place() {
    if (set_ == nullptr) return;
    const QRect axes = plot_.axisRect()->rect();
    std::vector<CurveEnd> ends;
    std::vector<double> wanted;
    for (const auto& end : curve_ends(*set_, plot_.xAxis->range().lower, plot_.xAxis->range().upper)) {
        const double y = plot_.yAxis->coordToPixel(end.point.y);
        if (!std::isfinite(y) || y < axes.top() || y > axes.bottom() || ends.size() == labels_.size()) continue;
        ends.push_back(end);
        wanted.push_back(y);
    }
    const QFontMetrics metrics(small_font());
    const double half = metrics.height() / 2.0;
    const auto places = spread(wanted, metrics.height() - 2, axes.top() + half, axes.bottom() - half);
    for (std::size_t i = 0; i < labels_.size(); ++i) {
        const auto& [text, lead, reach] = labels_[i];
        const bool is_seen = i < ends.size();
        const double from = is_seen ? plot_.xAxis->coordToPixel(ends[i].point.x) + leader : 0;
        text->setVisible(is_seen);
        lead->setVisible(is_seen);
        reach->setVisible(is_seen && from + leader < axes.right());
        if (!is_seen) continue;
        const QColor colour = ends[i].curve->pen.color();
        text->setText(words_of(ends[i]));
        text->setFont(small_font());
        text->setColor(theme().text);
        text->position->setCoords(axes.right() + leader + gap, places[i]);
        lead->setPen(QPen(colour, 1.5));
        lead->start->setCoords(axes.right() + 1, wanted[i]);
        lead->end->setCoords(axes.right() + leader, places[i]);
        reach->setPen(QPen(mix(theme().surface, colour, faint), 1, Qt::DotLine));
        reach->start->setCoords(from, wanted[i]);
        reach->end->setCoords(axes.right(), wanted[i]);
    }
}

QStringList EndLabels::words() const {
    std::vector<const QCPItemText*> seen;
    for (const auto& label : labels_)
        if (label.text->visible()) seen.push_back(label.text);
    std::stable_sort(seen.begin(), seen.end(), [](const auto* a, const auto* b) {
        return a->position->pixelPosition().y() < b->position->pixelPosition().y();
    });
    QStringList words;
    for (const auto* text : seen) words << text->text();
    return words;
}

}  // namespace skippipe
