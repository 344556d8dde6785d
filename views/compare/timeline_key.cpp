// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/timeline_key.h"

#include <algorithm>
#include <array>
#include <cmath>

#include <QObject>
#include <QPainter>

#include "views/imgui/atlas.h"
#include "views/theme/theme.h"
#include "views/timeline/colours.h"
#include "views/timeline/lane_key.h"

namespace skippipe {
namespace {

constexpr int keyed_badge = 15, keyed_wide = 16, keyed_high = 10;  ///< pixels of a stage's square, of a cause's swatch
constexpr int most_keyed_stages = 12;
constexpr double least_seen_share = 0.01;  ///< of a run's time: what is less is hardly drawn

QPixmap blank(int width, int height, double device_pixel_ratio) {
    QPixmap picture(QSize(width, height) * device_pixel_ratio);
    picture.setDevicePixelRatio(device_pixel_ratio);
    picture.fill(Qt::transparent);
    return picture;
}

/// The stages' squares with their numbers, beside each other in their order.
QPixmap stage_badges(int stages, double device_pixel_ratio) {
    QPixmap picture = blank(stages * keyed_badge, keyed_badge, device_pixel_ratio);
    QPainter painter(&picture);
    painter.setFont(small_font());
    for (int stage = 0; stage < stages; ++stage) {
        const QRect box(stage * keyed_badge, 0, keyed_badge - 1, keyed_badge);
        painter.fillRect(box, theme().stage(stage));
        painter.setPen(theme().text_on(theme().stage(stage)));
        painter.drawText(box, Qt::AlignCenter, QString::number(stage));
    }
    return picture;
}

/// As low lanes draw it; the pattern along the bar, pixel by pixel.
void low_swatch(QPainter& painter, const QRectF& box, IdleCause cause) {
    const Theme& t = theme();
    painter.fillRect(box, low_cause_fill(t, cause));
    painter.setPen(QPen(mix(t.surface, cause_colour(t, cause), 0.6), 1));  // or it would be lost on the ground
    painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
    const LowMark mark = low_cause_mark(cause);
    const double thick = 2, line_top = std::round(box.center().y() - thick / 2);
    const QColor ink = low_cause_ink(t, cause);
    if (mark.has_line) painter.fillRect(QRectF(box.left(), line_top, box.width(), mark.is_tall ? 1 : thick), ink);
    if (mark.pattern < 0) return;
    for (double x = 0; x < box.width(); ++x) {
        QColor shade = ink;
        shade.setAlphaF(static_cast<float>(hatch_alpha(mark.pattern, x + 0.5, 0.5)));
        painter.fillRect(
            QRectF(box.left() + x, mark.is_tall ? box.top() : line_top, 1, mark.is_tall ? box.height() : thick), shade);
    }
}

/// As lanes draw it.
QPixmap cause_swatch(IdleCause cause, bool low, double device_pixel_ratio) {
    QPixmap picture = blank(keyed_wide, keyed_high, device_pixel_ratio);
    QPainter painter(&picture);
    const QRectF box(0, 0, keyed_wide, keyed_high);
    const Theme& t = theme();
    if (low) {
        low_swatch(painter, box, cause);
        return picture;
    }
    painter.fillRect(box, cause_fill(t, cause, ColourBy::operation));
    if (cause_hatch(cause) >= 0)
        painter.fillRect(box, cause_brush(t, cause, device_pixel_ratio, ColourBy::operation));
    else
        painter.fillRect(QRectF(0, keyed_high / 2.0, keyed_wide, 1), cause_ink(t, cause, ColourBy::operation));
    return picture;
}

}  // namespace

std::vector<IdleCause> keyed_causes(const std::vector<const RunData*>& runs) {
    std::array<double, idle_causes> most{};
    for (const auto* run : runs)
        for (std::size_t c = 0; c < idle_causes; ++c) most[c] = std::max(most[c], run->idle_share[c]);
    std::vector<IdleCause> causes;
    for (std::size_t c = 0; c < idle_causes; ++c)
        if (most[c] >= least_seen_share) causes.push_back(static_cast<IdleCause>(c));
    std::stable_sort(causes.begin(), causes.end(), [&](IdleCause a, IdleCause b) {
        return most[static_cast<std::size_t>(a)] > most[static_cast<std::size_t>(b)];
    });
    return causes;
}

std::vector<FlowKey::Entry> timeline_key(const std::vector<const RunData*>& runs, bool low, double device_pixel_ratio) {
    std::size_t stages = 0;
    for (const auto* run : runs) stages = std::max(stages, run->plan.stages.size());
    std::vector<FlowKey::Entry> entries;
    if (stages == 0) return entries;
    entries.push_back({stage_badges(std::min(static_cast<int>(stages), most_keyed_stages), device_pixel_ratio),
                       QObject::tr("work, backward darker")});
    for (const auto cause : keyed_causes(runs)) {
        const QString words = short_cause_words(cause);
        entries.push_back({cause_swatch(cause, low, device_pixel_ratio),
                           entries.size() == 1 ? QObject::tr("waits: %1").arg(words) : words});
    }
    return entries;
}

}  // namespace skippipe
