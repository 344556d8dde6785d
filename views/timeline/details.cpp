// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/timeline/details.h"

#include <algorithm>
#include <cmath>

#include <QApplication>
#include <QBuffer>
#include <QImage>
#include <QPainter>
#include <QRegularExpression>

#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/words.h"
#include "views/timeline/colours.h"
#include "views/timeline/follow.h"
#include "views/timeline/lane_key.h"
#include "views/timeline/timeline_view.h"

namespace skippipe {
namespace {

constexpr double seen_queue = 1e-6;  ///< share of a span's length

QString name_of(int node, const TimelineData& data) {
    return node >= 0 && static_cast<std::size_t>(node) < data.lanes().size()
               ? QString::fromStdString(data.lanes()[static_cast<std::size_t>(node)].name)
               : QObject::tr("a node outside");
}

QString arrow() { return QString::fromUtf8(" → "); }

/// "1.20 s, from 63.1 s to 64.3 s".
QString from_to(double start_s, double end_s) {
    const double length_s = end_s - start_s;
    return QObject::tr("%1, from %2 to %3")
        .arg(duration(length_s), moment_words(start_s, length_s), moment_words(end_s, length_s));
}

/// A forward that TC1 holds back: by whom, and whose backward lets it in.
void add_holders(std::vector<Detail>& rows, const LaneGap& gap, const std::string& node, const TimelineData& data) {
    if (gap.microbatch >= 0)
        rows.push_back({QObject::tr("Held back"), QObject::tr("the forward of microbatch %1").arg(gap.microbatch),
                        DetailLink::microbatch});
    const auto holders = memory_holders(data, lane_named(node, data), gap);
    QStringList names;
    for (const int microbatch : holders.microbatches) names << QString::number(microbatch);
    if (!names.isEmpty())
        rows.push_back({QObject::tr("Held by microbatches"), names.join(", "), DetailLink::microbatch});
    if (holders.freed_by >= 0)
        rows.push_back({QObject::tr("A place is freed by"),
                        QObject::tr("the backward of microbatch %1").arg(holders.freed_by), DetailLink::microbatch});
}

/// Which replica a planned all-reduce waited for, and over which line, or whose uplink or downlink.
void add_last_sum(std::vector<Detail>& rows, const LaneGap& gap, const std::string& node, const TimelineData& data) {
    const auto last = waited_for(data, lane_named(node, data), gap);
    if (last.span == nullptr) return;
    rows.push_back({QObject::tr("For what"), QObject::tr("%1 sends").arg(name_of(last.lane, data)), DetailLink::node});
    const auto* reductions = data.reductions();
    if (gap.line >= 0 && reductions != nullptr && at(gap.line) < reductions->line_names.size())
        rows.push_back({QObject::tr("Over"),
                        QString::fromStdString(reductions->line_names[at(gap.line)]).replace("->", arrow()),
                        DetailLink::node});
}

/// The ring of a charged all-reduce: who hands on to whom, and the edge that the others wait for.
void add_ring(std::vector<Detail>& rows, int stage, const TimelineData& data) {
    const StageReduction* ring = data.ring_of(stage);
    if (ring == nullptr) return;
    QStringList names;
    for (const auto& edge : ring->edges) names << name_of(edge.from, data);
    names << name_of(ring->edges.back().to, data);
    const auto& slowest = ring->edges[std::min(ring->slowest, ring->edges.size() - 1)];
    rows.push_back({QObject::tr("Ring"), names.join(arrow()), DetailLink::node});
    rows.push_back(
        {QObject::tr("Slowest"),
         name_of(slowest.from, data) + arrow() + name_of(slowest.to, data) + ", " + duration(slowest.seconds),
         DetailLink::node});
}

QString why_idle(const LaneGap& gap) {
    if (gap.cause != IdleCause::fill_drain) return cause_words(gap.cause);
    return gap.microbatch >= 0 ? QObject::tr("Filling the pipeline: nothing has reached it yet")
                               : QObject::tr("Draining: its work is done, others go on");
}

QString anchor(const QString& kind, const QString& of, const QString& words) {
    return QStringLiteral("<a href=\"%1:%2\" style=\"text-decoration:none;color:%3\">%4</a>")
        .arg(kind, of.toHtmlEscaped(), theme().accent.name(), words.toHtmlEscaped());
}

/// The value with its links: every number, or every node's name, and the names of `links`.
QString linked(const Detail& detail, const TimelineData& data, const QStringList& links) {
    const bool of_nodes = detail.link == DetailLink::node || detail.link == DetailLink::thing;
    const QString kind = of_nodes                                ? QStringLiteral("node")
                         : detail.link == DetailLink::microbatch ? QStringLiteral("microbatch")
                         : detail.link == DetailLink::stage      ? QStringLiteral("stage")
                         : detail.link == DetailLink::iteration  ? QStringLiteral("iteration")
                                                                 : QString{};
    if (detail.link == DetailLink::cause) return anchor(QStringLiteral("cause"), {}, detail.value);
    if (detail.link == DetailLink::helps) return anchor(QStringLiteral("helps"), {}, detail.value);
    if (detail.link == DetailLink::loss)
        return anchor(QStringLiteral("loss"), QString::number(detail.at_s, 'g', 17), detail.value);
    if (kind.isEmpty()) return detail.value.toHtmlEscaped();
    QString pattern = QStringLiteral("[^\\s,]*[^\\s,:]");
    if (detail.link == DetailLink::thing)
        for (const auto& name : links)
            pattern.prepend(QRegularExpression::escape(name) + QStringLiteral("(?![^\\s,:])|"));
    const QRegularExpression word(pattern);
    QString html;
    qsizetype told = 0;
    for (auto found = word.globalMatch(detail.value); found.hasNext();) {
        const auto match = found.next();
        const QString text = match.captured();
        bool number = false;
        text.toInt(&number);
        const bool is_link = detail.link == DetailLink::thing && links.contains(text);
        const bool leads = is_link || (of_nodes ? lane_named(text.toStdString(), data) >= 0 : number);
        html += detail.value.mid(told, match.capturedStart() - told).toHtmlEscaped();
        html += leads ? anchor(is_link ? QStringLiteral("link") : kind, text, text) : text.toHtmlEscaped();
        told = match.capturedEnd();
    }
    return html + detail.value.mid(told).toHtmlEscaped();
}

/// A bar so wide as rich text has pictures.
QString picture_of(IdleCause cause, int wide) {
    constexpr int high = 12;
    const double pixel_ratio = qApp->devicePixelRatio();
    QImage picture(QSize(wide, high) * pixel_ratio, QImage::Format_ARGB32_Premultiplied);
    picture.setDevicePixelRatio(pixel_ratio);
    QPainter painter(&picture);
    paint_cause_bar(painter, QRectF(0, 0, wide, high), cause);
    painter.end();
    QByteArray png;
    QBuffer buffer(&png);
    buffer.open(QIODevice::WriteOnly);
    picture.save(&buffer, "PNG");
    return QStringLiteral("<img src=\"data:image/png;base64,%1\" width=\"%2\" height=\"%3\">")
        .arg(QString::fromLatin1(png.toBase64()))
        .arg(wide)
        .arg(high);
}

/// The value behind its bar, if it has one.
QString barred(const Detail& detail, const QString& value) {
    if (detail.share < 0) return value;
    constexpr int longest = 96;  ///< pixels
    const int wide = std::max(detail.cause ? 3 : 1, static_cast<int>(std::lround(longest * detail.share)));
    if (detail.cause)
        return QStringLiteral(
                   "<table cellspacing=\"0\" cellpadding=\"0\"><tr><td width=\"%1\" valign=\"middle\">%2</td>"
                   "<td style=\"padding-left:8px\">%3</td></tr></table>")
            .arg(longest)
            .arg(picture_of(*detail.cause, wide), value);
    const auto part = [](int pixels, const QString& colour) {
        return QStringLiteral("<td width=\"%1\" style=\"%2\"></td>")
            .arg(pixels)
            .arg(colour.isEmpty() ? colour : QStringLiteral("background-color:") + colour);
    };
    return QStringLiteral("<table cellspacing=\"0\" cellpadding=\"0\"><tr>") + part(wide, detail.bar.name()) +
           (wide < longest ? part(longest - wide, {}) : QString{}) +
           QStringLiteral("<td style=\"padding-left:8px\">%1</td></tr></table>").arg(value);
}

}  // namespace

Details area_details(const TimelineArea& area) {
    const auto& sum = area.statistics;
    const double length_s = area.end - area.begin, seconds = std::max(sum.seconds, 1e-12);
    Details details{
        .title = QObject::tr("%1 to %2, %3")
                     .arg(moment_words(area.begin, length_s), moment_words(area.end, length_s), duration(length_s)),
        .rows = {{QObject::tr("Lanes"), QString::number(area.lanes.size())},
                 {QObject::tr("Operations"), QString::number(sum.spans)},
                 {QObject::tr("Transfers"), QObject::tr("%1, %2").arg(sum.transfers).arg(quantity(sum.bytes, "B"))}}};
    std::vector<std::pair<double, IdleCause>> causes;
    for (std::size_t c = 0; c < idle_causes; ++c)
        if (sum.idle_s[c] > 0) causes.emplace_back(sum.idle_s[c], static_cast<IdleCause>(c));
    std::stable_sort(causes.begin(), causes.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    const double longest_s = std::max(sum.busy_s, causes.empty() ? 0 : causes.front().first);
    const auto add = [&](const QString& name, double part_s, std::optional<IdleCause> cause) {
        details.rows.push_back({.name = name,
                                .value = percent(part_s / seconds),
                                .share = longest_s > 0 ? part_s / longest_s : 0,
                                .bar = theme().text_2,
                                .cause = cause});
    };
    add(QObject::tr("Works"), sum.busy_s, std::nullopt);
    if (!causes.empty()) details.rows.push_back({{}, QObject::tr("Of its time it waits for")});
    for (const auto& [idle_s, cause] : causes) add(capitalised(short_cause_words(cause)), idle_s, cause);
    return details;
}

Detail iteration_row(int iteration) {
    return {QObject::tr("Iteration"), QString::number(iteration + 1), DetailLink::iteration};
}

Detail stage_row(int stage) { return {QObject::tr("Stage"), QString::number(stage), DetailLink::stage}; }

QString moment_words(double seconds, double length_s) {
    return tick(seconds, length_s > 0 ? std::min(1.0, nice_step(length_s / 100)) : 1e-3);
}

int lane_named(const std::string& node, const TimelineData& data) {
    const auto found =
        std::find_if(data.lanes().begin(), data.lanes().end(), [&](const Lane& lane) { return lane.name == node; });
    return found == data.lanes().end() ? -1 : static_cast<int>(found - data.lanes().begin());
}

Details span_details(const LaneSpan& span, int lane, const TimelineData& data) {
    const std::string_view kind = to_string(span.kind);
    const bool reduction = span.kind == SpanKind::transfer_reduction;
    const QString what =
        reduction ? QObject::tr("Reduction of stage %1").arg(span.stage)
                  : capitalised(QString::fromUtf8(kind.data(), static_cast<qsizetype>(kind.size())).replace('_', ' '))
                        .replace('-', ' ');
    Details details{.title =
                        is_on_line(span.kind)
                            ? QObject::tr("%1, %2 to %3").arg(what, name_of(lane, data), name_of(span.to_node, data))
                            : QObject::tr("%1 on %2").arg(what, name_of(lane, data))};
    auto& rows = details.rows;
    if (span.microbatch >= 0)
        rows.push_back({QObject::tr("Microbatch"), QString::number(span.microbatch), DetailLink::microbatch});
    if (!reduction && span.stage >= 0) rows.push_back(stage_row(span.stage));
    if (reduction)
        for (const auto& words : describe_cargo({lane, &span}, data)) rows.push_back({{}, words});
    rows.push_back(iteration_row(span.iteration));
    if (is_on_line(span.kind) && span.bytes > 0) rows.push_back({QObject::tr("Sent"), quantity(span.bytes, "B")});
    if (span.queue_s > seen_queue * (span.end_s - span.start_s))
        rows.push_back({QObject::tr("Before that"),
                        (is_on_line(span.kind) ? QObject::tr("%1 in the line's queue") : QObject::tr("ready for %1"))
                            .arg(duration(span.queue_s))});
    rows.push_back({QObject::tr("Took"), from_to(span.start_s, span.end_s)});
    return details;
}

Details gap_details(const LaneGap& gap, const std::string& node, const TimelineData& data) {
    const int lane = lane_named(node, data);
    if (gap.cause == IdleCause::node_down && lane >= 0)
        if (const auto outage = data.outage_at(lane, (gap.start_s + gap.end_s) / 2)) {
            const auto words = describe_outage(*outage, lane, data);
            Details details{.title = words.front()};
            for (const auto& line : words.mid(1)) details.rows.push_back({{}, line});
            return details;
        }
    Details details{
        .title = QObject::tr("%1 idles for %2").arg(QString::fromStdString(node), duration(gap.end_s - gap.start_s))};
    auto& rows = details.rows;
    rows.push_back({{}, why_idle(gap)});
    if (gap.other >= 0 && gap.cause != IdleCause::all_reduce &&
        static_cast<std::size_t>(gap.other) < data.lanes().size())
        rows.push_back({gap.cause == IdleCause::replica ? QObject::tr("Of") : QObject::tr("From"),
                        name_of(gap.other, data), DetailLink::node});
    if (gap.cause == IdleCause::memory && gap.other < 0)
        add_holders(rows, gap, node, data);
    else if (gap.microbatch >= 0)
        rows.push_back({QObject::tr("Ended by microbatch"), QString::number(gap.microbatch), DetailLink::microbatch});
    if (gap.cause == IdleCause::all_reduce) {
        add_last_sum(rows, gap, node, data);
        if (lane >= 0) add_ring(rows, data.lanes()[static_cast<std::size_t>(lane)].stage, data);
    }
    const double length_s = gap.end_s - gap.start_s;  // which the title says
    rows.push_back(
        {{}, QObject::tr("From %1 to %2").arg(moment_words(gap.start_s, length_s), moment_words(gap.end_s, length_s))});
    return details;
}

QStringList in_lines(const Details& details) {
    QStringList lines{details.title};
    for (const auto& row : details.rows)
        lines << (row.name.isEmpty() ? row.value : row.name.left(1).toLower() + row.name.mid(1) + ' ' + row.value);
    return lines;
}

QString in_rows(const Details& details, const TimelineData& data, const QStringList& links) {
    constexpr QChar thin_space(0x2009), unbroken_thin_space(0x202F);  // lines break at the first one
    QString html =                                                    // else rich text makes full spaces of thin ones
        QStringLiteral("<table width=\"100%\" cellspacing=\"0\" cellpadding=\"2\" style=\"white-space:pre-wrap\">");
    if (!details.title.isEmpty())
        html += QStringLiteral("<tr><td colspan=\"2\"><b>%1</b></td></tr>")
                    .arg(linked({{}, details.title, DetailLink::node}, data, links));
    for (const auto& row : details.rows)
        html +=
            row.name.isEmpty()
                ? QStringLiteral("<tr><td colspan=\"2\">%1</td></tr>").arg(linked(row, data, links))
                : QStringLiteral("<tr><td width=\"28%\" style=\"color:%1;padding-right:8px\">%2</td><td>%3</td></tr>")
                      .arg(theme().text_2.name(), row.name.toHtmlEscaped(), barred(row, linked(row, data, links)));
    return unbroken_numbers(html).replace(thin_space, unbroken_thin_space) + QStringLiteral("</table>");
}

}  // namespace skippipe
