// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/first_steps.h"

#include <algorithm>
#include <set>

#include <QObject>

#include "views/theme/theme.h"

namespace skippipe {
namespace {
constexpr int steps_width = 400, step_height = 48, steps_top = 40, step_disc = 12;
}  // namespace

QString next_step(const Experiment& experiment) {
    const auto& t = experiment.topology;
    if (t.nodes.empty() || !t.links.empty() || !t.hop_matrix_s.empty()) return {};
    if (t.nodes.size() == 1)
        return QObject::tr("Step 1 of 3: more nodes. Double-click, N, or drag a device from the left");
    std::set<std::string> regions;
    for (const auto& node : t.nodes) regions.insert(node.region);
    if (regions.size() == 1 && !regions.begin()->empty()) return {};  // a switch joins them
    return QObject::tr("Step 2 of 3: link them. Drag from a node's rim, or Ctrl+A, then L");
}

void draw_first_steps(QPainter& painter, QSize room) {
    const std::pair<QString, QString> steps[] = {
        {QObject::tr("Put machines here"),
         QObject::tr("N adds a node, R a region for the next ones; or drag a device in")},
        {QObject::tr("Link them"), QObject::tr("Ctrl+A, then L, links all; or drag from a node's rim to another")},
        {QObject::tr("Read the plan below"), QObject::tr("Stages and skip ratio are at the right; then Launch")}};
    const Theme& t = theme();
    const int height = steps_top + 3 * step_height + step_height / 2;
    const int left = std::max(size::wide_gap, (room.width() - steps_width) / 2);
    int y = std::max(size::gap, (room.height() - height) / 2);
    painter.setFont(title_font());
    painter.setPen(t.text);
    painter.drawText(QRect(left, y, steps_width, steps_top), Qt::AlignLeft | Qt::AlignVCenter,
                     QObject::tr("Three steps to a first plan"));
    y += steps_top;
    for (int i = 0; i < 3; ++i, y += step_height) {
        const QPointF disc(left + step_disc, y + step_height / 2.0);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(Qt::NoPen);
        painter.setBrush(t.accent);
        painter.drawEllipse(disc, step_disc, step_disc);
        painter.setPen(t.on_accent);
        painter.setFont(bold_font());
        painter.drawText(QRectF(disc.x() - step_disc, disc.y() - step_disc, 2 * step_disc, 2 * step_disc),
                         Qt::AlignCenter, QString::number(i + 1));
        const int words = left + 2 * step_disc + size::wide_gap;
        painter.setPen(t.text);
        painter.drawText(QRect(words, y, steps_width, step_height / 2), Qt::AlignLeft | Qt::AlignBottom,
                         steps[i].first);
        painter.setFont(small_font());
        painter.setPen(t.text_2);
        painter.drawText(QRect(words, y + step_height / 2, steps_width, step_height / 2), Qt::AlignLeft | Qt::AlignTop,
                         steps[i].second);
    }
    painter.setFont(small_font());
    painter.setPen(t.text_2);
    painter.drawText(QRect(left, y, steps_width, step_height / 2), Qt::AlignLeft | Qt::AlignVCenter,
                     QObject::tr("Or begin with Quick start, at the left, and change it"));
}

}  // namespace skippipe
