// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/traffic_key.h"

#include <algorithm>

#include <QFontMetrics>
#include <QPainter>

#include "views/theme/theme.h"
#include "views/topology/traffic_item.h"

namespace skippipe {
namespace {

constexpr int row_height = 20, sample_width = 22, margin = 2;

struct Row {
    const char* words;
    void (*draw)(QPainter*, const QRectF& box);
};
template <SpanKind kind>
void parcel(QPainter* painter, const QRectF& box) {
    painter->setPen(QPen(mix(theme().surface, theme().accent, 0.5), 2));
    painter->drawLine(QPointF(box.left(), box.center().y()), QPointF(box.right(), box.center().y()));
    draw_parcel(painter, box.center(), kind);
}
/// Wider and darker to the right.
void line(QPainter* painter, const QRectF& box) {
    constexpr int steps = 3;
    for (int i = 0; i < steps; ++i) {
        painter->setPen(
            QPen(mix(theme().surface, theme().accent, 0.25 + 0.35 * i), 1.5 + 2 * i, Qt::SolidLine, Qt::FlatCap));
        painter->drawLine(QPointF(box.left() + i * box.width() / steps, box.center().y()),
                          QPointF(box.left() + (i + 1) * box.width() / steps, box.center().y()));
    }
}
void gauge(QPainter* painter, const QRectF& box) { draw_gauge(painter, box.center(), 7, 0.6, true); }

constexpr Row rows[] = {
    {QT_TRANSLATE_NOOP("skippipe::TrafficKey", "Line: wider, more bytes; darker, longer in use"), line},
    {QT_TRANSLATE_NOOP("skippipe::TrafficKey", "Activation under way, and its microbatch"),
     parcel<SpanKind::transfer_forward>},
    {QT_TRANSLATE_NOOP("skippipe::TrafficKey", "Gradient of it under way"), parcel<SpanKind::transfer_backward>},
    {QT_TRANSLATE_NOOP("skippipe::TrafficKey", "Part or sum of a reduction, \u00d75: five"),
     parcel<SpanKind::transfer_reduction>},
    {QT_TRANSLATE_NOOP("skippipe::TrafficKey", "How much a node works; green: it does now"), gauge}};

}  // namespace

TrafficKey::TrafficKey(QWidget* parent) : QWidget(parent) {
    setObjectName("traffic_key");
    setAccessibleName(tr("What the map draws: %1").arg(words().join("; ")));
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
}

QStringList TrafficKey::words() {
    QStringList all;
    for (const auto& row : rows) all << tr(row.words);
    return all;
}

QSize TrafficKey::sizeHint() const {
    int widest = 0;
    for (const auto& line : words()) widest = std::max(widest, QFontMetrics(small_font()).horizontalAdvance(line));
    return {sample_width + size::gap + widest + margin, static_cast<int>(words().size()) * row_height + 2 * margin};
}

void TrafficKey::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setFont(small_font());
    const auto lines = words();
    for (int row = 0; row < static_cast<int>(lines.size()); ++row) {
        const QRectF box(0, margin + row * row_height, sample_width, row_height);
        rows[row].draw(&painter, box);
        painter.setPen(theme().text);
        const int left = sample_width + size::gap;
        painter.drawText(QRectF(left, box.top(), width() - left, row_height), Qt::AlignLeft | Qt::AlignVCenter,
                         painter.fontMetrics().elidedText(lines[row], Qt::ElideRight, width() - left));
    }
}

}  // namespace skippipe
