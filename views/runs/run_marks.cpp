// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/run_marks.h"

#include <algorithm>
#include <functional>

#include <QPainter>

#include "views/theme/theme.h"

namespace skippipe {
namespace {

QString mark_words(const MarkedRun& run) {
    return run.id == 0 ? QString{} : QStringLiteral("%1 %2").arg(run.id).arg(QString::fromStdString(run.started_utc));
}

MarkedRun mark_of(const QString& words) {
    bool is_number = false;
    const RunId id = words.section(' ', 0, 0).toLongLong(&is_number);
    return is_number && id > 0 ? MarkedRun{id, words.section(' ', 1).toStdString()} : MarkedRun{};
}

constexpr int swatch_width = 20, swatch_height = 12, chip_high = 18, chip_edge = 7;

/// Sharp on screens of twice the pixels.
QPixmap mark_picture(QSize size, const std::function<void(QPainter&)>& draw) {
    QPixmap picture(2 * size);
    picture.setDevicePixelRatio(2);
    picture.fill(Qt::transparent);
    QPainter painter(&picture);
    painter.setRenderHint(QPainter::Antialiasing);
    draw(painter);
    return picture;
}

void draw_line(QPainter& painter, RunId run) {
    QPen pen = run_pen(run, 3);
    pen.setCapStyle(Qt::FlatCap);
    painter.setPen(pen);
    painter.drawLine(QLineF(1, swatch_height / 2.0, swatch_width - 1, swatch_height / 2.0));
}

void draw_ring(QPainter& painter, RunId run, const QRectF& ring) {
    QPen pen = run_pen(run, 1);
    pen.setStyle(Qt::SolidLine);
    painter.setPen(pen);
    painter.drawEllipse(ring);
}

}  // namespace

QPen run_pen(RunId run, double width, const Theme& colours) {
    static constexpr Qt::PenStyle styles[] = {Qt::SolidLine, Qt::DashLine, Qt::DashDotLine};
    const RunId place = std::max<RunId>(run - 1, 0) % (stage_colours * static_cast<RunId>(std::size(styles)));
    return {colours.stage(static_cast<int>(place % stage_colours)), width, styles[place / stage_colours]};
}

QPixmap run_swatch(RunId run, bool hidden) {
    const QRectF disc(6, 2, 8, 8);
    return mark_picture({swatch_width, swatch_height}, [&](QPainter& painter) {
        if (hidden) return draw_ring(painter, run, disc);
        draw_line(painter, run);
        painter.setPen(Qt::NoPen);
        painter.setBrush(run_pen(run, 1).color());
        painter.drawEllipse(disc);
    });
}

QPixmap run_line(RunId run) {
    return mark_picture({swatch_width, swatch_height}, [&](QPainter& painter) { draw_line(painter, run); });
}

QPixmap run_chip(RunId run) {
    const QString words = QObject::tr("Run %1").arg(run);
    const QFont font = bold_font();
    const QSize size(QFontMetrics(font).horizontalAdvance(words) + 2 * chip_edge, chip_high);
    return mark_picture(size, [&](QPainter& painter) {
        const QRectF box(QPointF(0, 0), QSizeF(size));
        painter.setPen(run_pen(run, 2));
        painter.drawRoundedRect(box.adjusted(1, 1, -1, -1), chip_high / 2.0 - 1, chip_high / 2.0 - 1);
        painter.setPen(theme().text);
        painter.setFont(font);
        painter.drawText(box, Qt::AlignCenter, words);
    });
}

QPixmap run_ring(RunId run) {
    return mark_picture({swatch_height, swatch_height}, [&](QPainter& painter) {
        draw_ring(painter, run, {2, 2, 8, 8});
    });
}

bool RunMarks::hides(RunId run) const {
    return std::any_of(hidden.begin(), hidden.end(), [run](const MarkedRun& one) { return one.id == run; });
}

QStringList to_words(const RunMarks& marks) {
    QStringList words{mark_words(marks.baseline)};
    for (const auto& run : marks.hidden) words << mark_words(run);
    return words;
}

RunMarks marks_of(const QStringList& words) {
    RunMarks marks;
    for (qsizetype i = 0; i < words.size(); ++i) {
        const MarkedRun run = mark_of(words[i]);
        if (i == 0)
            marks.baseline = run;
        else if (run.id != 0)
            marks.hidden.push_back(run);
    }
    return marks;
}

RunMarks still_there(RunMarks marks, const std::vector<RunInfo>& runs) {
    const auto gone = [&](const MarkedRun& marked) {
        return std::none_of(runs.begin(), runs.end(), [&](const RunInfo& run) {
            return run.id == marked.id && run.started_utc == marked.started_utc;
        });
    };
    if (gone(marks.baseline)) marks.baseline = {};
    std::erase_if(marks.hidden, gone);
    return marks;
}

}  // namespace skippipe
