// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QtTest>
#include <cmath>
#include <fstream>

#include "core/base/fault.h"
#include "core/record/record.h"

using namespace skippipe;

namespace {

constexpr int patient_ms = 60'000;
constexpr std::chrono::milliseconds patient{patient_ms};

RunStart start_of(const std::string& name) {
    RunStart start;
    start.name = name;
    start.planner = "skippipe-joint";
    start.experiment_json = R"({"name": "x"})";
    start.plan_json = R"({"paths": []})";
    start.versions_json = R"({"skippipe": "0.1.0"})";
    start.machine_json = R"({"cores": 2})";
    start.seed = 0xFFFF'FFFF'FFFF'FFFFULL;
    start.iterations = 20;
    start.predicted_iteration_s = 66.5;
    return start;
}

Span span_at(double start_s, MicrobatchIndex microbatch) {
    return {SpanKind::backward, 3, -1, 2, microbatch, start_s - 0.5, start_s, start_s + 1.25, 0};
}

Metric loss(int iteration, double value) {
    return {0, iteration, "loss", value, 10.0 * iteration, 1.5 * iteration, 1000 * iteration};
}

std::string remedy_of(const std::function<void()>& work) {
    try {
        work();
    } catch (const InputError& error) {
        return error.faults().front().remedy;
    }
    return {};
}

}  // namespace

class TestRecord : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    int files_ = 0;
    std::filesystem::path fresh() { return folder_.filePath(QStringLiteral("r%1.sqlite").arg(++files_)).toStdString(); }

private Q_SLOTS:
    /// What was trained with: 0 where microbatches visit every stage, whatever was asked for.
    void the_skip_ratio_is_that_of_the_plan() {
        const auto file = fresh();
        Recorder recorder{file};
        auto start = start_of("skips");
        start.experiment_json = R"({"pipeline": {"skip_ratio": 0.25}})";
        start.plan_json = R"({"stages": [["a"], ["b"], ["c"]], "paths": [{"nodes": ["a", "c"]}]})";
        const RunId skips = recorder.begin(start);
        start.plan_json = R"({"stages": [["a"], ["b"]], "paths": [{"nodes": ["a", "b"]}]})";
        const RunId full = recorder.begin(start);
        start.plan_json = "no JSON";
        const RunId unknown = recorder.begin(start);
        QVERIFY(recorder.flush(patient));
        Reader reader{file};
        QCOMPARE(reader.run(skips)->skip_ratio, std::optional{0.25});
        QCOMPARE(reader.run(full)->skip_ratio, std::optional{0.0});
        QCOMPARE(reader.run(unknown)->skip_ratio, std::optional<double>{});
    }

    void what_is_written_is_read() {
        const auto file = fresh();
        Recorder recorder{file};
        const RunId id = recorder.begin(start_of("first"));
        recorder.spans(id, 0, 0, {span_at(1, 0), span_at(3, 1)});
        recorder.spans(id, 1, 50, {span_at(2, 0)});
        recorder.spans(id, 0, 0, {span_at(4, 2)});  // back to an earlier iteration, as after a restart
        recorder.metric(id, loss(1, 5.5));
        recorder.metric(id, loss(2, std::nan("")));
        recorder.iteration_done(id, 2, 7.5);
        QVERIFY(recorder.flush(patient));

        Reader reader{file};
        const auto run = reader.run(id);
        QVERIFY(run);
        QCOMPARE(run->state, RunState::running);
        QCOMPARE(run->seed, 0xFFFF'FFFF'FFFF'FFFFULL);
        QCOMPARE(run->iterations_done, 2);
        QCOMPARE(run->machine_s, 7.5);
        QCOMPARE(run->predicted_iteration_s, 66.5);
        QVERIFY(!run->iteration_s);
        QCOMPARE(reader.experiment_json(id), std::string{R"({"name": "x"})"});
        QCOMPARE(reader.plan_json(id), std::string{R"({"paths": []})"});
        QVERIFY(reader.plan_changes(id).empty());
        recorder.plan(id, 3, R"({"paths": [3]})", "n5 takes 2 x as long");
        recorder.plan(id, 7, R"({"paths": [7]})", "n5 is 2 x as fast");
        QVERIFY(recorder.flush(patient));
        QCOMPARE(reader.plan_changes(id).size(), std::size_t{2});
        QCOMPARE(reader.plan_changes(id).back().iteration, 7);
        QCOMPARE(reader.plan_changes(id).front().why, std::string{"n5 takes 2 x as long"});
        for (const auto& [iteration, paths] :
             {std::pair{0, "[]"}, {2, "[]"}, {3, "[3]"}, {6, "[3]"}, {7, "[7]"}, {99, "[7]"}})
            QCOMPARE(reader.plan_json(id, iteration), std::string{R"({"paths": )"} + paths + "}");
        QCOMPARE(reader.machine_json(id), std::string{R"({"cores": 2})"});
        QCOMPARE(reader.versions_json(id), std::string{R"({"skippipe": "0.1.0"})"});
        QCOMPARE(reader.summary_json(id), std::string{});

        const auto spans = reader.spans(id);
        QCOMPARE(spans.size(), std::size_t{4});
        QVERIFY(spans[1].span == span_at(3, 1));
        QCOMPARE(spans[2].offset_s, 50.0);
        QCOMPARE(reader.spans(id, 1).size(), std::size_t{1});
        QCOMPARE(reader.spans(id, 0).size(), std::size_t{3});
        QCOMPARE(reader.spans(id, 7).size(), std::size_t{0});
        QCOMPARE(reader.spans(id, -1, spans[1].row).size(), std::size_t{2});
        QCOMPARE(reader.spans(id, -1, 0, 3).size(), std::size_t{3});
        const auto metrics = reader.metrics(id);
        QCOMPARE(metrics.size(), std::size_t{2});
        QCOMPARE(metrics[0].value, 5.5);
        QCOMPARE(metrics[0].tokens, std::int64_t{1000});
        QVERIFY(std::isnan(metrics[1].value));
        QCOMPARE(reader.metrics(id, metrics[0].row).size(), std::size_t{1});
    }

    /// Spans of every kind come back as they were.
    void every_kind_of_span() {
        std::vector<Span> spans;
        for (int kind = 0; kind <= static_cast<int>(last_span_kind); ++kind) {
            const auto of = static_cast<SpanKind>(kind);
            const bool on_line = is_on_line(of), of_microbatch = is_compute(of) || is_transfer(of);
            spans.push_back({of, 3, NodeIndex(on_line ? 4 : -1), 2, MicrobatchIndex(of_microbatch ? 1 : -1), 0.5, 1,
                             2.25, on_line ? 1.5e6 : 0});
        }
        const auto file = fresh();
        Recorder recorder{file};
        const RunId id = recorder.begin(start_of("kinds"));
        recorder.spans(id, 0, 0, spans);
        QVERIFY(recorder.flush(patient));
        std::vector<Span> read;
        for (const auto& row : Reader{file}.spans(id)) read.push_back(row.span);
        QVERIFY(read == spans);
        QCOMPARE(std::string(to_string(read.back().kind)), std::string("transfer-reduction"));
    }

    /// Many go into one statement: none is lost, none is another iteration's, wherever a statement is full.
    void spans_by_statements() {
        const auto file = fresh();
        Recorder recorder{file};
        const RunId id = recorder.begin(start_of("many"));
        std::vector<Span> all;
        const std::vector<int> counts{1, 15, 16, 17, 31, 32, 33};
        for (int iteration = 0; iteration < std::ssize(counts); ++iteration) {
            std::vector<Span> spans;
            for (int k = 0; k < counts[static_cast<std::size_t>(iteration)]; ++k)
                spans.push_back(span_at(iteration + 0.01 * k, MicrobatchIndex(k)));
            recorder.spans(id, iteration, 100.0 * iteration, spans);
            all.insert(all.end(), spans.begin(), spans.end());
        }
        QVERIFY(recorder.flush(patient));
        Reader reader{file};
        const auto read = reader.spans(id);
        QCOMPARE(read.size(), all.size());
        for (std::size_t k = 0; k < all.size(); ++k) {
            QVERIFY2(read[k].span == all[k], std::to_string(k).c_str());
            QVERIFY(k == 0 || read[k].row == read[k - 1].row + 1);
            QCOMPARE(read[k].offset_s, 100.0 * std::floor(read[k].span.start_s));
        }
        for (int iteration = 0; iteration < std::ssize(counts); ++iteration)
            QCOMPARE(static_cast<int>(reader.spans(id, iteration).size()), counts[static_cast<std::size_t>(iteration)]);
    }

    void what_is_given_is_written_without_being_asked_for() {
        const auto file = fresh();
        Recorder recorder{file};
        const RunId id = recorder.begin(start_of("first"));
        Reader reader{file};
        recorder.spans(id, 0, 0, std::vector<Span>(1));  // by its age
        QTRY_COMPARE_WITH_TIMEOUT(reader.spans(id).size(), std::size_t{1}, patient_ms);
        recorder.spans(id, 0, 0, std::vector<Span>(1000));  // by its size
        QTRY_COMPARE_WITH_TIMEOUT(reader.spans(id).size(), std::size_t{1001}, patient_ms);
    }

    void finish_says_how_it_ended() {
        const auto file = fresh();
        Recorder recorder{file};
        const RunId first = recorder.begin(start_of("first"));
        const RunId second = recorder.begin(start_of("second"));
        RunInfo summary;
        summary.iterations_done = 20;
        summary.iteration_s = 63.25;
        summary.first_validation_loss = 5.5;
        summary.last_validation_loss = 2.75;
        summary.machine_s = 12;
        recorder.spans(first, 0, 0, {span_at(1, 0)});
        recorder.finish(first, RunState::finished, summary, R"({"run": 1})");

        Reader reader{file};
        const auto runs = reader.runs();
        QCOMPARE(runs.size(), std::size_t{2});
        QCOMPARE(runs[0].id, second);  // newest first
        QCOMPARE(runs[0].state, RunState::running);
        QCOMPARE(runs[1].state, RunState::finished);
        QCOMPARE(*runs[1].iteration_s, 63.25);
        QCOMPARE(*runs[1].last_validation_loss, 2.75);
        QVERIFY(!runs[1].tokens_per_second);
        QVERIFY(!runs[1].finished_utc.empty());
        QCOMPARE(reader.summary_json(first), std::string{R"({"run": 1})"});
        QCOMPARE(reader.spans(first).size(), std::size_t{1});
    }

    void a_recorder_that_goes_away_leaves_no_living_run() {
        const auto file = fresh();
        { Recorder{file}.begin(start_of("left")); }
        Reader reader{file};
        QCOMPARE(reader.runs().front().state, RunState::died);
        QVERIFY(!reader.runs().front().error.empty());
    }

    void commands_are_taken_once() {
        const auto file = fresh();
        Recorder recorder{file};
        const RunId id = recorder.begin(start_of("first"));
        const RunId other = recorder.begin(start_of("other"));
        Reader reader{file};
        reader.send_command(id, "pause");
        reader.send_command(id, "stop", R"({"why": "enough"})");
        QVERIFY(recorder.flush(patient));
        const auto commands = recorder.take_commands(id);
        QCOMPARE(commands.size(), std::size_t{2});
        QCOMPARE(commands[0].kind, std::string{"pause"});
        QCOMPARE(commands[0].payload_json, std::string{"{}"});
        QCOMPARE(commands[1].payload_json, std::string{R"({"why": "enough"})"});
        QVERIFY(recorder.flush(patient));
        QVERIFY(recorder.take_commands(id).empty());
        QVERIFY(recorder.take_commands(other).empty());
        recorder.finish(id, RunState::stopped, {}, "{}");
        QVERIFY(!remedy_of([&] { reader.send_command(id, "stop"); }).empty());
        QVERIFY(!remedy_of([&] { reader.send_command(99, "stop"); }).empty());
    }

    void tags_and_notes() {
        const auto file = fresh();
        Recorder recorder{file};
        const RunId id = recorder.begin(start_of("first"));
        Reader reader{file};
        reader.set_tags(id, {"slow", "baseline", "slow", ""});
        reader.set_note(id, "one");
        reader.set_note(id, "two \xE2\x80\x94 'quoted'");
        const auto run = *reader.run(id);
        QCOMPARE(run.tags, (std::vector<std::string>{"baseline", "slow"}));
        QCOMPARE(run.note, std::string{"two \xE2\x80\x94 'quoted'"});
        reader.set_tags(id, {});
        QVERIFY(reader.run(id)->tags.empty());
        QVERIFY(!remedy_of([&] { reader.set_tags(77, {"x"}); }).empty());
        QVERIFY(!remedy_of([&] { reader.set_note(77, "x"); }).empty());
    }

    void removing_takes_everything_along() {
        const auto file = fresh();
        Recorder recorder{file};
        const RunId id = recorder.begin(start_of("first"));
        const RunId kept = recorder.begin(start_of("kept"));
        recorder.spans(id, 0, 0, {span_at(1, 0)});
        recorder.spans(kept, 0, 0, {span_at(1, 0)});
        recorder.metric(id, loss(1, 2));
        Reader reader{file};
        reader.set_tags(id, {"a"});
        QVERIFY(!remedy_of([&] { reader.remove(id); }).empty());  // it is running
        recorder.finish(id, RunState::finished, {}, "{}");
        reader.remove(id);
        QVERIFY(!reader.run(id));
        QVERIFY(reader.spans(id).empty());
        QVERIFY(reader.metrics(id).empty());
        QVERIFY(reader.experiment_json(id).empty());
        QVERIFY(recorder.flush(patient));
        QCOMPARE(reader.spans(kept).size(), std::size_t{1});
        const RunId next = recorder.begin(start_of("next"));
        QVERIFY2(next > kept, "numbers of removed runs are not given again");
    }

    void a_missing_file_is_an_empty_record() {
        const auto file = fresh();
        Reader reader{file};
        QVERIFY(reader.runs().empty());
        QVERIFY(!reader.run(1));
        QVERIFY(reader.spans(1).empty());
        QVERIFY(reader.metrics(1).empty());
        QCOMPARE(reader.sweep_dead(), 0);
        QVERIFY(!remedy_of([&] { reader.send_command(1, "stop"); }).empty());
        QVERIFY(!std::filesystem::exists(file));
        Recorder recorder{file};
        recorder.begin(start_of("later"));
        QCOMPARE(reader.runs().size(), std::size_t{1});  // the same reader sees the file appear
    }

    void a_replaced_file_is_followed() {
        const auto file = fresh(), other = fresh();
        { Recorder{file}.begin(start_of("old")); }
        { Recorder{other}.begin(start_of("new")); }
        Reader reader{file};
        QCOMPARE(reader.runs().front().name, std::string{"old"});
        std::filesystem::rename(other, file);
        QCOMPARE(reader.runs().front().name, std::string{"new"});
    }

    void the_folder_is_made() {
        qputenv("XDG_DATA_HOME", folder_.path().toUtf8());
        const auto path = default_record_path();
        QCOMPARE(path.string(), folder_.path().toStdString() + "/skippipe-studio/record.sqlite");
        Recorder recorder{path};
        QVERIFY(std::filesystem::exists(path));
        qputenv("XDG_DATA_HOME", "relative");
        QVERIFY(default_record_path().is_absolute());
        QVERIFY(default_record_path().string().find("relative") == std::string::npos);
    }
};

QTEST_APPLESS_MAIN(TestRecord)
#include "test_record.moc"
