// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/run_marks.h"

#include <algorithm>

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

}  // namespace

QPen run_pen(RunId run, double width, const Theme& colours) {
    static constexpr Qt::PenStyle styles[] = {Qt::SolidLine, Qt::DashLine, Qt::DashDotLine};
    const RunId place = std::max<RunId>(run - 1, 0) % (stage_colours * static_cast<RunId>(std::size(styles)));
    return {colours.stage(static_cast<int>(place % stage_colours)), width, styles[place / stage_colours]};
}

QPixmap run_swatch(RunId run, bool hidden) {
    constexpr int width = 20, height = 12;
    QPixmap picture(2 * width, 2 * height);  // sharp on screens of twice the pixels
    picture.setDevicePixelRatio(2);
    picture.fill(Qt::transparent);
    QPainter painter(&picture);
    painter.setRenderHint(QPainter::Antialiasing);
    QPen pen = run_pen(run, hidden ? 1 : 3);
    if (hidden) {
        pen.setStyle(Qt::SolidLine);
        painter.setPen(pen);
        painter.drawEllipse(QRectF(6, 2, 8, 8));
    } else {
        pen.setCapStyle(Qt::FlatCap);
        painter.setPen(pen);
        painter.drawLine(QLineF(1, height / 2.0, width - 1, height / 2.0));
        painter.setPen(Qt::NoPen);
        painter.setBrush(pen.color());
        painter.drawEllipse(QRectF(6, 2, 8, 8));
    }
    return picture;
}

QString run_swatch_html(RunId run) {
    const QPen pen = run_pen(run, 1);
    const char* line = pen.style() == Qt::SolidLine ? "━━" : pen.style() == Qt::DashLine ? "╍╍" : "┅┅";
    return QStringLiteral("<span style=\"color:%1\">%2</span>").arg(pen.color().name(), QString::fromUtf8(line));
}

QString run_disc_html(RunId run) {
    return QStringLiteral("<span style=\"color:%1\">○</span>").arg(run_pen(run, 1).color().name());
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
