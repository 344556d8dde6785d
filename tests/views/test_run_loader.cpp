// SPDX-License-Identifier: GPL-3.0-or-later
// A run as it is read in: the newest first, the rest when asked for, and what was handed out never changes.
#include <QFile>
#include <QTemporaryDir>
#include <QtTest>

#include <numeric>

#include <SQLiteCpp/SQLiteCpp.h>

#include "core/analysis/idle_split.h"
#include "core/experiment/io.h"
#include "plugins/planners/all.h"
#include "tests/views/window_experiments.h"
#include "views/plan/plan_service.h"
#include "views/runs/run_feed.h"
#include "views/runs/run_loader.h"
#include "views/timeline/details.h"
#include "views/timeline/span_table.h"
#include "views/timeline/lane_key.h"
#include "views/timeline/span_view.h"

using namespace skippipe;

namespace {

constexpr std::chrono::milliseconds patient{patient_ms};

/// Reads what is wanted, to the end.
void read_all(RunLoader& loader, Reader& reader, RunId run) {
    bool more = true;
    while (more) loader.poll(reader, *reader.run(run), more);
}

}  // namespace

class TestRunLoader : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    std::filesystem::path file_;
    std::shared_ptr<PlanOutcome> planned_;
    Experiment experiment_;
    std::unique_ptr<Recorder> recorder_;
    RunId run_ = 0;
    int recorded_ = 0;

    std::size_t spans_each() const {
        return static_cast<std::size_t>(
            std::count_if(planned_->timeline.spans.begin(), planned_->timeline.spans.end(),
                          [](const Span& span) { return is_compute(span.kind) || is_on_line(span.kind); }));
    }
    double length() const { return planned_->timeline.iteration_s; }
    double idle_share() const { return std::accumulate(planned_->idle.share.begin(), planned_->idle.share.end(), 0.0); }

    void record(int iterations) {
        for (int i = 0; i < iterations; ++i, ++recorded_) {
            recorder_->spans(run_, recorded_, recorded_ * length(), planned_->timeline.spans);
            recorder_->metric(run_, {0, recorded_, "iteration_s", length(), (recorded_ + 1) * length(), 1, 1});
            recorder_->iteration_done(run_, recorded_ + 1, 1);
            if (i % 50 == 49) QVERIFY(recorder_->flush(patient));
        }
        QVERIFY(recorder_->flush(patient));
    }

private Q_SLOTS:
    void initTestCase() {
        PlannerRegistry planners;
        register_planners(planners);
        Faults faults;
        experiment_ = parse_experiment(read_file(SKIPPIPE_SOURCE_DIR "/resources/experiments/quick-start.json", faults))
                          .experiment;
        planned_ = make_plan(experiment_, *planners.find("gpipe"), request_for(experiment_));
        QVERIFY(planned_->has_plan);
    }

    void init() {
        recorder_.reset();
        file_ = folder_.filePath(QStringLiteral("%1.sqlite").arg(QTest::currentTestFunction())).toStdString();
        recorder_ = std::make_unique<Recorder>(file_);
        run_ = recorder_->begin({.name = "loaded",
                                 .planner = "gpipe",
                                 .experiment_json = to_text(experiment_),
                                 .plan_json = to_json(planned_->plan, planned_->problem, nullptr).dump(),
                                 .iterations = 1'000'000,
                                 .predicted_iteration_s = length()});
        recorded_ = 0;
    }
    void cleanupTestCase() { recorder_.reset(); }

    void a_short_run_is_read_whole_and_grows() {
        record(3);
        Reader reader(file_);
        RunLoader loader(reader, run_);
        read_all(loader, reader, run_);
        const auto three = loader.snapshot();
        QVERIFY(three->unread.empty());
        QCOMPARE(three->lanes->span_count(), 3 * spans_each());
        QCOMPARE(three->explained_iterations, 3);
        QVERIFY(std::abs(std::accumulate(three->idle_share.begin(), three->idle_share.end(), 0.0) - idle_share()) <
                1e-9);
        record(2);
        read_all(loader, reader, run_);
        const auto five = loader.snapshot();
        QCOMPARE(five->lanes->span_count(), 5 * spans_each());
        QCOMPARE(five->explained_iterations, 5);
        QCOMPARE(five->lanes->key(), three->lanes->key());
        QCOMPARE(three->lanes->span_count(), 3 * spans_each());  // what was handed out stays
        QCOMPARE(three->metrics.size(), std::size_t{3});
    }

    /// An iteration comes with its waits: until it is told as done the picture before it stays.
    void an_iteration_comes_with_its_waits() {
        record(1);
        recorder_->spans(run_, 1, length(), planned_->timeline.spans);
        QVERIFY(recorder_->flush(patient));
        Reader reader(file_);
        RunLoader loader(reader, run_);
        read_all(loader, reader, run_);
        QCOMPARE(loader.snapshot()->lanes->span_count(), spans_each());
        recorder_->iteration_done(run_, 2, 1);
        QVERIFY(recorder_->flush(patient));
        read_all(loader, reader, run_);
        const auto run = loader.snapshot();
        QCOMPARE(run->lanes->span_count(), 2 * spans_each());
        QCOMPARE(run->explained_iterations, 2);
    }

    /// The same share as that of the nodes' sum beside it: an iteration of twice the length counts twice.
    void idle_shares_are_of_the_time_and_not_of_iterations() {
        record(1);
        auto late = planned_->timeline.spans;  // all of it after a pause as long as the iteration
        for (auto& span : late) span.ready_s += length(), span.start_s += length(), span.end_s += length();
        recorder_->spans(run_, 1, length(), late);
        recorder_->metric(run_, {0, 1, "iteration_s", 2 * length(), 3 * length(), 1, 1});
        recorder_->iteration_done(run_, 2, 1);
        QVERIFY(recorder_->flush(patient));
        Reader reader(file_);
        RunLoader loader(reader, run_);
        read_all(loader, reader, run_);
        const auto run = loader.snapshot();
        QCOMPARE(run->explained_iterations, 2);
        const double share = std::accumulate(run->idle_share.begin(), run->idle_share.end(), 0.0);
        QVERIFY(std::abs(share - (1 + 2 * idle_share()) / 3) < 1e-6);
        QVERIFY(std::abs(share - sum_of(split_nodes(run->node_idle_s, run->node_busy_s)).idle_share()) < 1e-9);
    }

    void devices_come_with_the_run() {
        const DeviceReading device{"here", "cuda:0", "Card", "GPU-a", {1}, 2, {0.5, 50, 80, 300, 1e9, -1}};
        record(1);
        recorder_->devices(run_, 0, {device});
        QVERIFY(recorder_->flush(patient));
        Reader reader(file_);
        RunLoader loader(reader, run_);
        read_all(loader, reader, run_);
        QCOMPARE(loader.snapshot()->devices.size(), std::size_t{1});
        recorder_->devices(run_, 1, {device});
        QVERIFY(recorder_->flush(patient));
        bool more = false;
        QVERIFY(loader.poll(reader, *reader.run(run_), more));
        const auto run = loader.snapshot();
        QCOMPARE(run->devices.size(), std::size_t{2});
        QCOMPARE(run->devices.back().devices, std::vector{device});
    }

    void losses_come_with_the_lanes() {
        record(1);
        auto spans = planned_->timeline.spans;
        std::erase_if(spans, [](const Span& span) { return span.node == 1; });
        spans.push_back({SpanKind::down, 1, -1, 0, -1, 0.25, 0.25, length(), 0});
        recorder_->spans(run_, 1, length(), spans);
        recorder_->metric(run_, {0, 1, "nodes_lost", 1, length() + 0.5, 1, 1});
        recorder_->metric(run_, {0, 1, "detection_s", 0.25, length() + 0.5, 1, 1});
        recorder_->metric(run_, {0, 1, "iteration_s", length(), 2 * length(), 1, 1});
        recorder_->iteration_done(run_, 2, 1);
        QVERIFY(recorder_->flush(patient));
        Reader reader(file_);
        RunLoader loader(reader, run_);
        read_all(loader, reader, run_);
        const auto data = loader.snapshot();
        const auto outage = data->lanes->outage_at(1, length() + 0.5);
        QVERIFY(outage.has_value() && data->lanes->outage_at(0, length() + 0.5) == std::nullopt);
        QVERIFY(data->lanes->loss_of(*outage) != nullptr);
        QVERIFY(std::abs(data->lanes->loss_of(*outage)->begin_s - outage->start_s) < 1e-9);
    }

    /// What was recorded after the checkpoint that a run goes on from is shown no more.
    void a_run_that_is_resumed_is_read_anew() {
        record(5);
        RunFeed feed(file_);
        feed.watch(run_);
        const auto iterations = [&] {
            const auto data = feed.data(run_);
            return data && data->lanes ? static_cast<int>(data->lanes->span_count() / spans_each()) : 0;
        };
        QTRY_COMPARE_WITH_TIMEOUT(iterations(), 5, patient_ms);
        recorder_.reset();
        QTRY_VERIFY_WITH_TIMEOUT(feed.run(run_) != nullptr && feed.run(run_)->state == RunState::died, patient_ms);
        recorder_ = std::make_unique<Recorder>(file_);
        recorder_->resume(run_, {3, false, 1});
        recorded_ = 3;
        QTRY_COMPARE_WITH_TIMEOUT(iterations(), 3, patient_ms);
        QCOMPARE(feed.data(run_)->metrics.size(), std::size_t{3});
        record(1);
        QTRY_COMPARE_WITH_TIMEOUT(iterations(), 4, patient_ms);
    }

    /// It may have come farther than before when somebody looks: the number of iterations tells nothing.
    void iterations_that_are_done_again_are_shown_once() {
        record(5);
        Reader reader(file_);
        RunLoader loader(reader, run_);
        read_all(loader, reader, run_);
        recorder_->go_back(run_, {3, false, 1});
        recorder_->metric(run_, {0, 3, "lost_iterations", 2, 7 * length(), 1, 1});
        const double begin_s = 7 * length();
        for (int i = 3; i < 8; ++i) {
            const double at_s = begin_s + (i - 3) * length();
            recorder_->spans(run_, i, at_s, planned_->timeline.spans);
            recorder_->metric(run_, {0, i, "iteration_s", length(), at_s + length(), 1, 1});
            recorder_->iteration_done(run_, i + 1, 1);
        }
        QVERIFY(recorder_->flush(patient));
        read_all(loader, reader, run_);
        const auto data = loader.snapshot();
        QCOMPARE(data->lanes->span_count(), 8 * spans_each());
        QCOMPARE(data->explained_iterations, 8);
        QCOMPARE(data->metrics.size(), std::size_t{9});
        QVERIFY(data->lanes->lost_at(5 * length()) != nullptr);
        QVERIFY(data->lanes->lost_at(2.5 * length()) == nullptr);
    }

    void of_a_long_run_the_newest_come_first() {
        const int iterations = static_cast<int>(240'000 / planned_->timeline.spans.size());
        record(iterations);
        Reader reader(file_);
        RunLoader loader(reader, run_);
        bool more = false;
        loader.poll(reader, *reader.run(run_), more);
        const auto first_look = loader.snapshot();
        QVERIFY2(std::abs(first_look->lanes->extent_s() - iterations * length()) < length(),
                 "the end is there at once");
        read_all(loader, reader, run_);
        const auto newest = loader.snapshot();
        QVERIFY(!newest->unread.empty());
        QVERIFY(newest->lanes->span_count() < iterations * spans_each() / 2);
        QVERIFY(newest->lanes->work_at(
                    0, (iterations - 1) * length() + planned_->timeline.spans.front().start_s + 1e-6) != nullptr ||
                newest->lanes->span_count() > 0);
        QCOMPARE(newest->metrics.size(), static_cast<std::size_t>(iterations));

        QVERIFY(loader.want(0, length()));
        read_all(loader, reader, run_);
        const auto both = loader.snapshot();
        QVERIFY(both->lanes->span_count() > newest->lanes->span_count());
        QVERIFY(both->lanes->statistics(0, 100, 0, length()).spans > 0);
        QVERIFY2(newest->lanes->statistics(0, 100, 0, length()).spans == 0, "what was handed out stays");
        QVERIFY2(!loader.want(0, length()), "it is there");

        QVERIFY(loader.want(0, 1e30));
        read_all(loader, reader, run_);
        const auto all = loader.snapshot();
        QVERIFY(all->unread.empty());
        QCOMPARE(all->lanes->span_count(), static_cast<std::size_t>(iterations) * spans_each());
        QCOMPARE(all->explained_iterations, iterations);
        QVERIFY(std::abs(std::accumulate(all->idle_share.begin(), all->idle_share.end(), 0.0) - idle_share()) < 1e-6);
    }

    void two_windows_watch_one_run_while_it_is_locked() {
        record(3);
        RunFeed one(file_), two(file_);
        for (auto* feed : {&one, &two}) {
            feed->watch(run_);
            QTRY_VERIFY_WITH_TIMEOUT(feed->data(run_) && feed->data(run_)->explained_iterations == 3, patient_ms);
        }
        SQLite::Database other{file_.string(), SQLite::OPEN_READWRITE, 10'000};
        other.exec("BEGIN IMMEDIATE");
        QElapsedTimer clock;
        clock.start();
        one.set_note(run_, "written once the lock is gone");
        one.send(run_, "pause");
        QVERIFY2(clock.elapsed() < 2000, "who writes does not wait");
        other.exec("ROLLBACK");
        QTRY_VERIFY_WITH_TIMEOUT(two.run(run_)->note == "written once the lock is gone", patient_ms);
        QTRY_VERIFY_WITH_TIMEOUT(two.run(run_)->paused, patient_ms);
        record(1);
        for (auto* feed : {&one, &two})
            QTRY_COMPARE_WITH_TIMEOUT(feed->data(run_)->explained_iterations, 4, patient_ms);
        QSignalSpy refused(&one, &RunFeed::refused);
        recorder_->finish(run_, RunState::finished, {.iterations_done = 4}, "{}");
        one.send(run_, "pause");
        QTRY_COMPARE_WITH_TIMEOUT(refused.count(), 1, patient_ms);
        QVERIFY(refused[0][0].toString().contains("takes no commands"));
    }

    void a_table_lists_the_spans_of_a_lane() {
        const auto& lanes = planned_->lanes;
        SpanTable table;
        QCOMPARE(table.rowCount(), 0);
        int lane = 0;
        while (lanes->work_count(lane) == 0) ++lane;
        table.show_lane(lanes, lane);
        std::size_t work = 0;
        double until_s = 0, waited_s = 0;
        for (int row = 0; row < table.rowCount(); ++row) {
            const LaneSpan* span = table.span(row);
            const LaneGap* wait = table.gap(row);
            QVERIFY((span != nullptr) != (wait != nullptr));
            const double start_s = span != nullptr ? span->start_s : wait->start_s;
            QVERIFY2(start_s >= until_s, "in the order of time, nothing twice");
            until_s = span != nullptr ? span->end_s : wait->end_s;
            QCOMPARE(table.row_at(start_s), row);
            const auto words = [&](int column) { return table.data(table.index(row, column), Qt::DisplayRole); };
            if (span != nullptr) {
                QCOMPARE(span, &lanes->work(lane, work++));
                QCOMPARE(words(0).toInt(), 1);
                QVERIFY(words(1).toString().endsWith(QString(" %1").arg(span->microbatch)));
            } else {
                QCOMPARE(words(1).toString(), "waits: " + short_cause_words(wait->cause));
                waited_s += wait->end_s - wait->start_s;
            }
        }
        QCOMPARE(work, lanes->work_count(lane));
        const auto all = lanes->statistics({lane}, 0, lanes->extent_s());
        QVERIFY(std::abs(all.seconds - all.busy_s - waited_s) < 1e-6);
        QVERIFY(waited_s > 0);
        QCOMPARE(table.row_at(0), 0);
        QCOMPARE(table.row_at(1e9), table.rowCount() - 1);
        QVERIFY(!table.headerData(3, Qt::Horizontal, Qt::DisplayRole).toString().isEmpty());
        QVERIFY(table.span(table.rowCount()) == nullptr && table.span(-1) == nullptr);
        for (int column = 0; column < table.columnCount(); ++column)  // heads stand over their figures
            QCOMPARE(table.headerData(column, Qt::Horizontal, Qt::TextAlignmentRole).toInt() & Qt::AlignRight,
                     table.data(table.index(0, column), Qt::TextAlignmentRole).toInt() & Qt::AlignRight);
        table.show_lane(lanes, 9999);
        QCOMPARE(table.rowCount(), 0);
    }

    /// Pieces of one wait are a row; draining and the next iteration's filling are two.
    void a_wait_in_pieces_is_one_row() {
        const auto data = std::make_shared<TimelineData>();
        data->set_lanes({"a"});
        const auto wait = [&](IdleCause cause, double start_s, double end_s) {
            data->add(IdleGap{.node = NodeIndex(0), .cause = cause, .start_s = start_s, .end_s = end_s}, 0);
        };
        wait(IdleCause::gradient, 0, 1);
        wait(IdleCause::gradient, 1, 2);
        data->add(Span{SpanKind::forward, NodeIndex(0), -1, StageIndex(0), MicrobatchIndex(1), 2, 2, 3, 0}, 0, 0, 1);
        wait(IdleCause::fill_drain, 3, 10);
        wait(IdleCause::fill_drain, 10, 12);
        data->set_iterations({{0, 10, 10}, {1, 20, 10}});
        data->finish();
        SpanTable table;
        table.show_lane(data, 0);
        QStringList rows;
        for (int row = 0; row < table.rowCount(); ++row)
            rows << plain(table.data(table.index(row, 1), Qt::DisplayRole).toString() + ' ' +
                          table.data(table.index(row, 3), Qt::DisplayRole).toString());
        QCOMPARE(rows, QStringList({"waits: gradient 2.00 s", "forward 1 1.00 s", "waits: fill/drain 7.00 s",
                                    "waits: fill/drain 2.00 s"}));
    }

    /// Starts are told as the ruler counts, in few letters.
    void a_table_counts_as_the_ruler() {
        const auto data = std::make_shared<TimelineData>();
        data->set_lanes({"a"});
        std::int64_t row = 0;
        for (const double start_s : {30.25, 190.05, 3790.05})
            data->add(Span{SpanKind::forward, NodeIndex(0), -1, StageIndex(0), MicrobatchIndex(1), start_s, start_s,
                           start_s + 5, 0},
                      0, 0, row++);
        data->set_iterations({{0, 4000, 3900}});
        data->finish();
        SpanTable table;
        table.show_lane(data, 0);
        QStringList starts;
        for (int r = 0; r < table.rowCount(); ++r)
            starts << plain(table.data(table.index(r, 2), Qt::DisplayRole).toString());
        QCOMPARE(starts, QStringList({"30 s", "3:10.05", "1:03:10.05"}));
        const QString tip = plain(table.data(table.index(1, 2), Qt::ToolTipRole).toString());
        QVERIFY2(tip.endsWith("after its iteration's start"), qPrintable(tip));
    }

    /// The longest words are among the last iteration's, and not in its last row.
    void columns_of_a_long_run_are_wide_enough() {
        const auto data = std::make_shared<TimelineData>();
        data->set_lanes({"a"});
        std::vector<IterationTime> iterations;
        std::int64_t row = 0;
        for (int i = 0; i < 20; ++i) {
            iterations.push_back({i, i + 1.0, 1});
            for (const double start_s : {0.0, 0.0775, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9})
                data->add(Span{SpanKind::forward, NodeIndex(0), -1, StageIndex(0), MicrobatchIndex(1), start_s, start_s,
                               start_s + 0.05, 0},
                          i, i, row++);
        }
        data->set_iterations(std::move(iterations));
        data->finish();
        SpanTable table;
        SpanView view(table);
        view.resize(100, 300);
        view.show();
        table.show_lane(data, 0);
        QCOMPARE(table.rowCount(), 200);  // no wait is recorded
        for (int r = 0; r < table.rowCount(); ++r) {
            const auto words = table.data(table.index(r, 2), Qt::DisplayRole).toString();
            QVERIFY2(view.columnWidth(2) >= view.fontMetrics().horizontalAdvance(words) + 8, qPrintable(words));
        }
    }
};

QTEST_MAIN(TestRunLoader)
#include "test_run_loader.moc"
