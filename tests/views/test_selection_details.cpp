// SPDX-License-Identifier: GPL-3.0-or-later
// What is selected in the timeline, as properties whose names lead on.
#include <QLabel>
#include <QTextDocument>
#include <QtTest>

#include "plugins/planners/all.h"
#include "tests/views/recorded_runs.h"
#include "tests/views/two_iterations.h"
#include "views/timeline/colours.h"
#include "views/timeline/details.h"
#include "views/timeline/follow.h"

using namespace skippipe;

namespace {

QString value_of(const Details& details, const QString& name) {
    for (const auto& row : details.rows)
        if (row.name == name) return QString(row.value).replace(QChar(0x2009), ' ');
    return {};
}

}  // namespace

class TestSelectionDetails : public QObject {
    Q_OBJECT
    PlannerRegistry planners_;

private Q_SLOTS:
    void initTestCase() { register_planners(planners_); }

    void a_span_has_a_row_a_fact() {
        const auto data = two_iterations();
        const auto place = data->find(9);  // the last of lane b's first iteration
        const auto details = span_details(*place.span, place.lane, *data);
        QCOMPARE(details.title, QStringLiteral("Backward on b"));
        QCOMPARE(value_of(details, "Microbatch"), QStringLiteral("4"));
        QCOMPARE(value_of(details, "Stage"), QStringLiteral("1"));
        QCOMPARE(value_of(details, "Iteration"), QStringLiteral("1"));
        QCOMPARE(value_of(details, "Took"), QStringLiteral("1.10 s, from 8.00 s to 9.10 s"));
        QCOMPARE(in_lines(details).mid(0, 3), (QStringList{"Backward on b", "microbatch 4", "stage 1"}));
    }

    /// In the iteration in which it is lost, and in those in which it is away.
    void a_lost_node_says_since_when() {
        auto data = std::make_shared<TimelineData>();
        data->set_lanes({"a", "b"});
        data->set_stage(0, 2);
        data->set_stage(1, 2);
        std::int64_t row = 0;
        for (const int iteration : {0, 1, 2})
            data->add(Span{SpanKind::forward, NodeIndex(1), -1, StageIndex(2), MicrobatchIndex(0), 0, 0, 1, 0},
                      iteration, 10.0 * iteration, row++);
        data->add(Span{SpanKind::down, NodeIndex(0), NodeIndex(-1), 0, MicrobatchIndex(-1), 4, 4, 10, 0}, 0, 0, row++);
        data->add(Span{SpanKind::down, NodeIndex(0), NodeIndex(-1), 0, MicrobatchIndex(-1), 0, 0, 3, 0}, 1, 10, row++);
        data->set_iterations({{0, 10, 10}, {1, 20, 10}, {2, 30, 10}});
        data->finish();
        const auto first = node_details(0, {0, 10, 10}, *data), second = node_details(0, {1, 20, 10}, *data);
        QCOMPARE(value_of(first, "Lost"), QStringLiteral("at 4.0 s, back at 13.0 s"));
        QCOMPARE(value_of(second, "Lost"), QStringLiteral("at 4.0 s, back at 13.0 s"));
        QVERIFY2(in_rows(second, *data).contains("href=\"loss:4\""), qPrintable(in_rows(second, *data)));
        QVERIFY(value_of(node_details(0, {2, 30, 10}, *data), "Lost").isEmpty());
        QVERIFY(value_of(node_details(1, {0, 10, 10}, *data), "Lost").isEmpty());
    }

    /// How many microbatches a node serves beside others of its stage, each once, of that iteration.
    void a_node_says_how_many_it_serves() {
        auto data = std::make_shared<TimelineData>();
        data->set_lanes({"a", "b", "c"});
        for (const int lane : {0, 1}) data->set_stage(lane, 2);
        data->set_stage(2, 1);
        std::int64_t row = 0;
        const auto work = [&](int lane, int microbatch, double start_s, int iteration) {
            data->add(Span{SpanKind::forward, NodeIndex(lane), -1, StageIndex(2), MicrobatchIndex(microbatch), start_s,
                           start_s, start_s + 0.5, 0},
                      iteration, 10.0 * iteration, row++);
        };
        for (const int microbatch : {0, 1, 0}) work(0, microbatch, row, 0);
        for (const int microbatch : {2, 3, 4}) work(1, microbatch, row, 0);
        work(2, 0, 0, 0);
        work(0, 7, 1, 1);
        data->set_iterations({{0, 10, 10}, {1, 20, 10}});
        data->finish();
        QCOMPARE(value_of(node_details(0, {0, 10, 10}, *data), "Serves"), QStringLiteral("2 microbatches; b 3"));
        QCOMPARE(value_of(node_details(0, {1, 20, 10}, *data), "Serves"), QStringLiteral("1 microbatch; b 0"));
        QCOMPARE(value_of(node_details(2, {0, 10, 10}, *data), "Serves"), QStringLiteral("1 microbatch"));
        QVERIFY(value_of(node_details(1, {1, 20, 10}, *data), "Serves").isEmpty());
    }

    /// How much it worked, until when, and what it waited for the longest: of two waits for one node the sum.
    void a_node_has_its_iteration() {
        auto data = std::make_shared<TimelineData>();
        data->set_lanes({"a", "b"});
        data->set_stage(0, 2);
        for (const double start_s : {0.0, 4.0})
            data->add(Span{SpanKind::forward, NodeIndex(0), -1, StageIndex(2), MicrobatchIndex(0), start_s, start_s,
                           start_s + 1, 0},
                      0, 0, static_cast<std::int64_t>(start_s));
        const auto wait = [&](IdleCause cause, double start_s, double end_s, int of) {
            IdleGap gap{.node = NodeIndex(0), .cause = cause, .start_s = start_s, .end_s = end_s};
            gap.other = NodeIndex(of);
            data->add(gap, 0);
        };
        wait(IdleCause::memory, 1, 1.5, -1);
        wait(IdleCause::activation, 1.5, 4, 1);
        wait(IdleCause::activation, 5, 6, 1);
        wait(IdleCause::fill_drain, 6, 10, -1);
        data->set_iterations({{0, 10, 10}});
        data->finish();
        const auto details = node_details(0, {0, 10, 10}, *data);
        QCOMPARE(details.title, QStringLiteral("a"));
        QCOMPARE(value_of(details, "Stage"), QStringLiteral("2"));
        QCOMPARE(value_of(details, "Works"), QStringLiteral("20.0 % of 10.0 s, the last ends after 5.00 s"));
        QCOMPARE(value_of(details, "Idles"),
                 QStringLiteral("40.0 %, 4.00 s: ") + cause_in_sentence(IdleCause::fill_drain));
        QCOMPARE(value_of(details, QString(QChar(0x00A0))),
                 QStringLiteral("35.0 %, 3.50 s: %1, for b").arg(cause_in_sentence(IdleCause::activation)));
        QVERIFY2(in_rows(details, *data).contains("href=\"node:b\""), qPrintable(in_rows(details, *data)));
        QTextDocument seen;
        seen.setHtml(in_rows(details, *data));
        QVERIFY2(seen.toPlainText().contains(QStringLiteral("40.0\u202f%, 4.00\u202fs: ")),
                 qPrintable(seen.toPlainText()));
    }

    /// Waits of one cause are one, whomever they were for; who most of it was for is named.
    void waits_of_one_cause_are_summed() {
        auto data = std::make_shared<TimelineData>();
        data->set_lanes({"a", "b", "c", "d"});
        data->set_stage(0, 2);
        const auto wait = [&](double start_s, double end_s, int of) {
            IdleGap gap{.node = NodeIndex(0), .cause = IdleCause::all_reduce, .start_s = start_s, .end_s = end_s};
            gap.other = NodeIndex(of);
            data->add(gap, 0);
        };
        wait(0, 2, 1);
        wait(2, 5, 2);
        data->set_iterations({{0, 10, 10}});
        data->finish();
        const QString cause = cause_in_sentence(IdleCause::all_reduce);
        QCOMPARE(value_of(node_details(0, {0, 10, 10}, *data), "Idles"),
                 QStringLiteral("50.0 %, 5.00 s: %1, mostly for c").arg(cause));
        auto even = std::make_shared<TimelineData>(*data);
        IdleGap more{.node = NodeIndex(0), .cause = IdleCause::all_reduce, .start_s = 5, .end_s = 7};
        more.other = NodeIndex(3);
        even->add(more, 0);
        even->finish();
        QCOMPARE(value_of(node_details(0, {0, 10, 10}, *even), "Idles"),
                 QStringLiteral("70.0 %, 7.00 s: %1").arg(cause));
    }

    /// A wait for another replica leads to the work that it ended with, and says whose it is.
    void a_wait_for_a_replica_leads_to_its_work() {
        auto data = std::make_shared<TimelineData>();
        data->set_lanes({"a", "b"});
        for (const int node : {0, 1}) data->set_stage(node, 2);
        const auto work = [&](int node, double start_s, double end_s, std::int64_t row) {
            data->add(Span{SpanKind::backward, NodeIndex(node), -1, StageIndex(2),
                           MicrobatchIndex(static_cast<int>(row)), start_s, start_s, end_s, 0},
                      0, 0, row);
        };
        work(0, 0, 1, 0);
        work(1, 2, 4, 1);
        work(1, 5, 6, 2);
        IdleGap gap{.node = NodeIndex(0), .cause = IdleCause::replica, .start_s = 1, .end_s = 6};
        gap.other = NodeIndex(1);
        data->add(gap, 0);
        data->set_iterations({{0, 7, 7}});
        data->finish();
        const auto place = waited_for(*data, 0, *data->gap_at(0, 3));
        QVERIFY(place.span != nullptr);
        QCOMPARE(place.lane, 1);
        QCOMPARE(place.span->end_s, 6.0);
        const auto details = gap_details(*data->gap_at(0, 3), "a", *data);
        QCOMPARE(value_of(details, "Of"), QStringLiteral("b"));
        QCOMPARE(details.rows.front().value, cause_words(IdleCause::replica));
    }

    /// Two nodes serve it: of both together; a wait for one of them counts as that, however many waited.
    void a_stage_has_its_iteration() {
        auto data = std::make_shared<TimelineData>();
        data->set_lanes({"a", "b", "c"});
        data->set_stage(0, 2);
        data->set_stage(1, 2);
        data->set_stage(2, 0);
        const auto span = [&](SpanKind kind, int node, int to, double start_s, double end_s, std::int64_t row) {
            data->add(Span{kind, NodeIndex(node), NodeIndex(to), StageIndex(2), MicrobatchIndex(0), start_s - 0.25,
                           start_s, end_s, 0},
                      0, 0, row);
        };
        span(SpanKind::forward, 0, -1, 1, 3, 0);
        span(SpanKind::forward, 1, -1, 2, 5, 1);
        span(SpanKind::transfer_reduction, 0, 1, 6, 7, 2);
        span(SpanKind::transfer_reduction, 1, 0, 7.5, 9, 3);
        for (const int node : {0, 1}) {
            IdleGap gap{.node = NodeIndex(node), .cause = IdleCause::activation, .start_s = 0, .end_s = 1.0 + node};
            gap.other = NodeIndex(2);
            data->add(gap, 0);
        }
        data->set_iterations({{0, 10, 10}});
        data->finish();
        const auto details = stage_details(2, {0, 10, 10}, *data);
        QCOMPARE(value_of(details, "Nodes"), QStringLiteral("a, b"));
        QCOMPARE(value_of(details, "Works"),
                 QStringLiteral("25.0 % of its nodes' time, the last ends after 5.00 s of 10.0 s"));
        QCOMPARE(value_of(details, "Idles"),
                 QStringLiteral("15.0 %: %1, for c").arg(cause_in_sentence(IdleCause::activation)));
        QCOMPARE(value_of(details, "Sums gradients"),
                 QStringLiteral("3.25 s, from 5.75 s to 9.00 s after the iteration's start"));
        QCOMPARE(value_of(stage_details(7, {0, 10, 10}, *data), "Nodes"), QStringLiteral("none serves it then"));
    }

    void a_microbatch_has_its_way() {
        auto data = std::make_shared<TimelineData>();
        data->set_lanes({"a", "b"});
        data->set_stage(0, 0);
        data->set_stage(1, 2);
        const auto span = [&](SpanKind kind, int node, int to, double start_s, double end_s, std::int64_t row) {
            data->add(Span{kind, NodeIndex(node), NodeIndex(to), StageIndex(2 * node), MicrobatchIndex(3), start_s,
                           start_s, end_s, 0},
                      0, 10, row);
        };
        span(SpanKind::forward, 0, -1, 1, 2, 0);
        span(SpanKind::transfer_forward, 0, 1, 2, 3, 1);
        span(SpanKind::forward, 1, -1, 4, 5, 2);
        span(SpanKind::backward, 1, -1, 7, 9, 3);
        data->add(Span{SpanKind::forward, NodeIndex(1), -1, StageIndex(2), MicrobatchIndex(5), 3, 3, 4, 0}, 0, 10, 4);
        IdleGap gap{.node = NodeIndex(1), .cause = IdleCause::memory, .start_s = 15, .end_s = 17};
        data->add(gap, 0);
        data->set_iterations({{0, 20, 10}});
        data->finish();
        const auto details = microbatch_details(3, {0, 20, 10}, *data);
        QCOMPARE(value_of(details, "Path"), QString::fromUtf8("a → b"));
        QCOMPARE(value_of(details, "Stages"), QStringLiteral("0, 2"));
        QCOMPARE(value_of(details, "Skips"), QStringLiteral("1"));
        QCOMPARE(value_of(details, "Under way"),
                 QStringLiteral("8.00 s, from 1.00 s to 9.00 s after the iteration's start"));
        QCOMPARE(value_of(details, "Of that"), QStringLiteral("50.0 % computing, 12.5 % being sent, 37.5 % waiting"));
        QVERIFY2(in_rows(details, *data).contains("backward on <a href=\"node:b\""),
                 qPrintable(in_rows(details, *data)));
        // Where it waits: at a node that others hold up, and at one that works on another microbatch meanwhile.
        QCOMPARE(value_of(details, "Waits"),
                 QStringLiteral("2.00 s before backward on b: %1").arg(cause_in_sentence(IdleCause::memory)));
        QCOMPARE(value_of(details, QString(QChar(0x00A0))),
                 QStringLiteral("1.00 s before forward on b: it works on others"));
        QVERIFY(value_of(microbatch_details(4, {0, 20, 10}, *data), "Path").isEmpty());
    }

    /// Of an iteration that is in a part of the timeline too.
    void a_node_works_until_its_last_span_wherever_that_is_kept() {
        const auto data = std::make_shared<TimelineData>();
        const auto first = std::make_shared<TimelineData>();
        for (const auto& one : {data, first}) one->set_lanes({"a"});
        first->add(Span{SpanKind::forward, NodeIndex(0), -1, StageIndex(0), MicrobatchIndex(0), 1, 1, 4, 0}, 0, 0, 0);
        first->finish();
        data->set_parts({first});
        data->set_iterations({{0, 10, 10}});
        data->finish();
        QCOMPARE(value_of(node_details(0, {0, 10, 10}, *data), "Works"),
                 QStringLiteral("30.0 % of 10.0 s, the last ends after 4.00 s"));
    }

    /// Names of nodes lead there, other words do not; what a person called a node is text, whatever it looks like.
    void names_are_links() {
        TimelineData data;
        data.set_lanes({"a", "<b>"});
        data.finish();
        const Details details{"Backward on a",
                              {{"From", "<b>", DetailLink::node},
                               {"Held by microbatches", "3, 4", DetailLink::microbatch},
                               {"Waited for", "Forward on a", DetailLink::cause},
                               {{}, "12 of them"}}};
        const QString html = in_rows(details, data);
        for (const char* link : {"href=\"node:a\"", "href=\"node:&lt;b&gt;\"", "href=\"microbatch:3\"",
                                 "href=\"microbatch:4\"", "href=\"cause:\""})
            QVERIFY2(html.contains(link), qPrintable(html));
        QCOMPARE(html.count("href="), 5);
        QVERIFY2(html.contains(">&lt;b&gt;</a>"), qPrintable(html));
    }

    void links_select_what_they_name() {
        Recorded recorded(planners_);
        Recorder recorder(recorded.file);
        const RunId run = recorded.begin(recorder, recorded.experiment);
        for (int i = 0; i < recorded_iterations; ++i) recorded.iterate(recorder, run, i);
        recorder.finish(run, RunState::finished, {.iterations_done = recorded_iterations}, "{}");
        const auto window = watching(planners_, recorded, run);
        QVERIFY(window != nullptr);
        auto& page = window->watch_page();
        auto* label = page.findChild<QLabel*>("selected_span");
        const auto* data = page.timeline().data();
        TimelineData::Place sent;
        for (std::int64_t row = 0; sent.span == nullptr && row < static_cast<std::int64_t>(data->span_count()); ++row)
            if (const auto place = data->find(row); place.span != nullptr && is_transfer(place.span->kind))
                sent = place;
        QVERIFY(sent.span != nullptr);
        const auto from = data->lanes()[static_cast<std::size_t>(sent.lane)].name;
        const auto to = data->lanes()[static_cast<std::size_t>(sent.span->to_node)].name;
        const int microbatch = sent.span->microbatch;
        page.timeline().go(sent);
        QVERIFY2(label->text().contains("href=\"node:" + QString::fromStdString(to)), qPrintable(label->text()));
        Q_EMIT label->linkActivated("node:" + QString::fromStdString(to));
        QVERIFY(window->selection().now().nodes == std::set<std::string>{to});
        QVERIFY2(page.timeline().selected().span == nullptr, "the node, not what was selected on the way there");
        page.timeline().go(sent);
        QVERIFY(window->selection().now().nodes == std::set<std::string>{from});
        Q_EMIT label->linkActivated("microbatch:" + QString::number(microbatch));
        QVERIFY(window->selection().now().microbatch == std::optional<int>(microbatch));
        QVERIFY(window->selection().now().nodes.empty());
        QVERIFY2(selection_words(page).contains("Under way"), qPrintable(selection_words(page)));
        Q_EMIT label->linkActivated("stage:1");
        QVERIFY(window->selection().now().stage == std::optional<int>(1));
        QVERIFY2(selection_words(page).contains("of its nodes' time"), qPrintable(selection_words(page)));
        Q_EMIT label->linkActivated("iteration:2");
        const auto& second = data->iterations()[1];
        QVERIFY(page.zoom().begin() < second.begin_s() && page.zoom().end() > second.end_s);
        QVERIFY(page.zoom().end() - page.zoom().begin() < 1.1 * second.length_s);
    }
};

QTEST_MAIN(TestSelectionDetails)
#include "test_selection_details.moc"
