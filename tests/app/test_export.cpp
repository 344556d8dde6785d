// SPDX-License-Identifier: GPL-3.0-or-later
// `skippipe export` and `report` of runs whose plan changed and of which only some iterations have spans.
#include "tests/app/launched.h"

#include <QRegularExpression>
#include <QSet>

using namespace launched;
using skippipe::RunId;

namespace {

using Stages = std::vector<std::vector<QString>>;

/// Node c stands in no stage of the first plan, node d in none of the second one, and only b stays where it was.
const Stages before{{"a", "d"}, {"b"}, {"e"}}, after{{"e", "c"}, {"b"}, {"a"}};
const QStringList names{"a", "b", "c", "d", "e"};
constexpr int changed_in = 2, iterations = 4;

std::string plan_text(const Stages& stages) {
    QJsonArray lists, path;
    for (const auto& stage : stages) {
        QJsonArray nodes;
        for (const auto& node : stage) nodes.append(node);
        lists.append(nodes);
        path.append(stage.front());
    }
    QJsonArray paths;
    for (int m = 0; m < 4; ++m) paths.append(QJsonObject{{"microbatch", m}, {"nodes", path}});
    const QJsonObject plan{
        {"format", 1},           {"planner", "gpipe"},      {"seed", 0},       {"steps", 0},
        {"experiment_hash", ""}, {"split_backward", false}, {"stages", lists}, {"blocks", QJsonArray{1, 1, 1}},
        {"paths", paths}};
    return QJsonDocument(plan).toJson().toStdString();
}

/// A forward on every node that has a stage, and one message from the first to the second.
std::vector<skippipe::Span> spans_of(const Stages& stages) {
    std::vector<skippipe::Span> spans;
    for (std::size_t stage = 0; stage < stages.size(); ++stage)
        for (const auto& node : stages[stage]) {
            auto& span = spans.emplace_back();
            span.kind = skippipe::SpanKind::forward;
            span.node = skippipe::NodeIndex(static_cast<int>(names.indexOf(node)));
            span.stage = skippipe::StageIndex(static_cast<int>(stage));
            span.microbatch = skippipe::MicrobatchIndex(0);
            span.ready_s = span.start_s = static_cast<double>(2 * stage);
            span.end_s = span.start_s + 1;
        }
    auto message = spans.front();
    message.kind = skippipe::SpanKind::transfer_forward;
    message.to_node = skippipe::NodeIndex(static_cast<int>(names.indexOf(stages[1].front())));
    message.ready_s = message.start_s = 1;
    message.end_s = 2;
    spans.push_back(message);
    return spans;
}

/// "a0 b1 d0 e2": the labelled lanes of a timeline, with the stage beside each.
QString lanes_of(const QByteArray& svg) {
    static const QRegularExpression lane("text-anchor=\"end\">([a-e])</text>\n<rect[^\n]*\n<text[^\n]*>([0-9])</text>");
    QStringList found;
    for (auto each = lane.globalMatch(QString::fromUtf8(svg)); each.hasNext();) {
        const auto one = each.next();
        found << one.captured(1) + one.captured(2);
    }
    found.sort();
    return found.join(' ');
}

}  // namespace

class TestExportVerb : public QObject {
    Q_OBJECT
    Scene scene_;

    /// A run that has spans from iteration `first` on.
    RunId record(int first) const {
        QFile in(QStringLiteral(SKIPPIPE_SOURCE_DIR "/tests/data/tiny-training.json"));
        if (!in.open(QIODevice::ReadOnly)) return 0;
        skippipe::Recorder recorder(scene_.record().toStdString());
        const RunId run = recorder.begin({.name = "churn",
                                          .planner = "gpipe",
                                          .experiment_json = in.readAll().toStdString(),
                                          .plan_json = plan_text(before),
                                          .seed = 5,
                                          .iterations = iterations});
        for (int i = 0; i < iterations; ++i) {
            if (i == changed_in) recorder.plan(run, i, plan_text(after), "d was lost");
            recorder.metric(run, {.iteration = i, .name = "loss", .value = 3.0 - i});
            if (i >= first) recorder.spans(run, i, 10 * i, spans_of(i < changed_in ? before : after));
            recorder.iteration_done(run, i + 1, i);
        }
        recorder.finish(run, skippipe::RunState::finished, {.iterations_done = iterations}, "{}");
        return run;
    }

    QJsonArray trace_of(const QStringList& more) const {
        return QJsonDocument::fromJson(scene_.call(QStringList{"export", "1", "--format", "chrome-trace"} + more).text)
            .object()["traceEvents"]
            .toArray();
    }

private Q_SLOTS:
    void initTestCase() {
        QCOMPARE(record(0), RunId{1});
        QCOMPARE(record(3), RunId{2});
    }

    void a_timeline_is_drawn_by_the_plan_of_its_iteration() {
        const auto svg = [&](const char* iteration) {
            return lanes_of(scene_.call({"export", "1", "--format", "svg", "--iteration", iteration}).text);
        };
        QCOMPARE(svg("0"), QString("a0 b1 d0 e2"));
        QCOMPARE(svg("1"), QString("a0 b1 d0 e2"));
        QCOMPARE(svg("2"), QString("a2 b1 c0 e0"));
        QCOMPARE(svg("3"), QString("a2 b1 c0 e0"));
    }

    /// Of all iterations, and of one: what a node does stands in the process of the stage that it did it for, whose
    /// lanes have names.
    void a_trace_has_each_iteration_by_its_own_plan() {
        for (const auto& more : {QStringList{}, QStringList{"--iteration", "3"}}) {
            const auto events = trace_of(more);
            QSet<std::pair<int, int>> named;
            for (const auto& value : events)
                if (const auto event = value.toObject(); event["name"] == "thread_name")
                    named.insert({event["pid"].toInt(), event["tid"].toInt()});
            int boxes = 0, flows = 0;
            for (const auto& value : events) {
                const auto event = value.toObject();
                if (event["ph"] == "M") continue;
                QVERIFY(named.contains({event["pid"].toInt(), event["tid"].toInt()}));
                flows += event["ph"] == "s" || event["ph"] == "f";
                if (event["ph"] != "X") continue;
                ++boxes;
                QCOMPARE(event["pid"].toInt(), event["args"]["stage"].toInt());
            }
            QCOMPARE(boxes, more.isEmpty() ? 4 * iterations : 4);
            QCOMPARE(flows, more.isEmpty() ? 2 * iterations : 2);
        }
    }

    /// A run that keeps its newest spans, or a fork, has none of iteration 0.
    void the_first_iteration_that_has_spans_is_drawn() {
        const auto svg = scene_.call({"export", "2", "--format", "svg"});
        QVERIFY2(svg.code == 0 && svg.text.contains("iteration 3"), svg.text);
        QCOMPARE(lanes_of(svg.text), QString("a2 b1 c0 e0"));
        const auto none = scene_.call({"export", "2", "--format", "svg", "--iteration", "0"});
        QCOMPARE(none.code, 2);
        QVERIFY2(none.text.contains("no spans in iteration 0"), none.text);
        QVERIFY(scene_.call({"export", "1", "--format", "svg"}).text.contains("iteration 0"));
    }

    void a_report_draws_what_there_is() {
        const auto page = scene_.path(QStringLiteral("page.html"));
        const auto told = scene_.call({"report", "1", "2", "-o", page});
        QVERIFY2(told.code == 0, told.text);
        QFile file(page);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const auto text = QString::fromUtf8(file.readAll());
        const auto second = text.indexOf("churn: run 2, iteration 4");
        QVERIFY2(second > 0, "run 2 has a timeline");
        QCOMPARE(lanes_of(text.left(second).toUtf8()), QString("a0 b1 d0 e2"));
        QCOMPARE(lanes_of(text.mid(second).toUtf8()), QString("a2 b1 c0 e0"));
    }

    void metrics_are_of_the_iteration_that_is_asked_for() {
        const QStringList metrics{"export", "1", "--what", "metrics"};
        QCOMPARE(scene_.call(metrics).text.trimmed().count('\n'), iterations);
        const auto one = scene_.call(metrics + QStringList{"--iteration", "3"}).text.trimmed();
        QVERIFY2(one.count('\n') == 1 && one.contains("\n3,loss,0,"), one);
        QCOMPARE(scene_.call(metrics + QStringList{"--iteration", "9"}).code, 2);
        QCOMPARE(scene_.call(metrics + QStringList{"--format", "svg"}).code, 2);
        QCOMPARE(scene_.call({"export", "1", "--format", "plan", "--iteration", "3"}).code, 2);
    }
};

QTEST_GUILESS_MAIN(TestExportVerb)
#include "test_export.moc"
