// SPDX-License-Identifier: GPL-3.0-or-later
// What the timeline shows, in words.
#include <algorithm>
#include <cmath>

#include "views/theme/numbers.h"
#include "views/theme/words.h"
#include "views/timeline/colours.h"
#include "views/timeline/details.h"
#include "views/timeline/timeline_view.h"

namespace skippipe {

QStringList describe_span(const LaneSpan& span, int lane, const TimelineData& data) {
    return in_lines(span_details(span, lane, data));
}

QStringList describe_gap(const LaneGap& gap, const std::string& node, const TimelineData& data) {
    return in_lines(gap_details(gap, node, data));
}

QStringList describe_on_line(const LaneSpan& span, int lane, const TimelineData& data, double latency_s) {
    QStringList lines = describe_span(span, lane, data);
    const auto parts = line_parts(span, latency_s);
    lines << QObject::tr("%1 in the queue, %2 on the wire, %3 latency")
                 .arg(duration(parts.wire_s - parts.queue_s), duration(parts.latency_s - parts.wire_s),
                      duration(parts.arrival_s - parts.latency_s));
    return lines;
}

QStringList describe_cargo(const TimelineData::Place& place, const TimelineData& data) {
    const auto cargo = data.cargo(place);
    if (!cargo) return {};
    const auto& reductions = *data.reductions();
    const StageIndex stage(place.span->stage);
    const auto pieces = std::max<std::size_t>(reductions.pieces[stage].size(), 1);
    QStringList lines;
    if (reductions.pieces[stage].empty())
        lines << QObject::tr("%1 of the gradient, by direct exchange").arg(percent(cargo->share));
    else
        lines << QObject::tr("piece %1 of %2, %3 of the gradient, by %4")
                     .arg(cargo->piece + 1)
                     .arg(pieces)
                     .arg(percent(cargo->share),
                          cargo->form == PieceForm::tree ? QObject::tr("a tree") : QObject::tr("exchange"));
    QStringList names;
    for (const NodeIndex node : cargo->summed) names << QString::fromStdString(data.lanes()[at(node)].name);
    lines << (cargo->result       ? QObject::tr("the result, on its way back: the sum of %1").arg(names.join(", "))
              : names.size() == 1 ? QObject::tr("the part of %1").arg(names.front())
                                  : QObject::tr("the partial sum of %1").arg(names.join(", ")));
    return lines;
}

QStringList describe_loss(const Loss& loss) {
    const auto count = [](int n, const QString& one, const QString& many) { return n == 1 ? one : many.arg(n); };
    QStringList lines{QObject::tr("%1 lost at %2, iteration %3")
                          .arg(count(loss.nodes, QObject::tr("1 node"), QObject::tr("%1 nodes")),
                               moment_words(loss.begin_s, loss.detection_s))
                          .arg(loss.iteration + 1)};
    lines << (loss.replanning_s > 0 ? QObject::tr("Known %1 later, planned again in %2")
                                          .arg(duration(loss.detection_s), duration(loss.replanning_s))
                                    : QObject::tr("Known %1 later").arg(duration(loss.detection_s)));
    if (loss.recovery_s)
        lines << (loss.begun_again ? QObject::tr("The next iteration began %1 after").arg(duration(*loss.recovery_s))
                                   : QObject::tr("Training went on %1 after").arg(duration(*loss.recovery_s)));
    if (loss.begun_again) {
        lines << QObject::tr("The iteration was begun again");
    } else {
        lines << count(loss.redone_operations, QObject::tr("1 operation run again"),
                       QObject::tr("%1 operations run again"));
        lines << (loss.lost_gradients > 0
                      ? count(loss.lost_gradients, QObject::tr("1 gradient lost"), QObject::tr("%1 gradients lost"))
                      : QObject::tr("No gradient lost"));
    }
    return lines;
}

QString loss_in_short(const Loss& loss, const TimelineData& data) {
    const auto name = [&](int lane) {
        return QString::fromStdString(data.lanes()[static_cast<std::size_t>(lane)].name);
    };
    QStringList names;
    for (int lane = 0; lane < static_cast<int>(data.lanes().size()); ++lane)
        data.visit_outages(lane, 0, data.extent_s(), [&](const Outage& outage) {
            if (const Loss* of = data.loss_of(outage);
                of != nullptr && *of == loss && names.value(names.size() - 1) != name(lane))
                names << name(lane);
        });
    constexpr int most_named = 2;
    const QString who = names.size() == loss.nodes && loss.nodes <= most_named ? names.join(", ")
                        : loss.nodes == 1                                      ? QObject::tr("1 node")
                                          : QObject::tr("%1 nodes").arg(loss.nodes);
    const double digit_s = loss.begin_s < 10 ? 0.01 : loss.begin_s < 60 ? 0.1 : 1;
    return QObject::tr("%1 lost at %2, known %3 later")
        .arg(who, tick(loss.begin_s, digit_s), without_zeros(duration(loss.detection_s)));
}

QString lost_time_words(const LostTime& lost) {
    switch (lost.why) {
        case LostTime::Why::begun_again: return QObject::tr("begun again");
        case LostTime::Why::went_back: return QObject::tr("went back");
        case LostTime::Why::waited: break;
    }
    return QObject::tr("no iteration");
}

QStringList describe_lost_time(const LostTime& lost, const QString& whose) {
    const double length_s = lost.end_s - lost.begin_s;
    const QString when = QObject::tr("%1 of %2, from %3 to %4")
                             .arg(duration(length_s), whose.left(1).toLower() + whose.mid(1),
                                  moment_words(lost.begin_s, length_s), moment_words(lost.end_s, length_s));
    const int number = lost.iteration + 1;
    switch (lost.why) {
        case LostTime::Why::begun_again:
            return {QObject::tr("Iteration %1 was begun again: lost %2").arg(number).arg(duration(length_s)), when,
                    QObject::tr("What the others had done in it does not count")};
        case LostTime::Why::went_back:
            return {QObject::tr("Went back to the checkpoint before iteration %1: lost %2")
                        .arg(number)
                        .arg(duration(length_s)),
                    when,
                    lost.iterations_again == 0 ? QObject::tr("No whole iteration is done again")
                    : lost.iterations_again == 1
                        ? QObject::tr("1 iteration is done again")
                        : QObject::tr("%1 iterations are done again").arg(lost.iterations_again)};
        case LostTime::Why::waited: break;
    }
    return {QObject::tr("No iteration ran: lost %1").arg(duration(length_s)), when,
            QObject::tr("Iteration %1 waited for nodes that came back").arg(number)};
}

QStringList describe_event(const RunEvent& event) {
    constexpr qsizetype most_in_a_line = 72;
    QStringList lines{QString{}};
    for (const auto& word : QString::fromStdString(event.what).split(' ')) {
        if (!lines.back().isEmpty() && lines.back().size() + word.size() >= most_in_a_line) lines << QString{};
        lines.back() += (lines.back().isEmpty() ? "" : " ") + word;
    }
    return lines;
}

QStringList describe_lost_time(const LostTime& lost, const TimelineData& data) {
    QStringList lines = describe_lost_time(lost, QString::fromStdString(data.time_name()));
    const double tolerance_s = 1e-9 * std::max(1.0, lost.end_s);
    bool any = false;
    for (const auto& event : data.events()) {
        const double end_s = event.network_s + event.lasted_s;
        if (end_s < lost.begin_s + tolerance_s || event.network_s > lost.end_s - tolerance_s) continue;
        lines << QString{} << describe_event(event);
        any = true;
    }
    for (const auto& loss : data.losses())  // of a record from before events
        if (!any && loss.begin_s < lost.end_s && loss.end_s > lost.begin_s) lines << QString{} << describe_loss(loss);
    return lines;
}

static QStringList describe_time(const IterationTime& one) {
    return {QObject::tr("Iteration %1").arg(one.iteration + 1),
            QObject::tr("%1, from %2 to %3")
                .arg(duration(one.length_s), moment_words(one.begin_s(), one.length_s),
                     moment_words(one.end_s, one.length_s)),
            QObject::tr("Click: this iteration in sight")};
}

/// Whose stages change where a plan comes into force: "n2 4 → 0, n6 4 → none".
static QString changed_stages(const TimelineData& data, const PlanInForce& plan) {
    const double before = std::nexttoward(plan.from_s, -1.0L);
    QStringList changed;
    for (int lane = 0; lane < static_cast<int>(plan.stages.size()); ++lane) {
        const int was = data.stage_at(lane, before), is = plan.stages[static_cast<std::size_t>(lane)];
        if (was == is) continue;
        const auto words = [](int stage) { return stage < 0 ? QObject::tr("none") : QString::number(stage); };
        changed << QString::fromUtf8("%1 %2 → %3")
                       .arg(QString::fromStdString(data.lanes()[static_cast<std::size_t>(lane)].name), words(was),
                            words(is));
    }
    constexpr qsizetype most = 6;
    const auto more = changed.size() - most;
    QString text = changed.mid(0, most).join(", ");
    return more > 0 ? QObject::tr("%1 and %2 more").arg(text).arg(more) : text;
}

QStringList describe_iteration(const IterationTime& one, const TimelineData& data) {
    QStringList lines = describe_time(one);
    for (const auto& plan : data.later_plans()) {
        if (plan.from_s < one.begin_s() || plan.from_s >= one.end_s) continue;
        const QString stages = changed_stages(data, plan);
        lines.insert(lines.size() - 1, stages.isEmpty() ? QObject::tr("New plan: nodes serve the stages they did")
                                                        : QObject::tr("New plan, stages: %1").arg(stages));
    }
    return lines;
}

/// What was lost in an iteration that was begun again has no span of that time.
QString since_words(const Outage& outage, const TimelineData& data) {
    const Loss* loss = data.loss_of(outage);
    return moment_words(loss != nullptr && outage.from_start ? loss->begin_s : outage.start_s,
                        outage.end_s - outage.start_s);
}

QString outage_words(const Outage& outage, const TimelineData& data) {
    return data.loss_of(outage) == nullptr && outage.from_start
               ? QObject::tr("lost before %1").arg(since_words(outage, data))
               : QObject::tr("lost since %1").arg(since_words(outage, data));
}

QStringList describe_outage(const Outage& outage, int lane, const TimelineData& data) {
    const QString name = QString::fromStdString(data.lanes()[static_cast<std::size_t>(lane)].name);
    const Loss* loss = data.loss_of(outage);
    QStringList lines{
        outage.end_s >= data.extent_s()
            ? QObject::tr("%1 %2, not back yet").arg(name, outage_words(outage, data))
            : QObject::tr("%1 %2, back at %3")
                  .arg(name, outage_words(outage, data), moment_words(outage.end_s, outage.end_s - outage.start_s))};
    if (loss != nullptr) lines << describe_loss(*loss);
    if (const Refetch* refetch = data.refetch_of(outage))
        lines << QObject::tr("Weights and AdamW's state fetched again in %1").arg(duration(refetch->seconds));
    return lines;
}

QString counter_name(Counter counter) {
    switch (counter) {
        case Counter::held: return QObject::tr("In memory, at most");
        case Counter::bytes_per_s: return QObject::tr("Sent, at most");
        case Counter::busy: return QObject::tr("Busy, at most");
        case Counter::gpu: return QObject::tr("GPU busy, at most");
    }
    return {};
}

QString counter_suffix(Counter counter) {
    return counter == Counter::held          ? QObject::tr(" in memory")
           : counter == Counter::bytes_per_s ? QObject::tr(" sent over lines")
           : counter == Counter::gpu         ? QObject::tr(" of the GPU's time a kernel ran")
                                             : QObject::tr(" busy");
}

QString counter_words(Counter counter, double value) {
    switch (counter) {
        case Counter::held:
            return value == 1 ? QObject::tr("1 microbatch")
                              : QObject::tr("%1 microbatches")
                                    .arg(value == std::round(value) ? QString::number(value) : three_digits(value));
        case Counter::bytes_per_s: return quantity(value, "B/s");
        case Counter::busy:
        case Counter::gpu: return percent(value);
    }
    return {};
}

}  // namespace skippipe
