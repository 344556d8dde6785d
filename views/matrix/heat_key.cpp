// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/matrix/heat_key.h"

#include <algorithm>

#include <QPainter>

#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr double most_heat = 0.45;  // of the accent in a cell's ground: its words stay readable
constexpr int heat_bar_wide = 56, heat_bar_high = 10;

int heat_words_wide(const QString& words) { return QFontMetrics(small_font()).horizontalAdvance(words); }

}  // namespace

/// The slowest stand out from those that are nearly as slow.
QColor heat_colour(double heat) {
    const double share = std::clamp(heat, 0.0, 1.0);
    return mix(theme().surface, theme().accent, most_heat * share * share);
}

HeatKey::HeatKey(QWidget* parent) : QWidget(parent) {
    setObjectName("heat_key");
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Preferred);
    setToolTip(
        tr("The ground of a cell: the darker, the slower, over a logarithmic scale. Yellow: far from all others"));
    hide();
}

void HeatKey::show_ends(const QString& quickest, const QString& slowest, const QString& unit) {
    quickest_ = quickest;
    slowest_ = slowest;
    setAccessibleName(tr("Colours from %1 to %2 %3").arg(quickest, slowest, unit));
    setVisible(!quickest.isEmpty() && quickest != slowest);
    updateGeometry();
    update();
}

QSize HeatKey::sizeHint() const {
    return {heat_words_wide(quickest_) + heat_words_wide(slowest_) + heat_bar_wide + 2 * size::unit + 2, size::row};
}

void HeatKey::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setFont(small_font());
    painter.setPen(theme().text_2);
    painter.drawText(rect(), Qt::AlignLeft | Qt::AlignVCenter, quickest_);
    painter.drawText(rect(), Qt::AlignRight | Qt::AlignVCenter, slowest_);
    const QRect bar(heat_words_wide(quickest_) + size::unit, (height() - heat_bar_high) / 2, heat_bar_wide,
                    heat_bar_high);
    QLinearGradient heat(bar.topLeft(), bar.topRight());
    for (const double at : {0.0, 0.25, 0.5, 0.75, 1.0}) heat.setColorAt(at, heat_colour(at));
    painter.setPen(QPen(theme().line, 1));
    painter.setBrush(heat);
    painter.drawRect(bar);
}

}  // namespace skippipe
