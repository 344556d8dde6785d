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
constexpr int least_left = 56;    ///< of the axis, so that charts beneath each other begin in one line
constexpr int leader = 12, gap = 3;

/// Of several runs the discs are their lines' of the same colour.
bool is_labelled(const Curve& curve) { return !curve.marks || curve.in_legend; }

std::size_t labelled(const CurveSet& set) {
    return static_cast<std::size_t>(std::count_if(set.curves.begin(), set.curves.end(), is_labelled));
}

constexpr double long_from = 1e4;  ///< that has a prefix

QString value_words(const CurveSet& set, double y) {
    if (set.y_is_time) return duration(y);
    if (set.choice.metric == "idle_share") return percent(y / 100);
    if (set.choice.metric == "bytes_sent") return quantity(y, QStringLiteral("B"));
    return std::abs(y) < long_from ? three_digits(y) : quantity(y, {});
}

}  // namespace

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
    const QString value = (end.curve->marks ? QString::fromUtf8("○ ") : QString{}) + value_words(*set_, end.point.y);
    return names_runs_ ? QStringLiteral("%1  %2").arg(end.curve->run).arg(value) : value;
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
    plot_.axisRect()->setMinimumMargins({least_left, 0, width, 0});
    const std::size_t count = fits ? runs : 0;
    while (texts_.size() > count) {
        plot_.removeItem(texts_.back());
        plot_.removeItem(leaders_.back());
        texts_.pop_back();
        leaders_.pop_back();
    }
    while (texts_.size() < count) {
        auto* text = texts_.emplace_back(new QCPItemText(&plot_));
        auto* line = leaders_.emplace_back(new QCPItemLine(&plot_));
        text->position->setType(QCPItemPosition::ptAbsolute);
        text->setPositionAlignment(Qt::AlignLeft | Qt::AlignVCenter);
        line->start->setType(QCPItemPosition::ptAbsolute);
        line->end->setType(QCPItemPosition::ptAbsolute);
        text->setClipToAxisRect(false);
        line->setClipToAxisRect(false);
        text->setSelectable(false);
        line->setSelectable(false);
    }
}

void EndLabels::place() {
    if (set_ == nullptr) return;
    const QRect axes = plot_.axisRect()->rect();
    std::vector<CurveEnd> ends;
    std::vector<double> wanted;
    for (const auto& end : curve_ends(*set_, plot_.xAxis->range().lower, plot_.xAxis->range().upper)) {
        const double y = plot_.yAxis->coordToPixel(end.point.y);
        if (!std::isfinite(y) || y < axes.top() || y > axes.bottom() || ends.size() == texts_.size()) continue;
        ends.push_back(end);
        wanted.push_back(y);
    }
    const QFontMetrics metrics(small_font());
    const double half = metrics.height() / 2.0;
    const auto places = spread(wanted, metrics.height() - 2, axes.top() + half, axes.bottom() - half);
    for (std::size_t i = 0; i < texts_.size(); ++i) {
        texts_[i]->setVisible(i < ends.size());
        leaders_[i]->setVisible(i < ends.size());
        if (i >= ends.size()) continue;
        texts_[i]->setText(words_of(ends[i]));
        texts_[i]->setFont(small_font());
        texts_[i]->setColor(theme().text);
        texts_[i]->position->setCoords(axes.right() + leader + gap, places[i]);
        leaders_[i]->setPen(QPen(ends[i].curve->pen.color(), 1.5));
        leaders_[i]->start->setCoords(axes.right() + 1, wanted[i]);
        leaders_[i]->end->setCoords(axes.right() + leader, places[i]);
    }
}

QStringList EndLabels::words() const {
    std::vector<const QCPItemText*> seen;
    for (const auto* text : texts_)
        if (text->visible()) seen.push_back(text);
    std::stable_sort(seen.begin(), seen.end(), [](const auto* a, const auto* b) {
        return a->position->pixelPosition().y() < b->position->pixelPosition().y();
    });
    QStringList words;
    for (const auto* text : seen) words << text->text();
    return words;
}

}  // namespace skippipe
