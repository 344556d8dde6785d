// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/curves/plot.h"

#include "views/theme/theme.h"

namespace skippipe {

void apply_theme(QCustomPlot& plot) {
    const Theme& t = theme();
    plot.setBackground(t.surface);
    for (auto* axis : {plot.xAxis, plot.yAxis}) {
        axis->setBasePen(QPen(t.text_2));
        axis->setTickPen(QPen(t.text_2));
        axis->setSubTickPen(Qt::NoPen);
        axis->setTickLabelColor(t.text_2);
        axis->setTickLabelFont(small_font());
        axis->setLabelColor(t.text_2);
        axis->setLabelFont(small_font());
        axis->grid()->setPen(QPen(t.line));
        axis->grid()->setZeroLinePen(Qt::NoPen);
    }
    plot.legend->setBrush(mix(t.surface, t.surface_2, 0.5));
    plot.legend->setBorderPen(QPen(t.line));
    plot.legend->setTextColor(t.text);
    plot.legend->setFont(small_font());
}

}  // namespace skippipe
