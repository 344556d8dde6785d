// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/bandwidth_key.h"

#include <algorithm>

#include <QEvent>
#include <QPainter>
#include <QTabBar>

#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/topology/link_words.h"
#include "views/topology/view.h"

namespace skippipe {
namespace {

constexpr int line_length = 22;

QString rate(double bytes_per_s) { return quantity(8 * bytes_per_s, "bit/s"); }

int text_width(const QString& words) { return QFontMetrics(small_font()).horizontalAdvance(words); }

}  // namespace

BandwidthKey::BandwidthKey(const Document& document, const TopologyView& canvas, QTabWidget& tabs)
    : document_(document), canvas_(canvas), tabs_(tabs) {
    setObjectName("bandwidth_key");
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Expanding);
    tabs.setCornerWidget(this);
    tabs.installEventFilter(this);
    connect(&document, &Document::changed, this, &BandwidthKey::follow);
    connect(&tabs, &QTabWidget::currentChanged, this, &BandwidthKey::follow);
    follow();
}

bool BandwidthKey::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize) follow();
    return QWidget::eventFilter(watched, event);
}

QString BandwidthKey::words() const {
    return tr("A link's width is its bandwidth: from %1 to %2")
        .arg(rate(slowest_bytes_per_s_), rate(fastest_bytes_per_s_));
}

void BandwidthKey::follow() {
    const auto& links = document_.experiment().topology.links;
    const auto [slowest, fastest] = std::minmax_element(links.begin(), links.end(), [](const Link& a, const Link& b) {
        return a.bandwidth_bytes_per_s < b.bandwidth_bytes_per_s;
    });
    slowest_bytes_per_s_ = links.empty() ? 0 : slowest->bandwidth_bytes_per_s;
    fastest_bytes_per_s_ = links.empty() ? 0 : fastest->bandwidth_bytes_per_s;
    const bool has_room = tabs_.width() >= tabs_.tabBar()->sizeHint().width() + width_of_key();
    setVisible(has_room && tabs_.currentWidget() == &canvas_ &&
               link_width(slowest_bytes_per_s_) < link_width(fastest_bytes_per_s_));
    setToolTip(words());
    setAccessibleName(words());
    updateGeometry();
    update();
}

QSize BandwidthKey::sizeHint() const { return {isHidden() ? 0 : width_of_key(), size::row}; }

int BandwidthKey::width_of_key() const {
    const int words = text_width(rate(slowest_bytes_per_s_)) + text_width(rate(fastest_bytes_per_s_));
    return words + 2 * (line_length + size::gap) + size::wide_gap + size::gap;
}

void BandwidthKey::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setFont(small_font());
    double x = 0.5;
    const double middle = height() / 2.0;
    for (const double bytes_per_s : {slowest_bytes_per_s_, fastest_bytes_per_s_}) {
        const auto [colour, width] = canvas_.scene_model().link_line(bytes_per_s);
        painter.setPen(QPen(colour, width));
        painter.drawLine(QPointF(x, middle), QPointF(x + line_length, middle));
        x += line_length + size::gap;
        const QString words = rate(bytes_per_s);
        painter.setPen(theme().text_2);
        painter.drawText(QRectF(x, 0, text_width(words) + 1, height()), Qt::AlignLeft | Qt::AlignVCenter, words);
        x += text_width(words) + size::wide_gap;
    }
}

}  // namespace skippipe
