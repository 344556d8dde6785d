// SPDX-License-Identifier: GPL-3.0-or-later
// A node, a stage, a microbatch in one iteration, as properties.
#include <algorithm>
#include <functional>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

#include <QObject>

#include "views/theme/numbers.h"
#include "views/timeline/colours.h"
#include "views/timeline/details.h"
#include "views/timeline/timeline_view.h"

namespace skippipe {
namespace {

constexpr std::size_t most_waits = 3;

QString lane_words(int lane, const TimelineData& data) {
    return QString::fromStdString(data.lanes()[static_cast<std::size_t>(lane)].name);
}

/// What some lanes did in an iteration, all together.
struct Activity {
    AreaStatistics sum;
    double last_end_s = 0;                               ///< of their work; the iteration's begin: there is none
    std::map<IdleCause, std::map<int, double>> waits_s;  ///< by whom they waited for; -1: nobody alone
};

Activity activity(const std::vector<int>& lanes, const IterationTime& one, const TimelineData& data) {
    const double begin_s = one.begin_s();
    Activity all{.sum = data.statistics(lanes, begin_s, one.end_s), .last_end_s = begin_s, .waits_s = {}};
    data.visit_lanes(begin_s, one.end_s, lanes, [&](const Lane& lane) {
        const auto before = [](const LaneSpan& span, double time_s) { return span.start_s < time_s; };
        const auto after = std::lower_bound(lane.work.begin(), lane.work.end(), one.end_s, before);
        if (after != lane.work.begin()) all.last_end_s = std::max(all.last_end_s, std::prev(after)->end_s);
    });
    for (const int lane : lanes)
        data.visit_gaps(lane, begin_s, one.end_s, 0, [&](const LaneGap& gap) {
            // Filling and draining waits for all that come before.
            const bool of_one = gap.cause != IdleCause::fill_drain && gap.other >= 0 &&
                                static_cast<std::size_t>(gap.other) < data.lanes().size();
            all.waits_s[gap.cause][of_one ? gap.other : -1] +=
                std::min(gap.end_s, one.end_s) - std::max(gap.start_s, begin_s);
        });
    return all;
}

/// ", for n9", or ", mostly for n9": whom a wait was for, where most of it was for one.
QString for_whom(const std::map<int, double>& seconds_for, double whole_s, const TimelineData& data) {
    constexpr double all = 0.99, most = 0.5;
    const auto longest = std::max_element(seconds_for.begin(), seconds_for.end(),
                                          [](const auto& a, const auto& b) { return a.second < b.second; });
    if (longest->first < 0 || longest->second < most * whole_s) return {};
    return (longest->second >= all * whole_s ? QObject::tr(", for %1") : QObject::tr(", mostly for %1"))
        .arg(lane_words(longest->first, data));
}

/// "42.8 %, 611 ms: waiting for the all-reduce, mostly for n9", the longest cause first; `value` says how long.
void add_waits(std::vector<Detail>& rows, const Activity& all, const TimelineData& data,
               const std::function<QString(double)>& value) {
    std::vector<std::pair<double, IdleCause>> longest;
    for (const auto& [cause, seconds_for] : all.waits_s)
        longest.emplace_back(std::accumulate(seconds_for.begin(), seconds_for.end(), 0.0,
                                             [](double sum, const auto& one) { return sum + one.second; }),
                             cause);
    std::sort(longest.begin(), longest.end(), std::greater<>{});
    for (std::size_t k = 0; k < std::min(most_waits, longest.size()); ++k) {
        const auto& [seconds, cause] = longest[k];
        const QString words =
            QObject::tr("%1: %2%3")
                .arg(value(seconds), cause_in_sentence(cause), for_whom(all.waits_s.at(cause), seconds, data));
        rows.push_back({k == 0 ? QObject::tr("Idles") : QString(QChar(0x00A0)), words, DetailLink::node});
    }
}

/// Since when it was lost in that iteration, what it was, when that was known, and whether it came back.
void add_outage(std::vector<Detail>& rows, int lane, const IterationTime& one, const TimelineData& data) {
    auto outage = data.outage_at(lane, std::nexttoward(one.end_s, 0.0L));
    if (!outage) outage = data.outage_at(lane, one.begin_s());
    if (!outage) return;
    const QString moment = since_words(*outage, data);
    const Loss* loss = data.loss_of(*outage);
    const double lost_s = loss != nullptr ? loss->begin_s : outage->start_s;
    rows.push_back({QObject::tr("Lost"),
                    outage->end_s >= data.extent_s()
                        ? QObject::tr("since %1, not back yet").arg(moment)
                        : QObject::tr("at %1, back at %2")
                              .arg(moment, moment_words(outage->end_s, outage->end_s - outage->start_s)),
                    DetailLink::loss, lost_s});
    if (const int stage = data.stage_at(lane, std::nexttoward(outage->start_s, -1.0L)); stage >= 0)
        rows.push_back({QObject::tr("Until then"), QObject::tr("stage %1").arg(stage), DetailLink::stage});
    if (loss != nullptr)
        for (const QString& line : describe_loss(*loss).mid(1)) rows.push_back({QString(QChar(0x00A0)), line, {}});
}

/// Why a microbatch that had come to a node was not worked on from then on.
QString holdup_words(int lane, double from_s, double until_s, const TimelineData& data) {
    const auto then = data.statistics({lane}, from_s, until_s);
    const auto longest = std::max_element(then.idle_s.begin(), then.idle_s.end());
    if (then.busy_s >= *longest) return QObject::tr("it works on others");
    return cause_in_sentence(static_cast<IdleCause>(longest - then.idle_s.begin()));
}

/// "85.0 ms before backward on n9: it works on others", the longest first; `way` by its starts.
void add_stops(std::vector<Detail>& rows, const std::vector<TimelineData::Place>& way, const TimelineData& data) {
    struct Stop {
        double from_s = 0;
        TimelineData::Place before;
        double seconds() const { return before.span->start_s - from_s; }
    };
    std::vector<Stop> stops;
    double there_s = way.front().span->end_s;
    for (const auto& place : way) {
        if (place.span->start_s > there_s) stops.push_back({there_s, place});
        there_s = std::max(there_s, place.span->end_s);
    }
    std::stable_sort(stops.begin(), stops.end(),
                     [](const Stop& a, const Stop& b) { return a.seconds() > b.seconds(); });
    for (std::size_t k = 0; k < std::min(most_waits, stops.size()); ++k) {
        const auto& [lane, span] = stops[k].before;
        const auto kind = to_string(span->kind);
        const QString why =
            is_compute(span->kind)
                ? QObject::tr("%1 on %2: %3")
                      .arg(QString::fromUtf8(kind.data(), static_cast<qsizetype>(kind.size())), lane_words(lane, data),
                           holdup_words(lane, stops[k].from_s, span->start_s, data))
                : QObject::tr("the way from %1 to %2: others are sent there")
                      .arg(lane_words(lane, data), lane_words(span->to_node, data));
        rows.push_back({k == 0 ? QObject::tr("Waits") : QString(QChar(0x00A0)),
                        QObject::tr("%1 before %2").arg(duration(stops[k].seconds()), why), DetailLink::node});
    }
}

/// When the stage's gradient is summed, where its transfers are recorded.
void add_sums(std::vector<Detail>& rows, int stage, const IterationTime& one, const TimelineData& data) {
    double begin_s = one.end_s, end_s = one.begin_s();
    data.visit_spans(one.begin_s(), one.end_s, [&](int, const LaneSpan& span) {
        if (span.kind != SpanKind::transfer_reduction || span.stage != stage || span.iteration != one.iteration) return;
        begin_s = std::min<double>(begin_s, span.start_s - span.queue_s);
        end_s = std::max(end_s, span.end_s);
    });
    if (begin_s < end_s)
        rows.push_back(
            {QObject::tr("Sums gradients"),
             QObject::tr("%1, from %2 to %3 after the iteration's start")
                 .arg(duration(end_s - begin_s), duration(begin_s - one.begin_s()), duration(end_s - one.begin_s()))});
}

}  // namespace

namespace {

/// Microbatches that a lane works on in an iteration.
qsizetype served(int lane, const IterationTime& one, const TimelineData& data) {
    std::set<int> microbatches;
    data.visit_lanes(one.begin_s(), one.end_s, {lane}, [&](const Lane& part) {
        const auto before = [](const LaneSpan& span, double time_s) { return span.start_s < time_s; };
        auto span = std::lower_bound(part.work.begin(), part.work.end(), one.begin_s(), before);
        for (; span != part.work.end() && span->start_s < one.end_s; ++span)
            if (span->iteration == one.iteration && span->microbatch >= 0) microbatches.insert(span->microbatch);
    });
    return std::ssize(microbatches);
}

/// "5 microbatches; n4 13, n9 12": beside its stage's other nodes, which is why they wait for each other.
QString served_words(int lane, const IterationTime& one, const TimelineData& data) {
    constexpr qsizetype most_named = 8;
    const auto own = served(lane, one, data);
    const int stage = data.stage_at(lane, one.begin_s());
    if (own == 0 || stage < 0) return {};
    QStringList others;
    for (int other = 0; other < static_cast<int>(data.lanes().size()) && others.size() <= most_named; ++other)
        if (other != lane && data.stage_at(other, one.begin_s()) == stage)
            others << QStringLiteral("%1 %2").arg(lane_words(other, data)).arg(served(other, one, data));
    if (others.size() > most_named) others.last() = QString(QChar(0x2026));
    const QString words = own == 1 ? QObject::tr("1 microbatch") : QObject::tr("%1 microbatches").arg(own);
    return others.isEmpty() ? words : QObject::tr("%1; %2").arg(words, others.join(QStringLiteral(", ")));
}

}  // namespace

Details node_details(int lane, const IterationTime& one, const TimelineData& data) {
    Details details{.title = lane_words(lane, data)};
    auto& rows = details.rows;
    if (const int stage = data.stage_at(lane, one.begin_s()); stage >= 0) rows.push_back(stage_row(stage));
    rows.push_back(iteration_row(one.iteration));
    add_outage(rows, lane, one, data);
    const auto all = activity({lane}, one, data);
    if (all.sum.seconds > 0)
        rows.push_back({QObject::tr("Works"),
                        all.sum.busy_s > 0
                            ? QObject::tr("%1 of %2, the last ends after %3")
                                  .arg(percent(all.sum.busy_s / all.sum.seconds), duration(one.length_s),
                                       duration(all.last_end_s - one.begin_s()))
                            : QObject::tr("not at all in the %1 of this iteration").arg(duration(one.length_s))});
    if (const QString counts = served_words(lane, one, data); !counts.isEmpty())
        rows.push_back({QObject::tr("Serves"), counts, DetailLink::node});
    add_waits(rows, all, data, [&](double seconds) {
        return all.sum.seconds > 0 ? QObject::tr("%1, %2").arg(percent(seconds / all.sum.seconds), duration(seconds))
                                   : duration(seconds);
    });
    return details;
}

Details stage_details(int stage, const IterationTime& one, const TimelineData& data) {
    constexpr qsizetype most_named = 12;
    Details details{.title = QObject::tr("Stage %1").arg(stage)};
    auto& rows = details.rows;
    std::vector<int> lanes;
    QStringList names;
    for (int lane = 0; lane < static_cast<int>(data.lanes().size()); ++lane)
        if (data.stage_at(lane, one.begin_s()) == stage) {
            lanes.push_back(lane);
            names << lane_words(lane, data);
        }
    rows.push_back(iteration_row(one.iteration));
    if (lanes.empty()) {
        rows.push_back({QObject::tr("Nodes"), QObject::tr("none serves it then")});
        return details;
    }
    QString named = names.mid(0, most_named).join(", ");
    if (names.size() > most_named) named = QObject::tr("%1 and %2 more").arg(named).arg(names.size() - most_named);
    rows.push_back({QObject::tr("Nodes"), named, DetailLink::node});
    const auto all = activity(lanes, one, data);
    if (!(all.sum.seconds > 0)) return details;
    rows.push_back({QObject::tr("Works"), QObject::tr("%1 of its nodes' time, the last ends after %2 of %3")
                                              .arg(percent(all.sum.busy_s / all.sum.seconds),
                                                   duration(all.last_end_s - one.begin_s()), duration(one.length_s))});
    add_waits(rows, all, data, [&](double seconds) { return percent(seconds / all.sum.seconds); });
    add_sums(rows, stage, one, data);
    return details;
}

Details microbatch_details(int microbatch, const IterationTime& one, const TimelineData& data) {
    Details details{.title = QObject::tr("Microbatch %1").arg(microbatch)};
    auto& rows = details.rows;
    rows.push_back(iteration_row(one.iteration));
    std::vector<TimelineData::Place> way;
    data.visit_spans(one.begin_s(), one.end_s, [&](int lane, const LaneSpan& span) {
        if (span.microbatch == microbatch && span.iteration == one.iteration) way.push_back({lane, &span});
    });
    if (way.empty()) {
        rows.push_back({{}, QObject::tr("No span of it is recorded there")});
        return details;
    }
    std::sort(way.begin(), way.end(), [](const auto& a, const auto& b) { return a.span->start_s < b.span->start_s; });
    QStringList nodes, stages, skipped;
    std::set<int> visited;
    double worked_s = 0, sent_s = 0, end_s = way.front().span->end_s;
    for (const auto& [lane, span] : way) {
        if (span->kind == SpanKind::forward || span->kind == SpanKind::loss)
            if (const QString name = lane_words(lane, data); nodes.isEmpty() || nodes.back() != name) nodes << name;
        if (span->kind == SpanKind::forward && span->stage >= 0 && visited.insert(span->stage).second)
            stages << QString::number(span->stage);
        (is_compute(span->kind) ? worked_s : sent_s) += span->end_s - span->start_s;
        end_s = std::max(end_s, span->end_s);
    }
    const double begin_s = way.front().span->start_s, whole_s = end_s - begin_s;
    rows.push_back({QObject::tr("Path"), nodes.join(QString::fromUtf8(" → ")), DetailLink::node});
    int last = -1;
    for (const auto& lane : data.lanes()) last = std::max(last, lane.stage);
    for (int stage = 0; stage <= last; ++stage)
        if (!visited.contains(stage)) skipped << QString::number(stage);
    if (!stages.isEmpty()) rows.push_back({QObject::tr("Stages"), stages.join(", "), DetailLink::stage});
    if (!stages.isEmpty() && last >= 0)
        rows.push_back(
            {QObject::tr("Skips"), skipped.isEmpty() ? QObject::tr("none") : skipped.join(", "), DetailLink::stage});
    rows.push_back({QObject::tr("Under way"),
                    QObject::tr("%1, from %2 to %3 after the iteration's start")
                        .arg(duration(whole_s), duration(begin_s - one.begin_s()), duration(end_s - one.begin_s()))});
    if (whole_s > 0)
        rows.push_back({QObject::tr("Of that"), QObject::tr("%1 computing, %2 being sent, %3 waiting")
                                                    .arg(percent(worked_s / whole_s), percent(sent_s / whole_s),
                                                         percent(std::max(0.0, 1 - (worked_s + sent_s) / whole_s)))});
    add_stops(rows, way, data);
    return details;
}

}  // namespace skippipe
