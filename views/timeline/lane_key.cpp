// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/timeline/lane_key.h"

#include <algorithm>

#include <QEvent>
#include <QPainter>
#include <QStyle>
#include <QTabBar>

#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/timeline/colours.h"
#include "views/timeline/legend.h"

namespace skippipe {
namespace {

constexpr int key_swatch_wide = 14, key_swatch_high = 10, arrow_room = 14, between_entries = 6;
constexpr double least_keyed_share = 0.001;  ///< of the plan: what is less is hardly drawn

int key_width(const QString& words) { return QFontMetrics(small_font()).horizontalAdvance(words); }

void draw_swatch(QPainter& painter, const QRectF& box, IdleCause cause) {
    const QColor ink = cause_ink(theme(), cause, ColourBy::operation);
    painter.fillRect(box, cause_fill(theme(), cause, ColourBy::operation));
    painter.setBrushOrigin(box.topLeft());  // the same piece of a hatch wherever it stands
    if (cause_hatch(cause) >= 0)
        painter.fillRect(box, cause_brush(theme(), cause, painter.device()->devicePixelRatioF(), ColourBy::operation));
    else
        painter.fillRect(QRectF(box.left(), std::floor(box.center().y()), box.width(), 1), ink);
}

}  // namespace

LaneKey::LaneKey(QTabWidget& tabs, const QWidget& page) : tabs_(tabs), page_(page) {
    setObjectName("lane_key");
    setText(tr("Key"));
    setAccessibleName(tr("What lanes draw"));
    setToolTip(
        tr("Work is solid in its stage's colour, backward darker. Hatches: what a node waits for. Press for all"));
    setPopupMode(InstantPopup);
    setMenu(legend_menu(this));
    setAutoRaise(true);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Expanding);
    tabs.setCornerWidget(this);
    tabs.installEventFilter(this);
    connect(&tabs, &QTabWidget::currentChanged, this, &LaneKey::follow);
    follow();
}

void LaneKey::show_shares(const std::array<double, idle_causes>& shares) {
    shares_ = shares;
    causes_.clear();
    for (std::size_t c = 0; c < idle_causes; ++c)
        if (shares[c] >= least_keyed_share) causes_.push_back(static_cast<IdleCause>(c));
    std::stable_sort(causes_.begin(), causes_.end(), [&](IdleCause a, IdleCause b) {
        return shares[static_cast<std::size_t>(a)] > shares[static_cast<std::size_t>(b)];
    });
    follow();
}

bool LaneKey::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize || event->type() == QEvent::StyleChange) follow();
    return QToolButton::eventFilter(watched, event);
}

/// "gradient 24 %"
QString LaneKey::entry_words(IdleCause cause) const {
    const double share = shares_[static_cast<std::size_t>(cause)];
    return short_cause_words(cause) + ' ' + whole_percent(share);
}

/// The word alone where not even one cause has room.
int LaneKey::width_with(std::size_t entries) const {
    int wide = 2 * size::gap + arrow_room + key_width(text()) + (entries > 0 ? key_width(tr("Idle:")) + size::unit : 0);
    for (std::size_t i = 0; i < entries; ++i)
        wide += between_entries + key_swatch_wide + size::unit + key_width(entry_words(causes_[i]));
    return wide;
}

void LaneKey::follow() {
    const int room = tabs_.width() - tabs_.tabBar()->sizeHint().width();
    std::size_t count = causes_.size();
    while (count > 0 && width_with(count) > room) --count;
    entries_.assign(causes_.begin(), causes_.begin() + static_cast<std::ptrdiff_t>(count));
    setVisible(!causes_.empty() && tabs_.currentWidget() == &page_ && width_with(count) <= room);
    updateGeometry();
    update();
}

QSize LaneKey::sizeHint() const { return {isHidden() ? 0 : width_with(entries_.size()), size::row}; }

void LaneKey::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), theme().surface_2);  // tabs draw a line beneath
    painter.setFont(small_font());
    const auto write = [&](int x, const QString& words) {
        painter.setPen(underMouse() || hasFocus() ? theme().text : theme().text_2);
        painter.drawText(QRect(x, 0, key_width(words) + 1, height()), Qt::AlignLeft | Qt::AlignVCenter, words);
        return x + key_width(words);
    };
    int x = size::gap;
    if (!entries_.empty()) x = write(x, tr("Idle:")) + size::unit;
    const int top = (height() - key_swatch_high) / 2;
    for (const auto cause : entries_) {
        draw_swatch(painter, QRectF(x, top, key_swatch_wide, key_swatch_high), cause);
        x = write(x + key_swatch_wide + size::unit, entry_words(cause)) + between_entries;
    }
    x = write(x, text()) + size::unit;
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme().text_2, 1.5));
    const double middle = height() / 2.0;
    painter.drawPolyline(QPolygonF({{x + 1.0, middle - 1.5}, {x + 4.5, middle + 2}, {x + 8.0, middle - 1.5}}));
    if (hasFocus()) {
        painter.setPen(QPen(theme().accent, 1));
        painter.drawRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5));
    }
}

}  // namespace skippipe
