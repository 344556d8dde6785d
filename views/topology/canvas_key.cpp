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
                     .arg(rate(range_.slowest_bytes_per_s), rate(range_.fastest_bytes_per_s));
    if (has_critical_)
        lines << tr(
            "Dark, with its share of the critical path: the node and the link that the end of the plan's "
            "iteration waits for the longest");
    return lines.join('\n');
}

void CanvasKey::follow() {
    range_ = bandwidths_of(document_.experiment().topology.links);
    const int room = tabs_.width() - tabs_.tabBar()->sizeHint().width();
    const bool is_seen = tabs_.currentWidget() == &canvas_;
    const bool differs =
        link_width(range_.slowest_bytes_per_s, range_) < link_width(range_.fastest_bytes_per_s, range_);
    // As much of it as there is room for; widths speak for themselves rather than a dark mark does.
    struct Form {
        bool bandwidths, is_brief, critical, mark_alone;
    };
    constexpr Form forms[] = {{true, false, true, false},
                              {true, true, true, false},
                              {true, true, true, true},
                              {false, false, true, false},
                              {true, true, false, false}};
    has_bandwidths_ = has_critical_ = false;
    for (const Form& form : forms) {
        has_bandwidths_ = is_seen && differs && form.bandwidths;
        has_critical_ = is_seen && is_critical_ && form.critical;
        is_brief_ = form.is_brief;
        has_mark_alone_ = form.mark_alone;
        if (width_of_key() <= room) break;
        has_bandwidths_ = has_critical_ = false;
    }
    setVisible(has_bandwidths_ || has_critical_);
    setToolTip(words());
    setAccessibleName(words());
    updateGeometry();
    update();
}

QSize CanvasKey::sizeHint() const { return {isHidden() ? 0 : width_of_key(), size::row}; }

/// "76.3 Mbit/s – 2.08 Gbit/s"
QString CanvasKey::range_words() const {
    return QStringLiteral("%1 – %2").arg(rate(range_.slowest_bytes_per_s), rate(range_.fastest_bytes_per_s));
}

int CanvasKey::width_of_bandwidths() const {
    if (is_brief_) return entry_width(line_length, range_words());
    return entry_width(line_length, rate(range_.slowest_bytes_per_s)) +
           entry_width(line_length, rate(range_.fastest_bytes_per_s));
}

int CanvasKey::width_of_key() const {
    const int critical = has_mark_alone_ ? share_sample() + size::gap : entry_width(share_sample(), critical_entry());
    return (has_bandwidths_ ? width_of_bandwidths() : 0) + (has_critical_ ? critical : 0);
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
    if (has_bandwidths_ && is_brief_) {
        // A line that widens: from the slowest to the fastest.
        const auto [slow_colour, thin] = canvas_.scene_model().link_line(range_.slowest_bytes_per_s);
        const auto [fast_colour, wide] = canvas_.scene_model().link_line(range_.fastest_bytes_per_s);
        QLinearGradient colours(x, 0, x + line_length, 0);
        colours.setColorAt(0, slow_colour);
        colours.setColorAt(1, fast_colour);
        painter.setPen(Qt::NoPen);
        painter.setBrush(colours);
        painter.drawPolygon(QPolygonF{{x, middle - thin / 2},
                                      {x + line_length, middle - wide / 2},
                                      {x + line_length, middle + wide / 2},
                                      {x, middle + thin / 2}});
        write(line_length, range_words());
    } else if (has_bandwidths_) {
        for (const double bytes_per_s : {range_.slowest_bytes_per_s, range_.fastest_bytes_per_s}) {
            const auto [colour, width] = canvas_.scene_model().link_line(bytes_per_s);
            painter.setPen(QPen(colour, width));
            painter.drawLine(QPointF(x, middle), QPointF(x + line_length, middle));
            write(line_length, rate(bytes_per_s));
        }
    }
    if (!has_critical_) return;
    draw_share(&painter, {x + share_sample() / 2.0, middle}, QStringLiteral("%"));
    if (!has_mark_alone_) write(share_sample(), critical_entry());
}

}  // namespace skippipe
