// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/canvas_key.h"

#include <algorithm>
#include <cmath>

#include <QEvent>
#include <QPainter>
#include <QTabBar>

#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/topology/item_marks.h"
#include "views/topology/link_words.h"
#include "views/topology/view.h"

namespace skippipe {
namespace {

constexpr int line_length = 22;

QString rate(double bytes_per_s) { return quantity(8 * bytes_per_s, "bit/s"); }

QString critical_entry() { return QObject::tr("critical path"); }

int text_width(const QString& words) { return QFontMetrics(small_font()).horizontalAdvance(words); }

/// Of a sample, its words, and what is apart from the next.
int entry_width(int sample, const QString& words) { return sample + size::gap + text_width(words) + size::wide_gap; }

int share_sample() { return static_cast<int>(std::lround(share_size("%").width())); }

}  // namespace

CanvasKey::CanvasKey(const Document& document, const TopologyView& canvas, QTabWidget& tabs)
    : document_(document), canvas_(canvas), tabs_(tabs) {
    setObjectName("canvas_key");
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Expanding);
    tabs.setCornerWidget(this);
    tabs.installEventFilter(this);
    connect(&document, &Document::changed, this, &CanvasKey::follow);
    connect(&tabs, &QTabWidget::currentChanged, this, &CanvasKey::follow);
    follow();
}

bool CanvasKey::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize) follow();
    return QWidget::eventFilter(watched, event);
}

void CanvasKey::show_critical(bool on) {
    is_critical_ = on;
    follow();
}

QString CanvasKey::words() const {
    QStringList lines;
    if (has_bandwidths_)
        lines << tr("A link's width is its bandwidth: from %1 to %2")
                     .arg(rate(slowest_bytes_per_s_), rate(fastest_bytes_per_s_));
    if (has_critical_)
        lines << tr(
            "Dark, with its share of the critical path: the node and the link that the end of the plan's "
            "iteration waits for the longest");
    return lines.join('\n');
}

void CanvasKey::follow() {
    const auto& links = document_.experiment().topology.links;
    const auto [slowest, fastest] = std::minmax_element(links.begin(), links.end(), [](const Link& a, const Link& b) {
        return a.bandwidth_bytes_per_s < b.bandwidth_bytes_per_s;
    });
    slowest_bytes_per_s_ = links.empty() ? 0 : slowest->bandwidth_bytes_per_s;
    fastest_bytes_per_s_ = links.empty() ? 0 : fastest->bandwidth_bytes_per_s;
    const int room = tabs_.width() - tabs_.tabBar()->sizeHint().width();
    const bool is_seen = tabs_.currentWidget() == &canvas_;
    // Widths speak for themselves rather than a dark mark does.
    has_bandwidths_ = false;
    has_critical_ = is_seen && is_critical_;
    has_critical_ = has_critical_ && width_of_key() <= room;
    has_bandwidths_ = is_seen && link_width(slowest_bytes_per_s_) < link_width(fastest_bytes_per_s_);
    has_bandwidths_ = has_bandwidths_ && width_of_key() <= room;
    setVisible(has_bandwidths_ || has_critical_);
    setToolTip(words());
    setAccessibleName(words());
    updateGeometry();
    update();
}

QSize CanvasKey::sizeHint() const { return {isHidden() ? 0 : width_of_key(), size::row}; }

int CanvasKey::width_of_bandwidths() const {
    return entry_width(line_length, rate(slowest_bytes_per_s_)) + entry_width(line_length, rate(fastest_bytes_per_s_));
}

int CanvasKey::width_of_key() const {
    return (has_bandwidths_ ? width_of_bandwidths() : 0) +
           (has_critical_ ? entry_width(share_sample(), critical_entry()) : 0);
}

void CanvasKey::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), theme().surface_2);  // tabs draw a line beneath
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setFont(small_font());
    double x = 0.5;
    const double middle = height() / 2.0;
    const auto write = [&](int sample, const QString& words) {
        painter.setPen(theme().text_2);
        painter.drawText(QRectF(x + sample + size::gap, 0, text_width(words) + 1, height()),
                         Qt::AlignLeft | Qt::AlignVCenter, words);
        x += entry_width(sample, words);
    };
    if (has_bandwidths_)
        for (const double bytes_per_s : {slowest_bytes_per_s_, fastest_bytes_per_s_}) {
            const auto [colour, width] = canvas_.scene_model().link_line(bytes_per_s);
            painter.setPen(QPen(colour, width));
            painter.drawLine(QPointF(x, middle), QPointF(x + line_length, middle));
            write(line_length, rate(bytes_per_s));
        }
    if (!has_critical_) return;
    draw_share(&painter, {x + share_sample() / 2.0, middle}, QStringLiteral("%"));
    write(share_sample(), critical_entry());
}

}  // namespace skippipe
