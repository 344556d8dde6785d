// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/curves/curve_sketch.h"

#include <utility>

#include <QPainter>
#include <QPolygonF>

#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr int sketch_width = 260, sketch_height = 128, words_height = 18;
constexpr int points = 6;

/// Of the height, as a curve falls that has the most to lose at first.
double fallen(int point) {
    return 0.12 + 0.7 * (points - 1 - point) * (points - 1 - point) / ((points - 1.0) * (points - 1));
}

}  // namespace

CurveSketch::CurveSketch(QString x, QString y, QWidget* parent) : QWidget(parent), x_(std::move(x)), y_(std::move(y)) {
    setObjectName("curve_sketch");
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Fixed);
}

QSize CurveSketch::sizeHint() const { return {sketch_width, sketch_height}; }

void CurveSketch::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    const QRectF box = QRectF(rect()).adjusted(words_height, 2, -2, -words_height);
    const auto place = [&](int point, double more) {
        return QPointF(box.left() + (point + 0.5) * box.width() / points,
                       box.bottom() - box.height() * (fallen(point) + more));
    };
    QPolygonF curve, band, lower;
    for (int point = 0; point < points; ++point) {
        const double spread = 0.09 * (points - 1 - point) / points;
        curve << place(point, 0);
        band << place(point, spread);
        lower.prepend(place(point, -spread));
    }
    band << lower;
    painter.setPen(Qt::NoPen);
    painter.setBrush(mix(theme().surface, theme().accent, 0.1));
    painter.drawPolygon(band);
    painter.setPen(QPen(mix(theme().surface, theme().accent, 0.45), 1.5));
    painter.setBrush(Qt::NoBrush);
    painter.drawPolyline(curve);
    painter.setBrush(theme().surface);
    for (const auto& point : curve) painter.drawEllipse(point, 3, 3);
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(theme().line);
    painter.drawPolyline(QPolygonF{box.topLeft(), box.bottomLeft(), box.bottomRight()});
    painter.setFont(small_font());
    painter.setPen(theme().text_2);
    painter.drawText(QRectF(box.left(), box.bottom(), box.width(), words_height), Qt::AlignCenter, x_);
    painter.translate(0, box.bottom());
    painter.rotate(-90);
    painter.drawText(QRectF(0, 0, box.height(), words_height), Qt::AlignCenter, y_);
}

}  // namespace skippipe
