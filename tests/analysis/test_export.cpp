// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QtTest>
#include <QXmlStreamReader>
#include <cmath>
#include <set>
#include <sstream>

#include <nlohmann/json.hpp>

#include "core/analysis/export.h"
#include "core/analysis/palette.h"
#include "core/planner/timeline/evaluator.h"
#include "tests/planner/examples.h"

using namespace skippipe;
using Json = nlohmann::ordered_json;

namespace {

std::vector<RecordedSpan> recorded(const examples::Example& example, int iteration = 0, double offset_s = 0) {
    std::vector<RecordedSpan> spans;
    for (const auto& span : evaluate(example.problem, example.plan).spans)
        spans.push_back({static_cast<std::int64_t>(spans.size()) + 1, iteration, offset_s, span});
    return spans;
}

/// Compares with tests/data/NAME; with SKIPPIPE_WRITE_GOLDEN set, writes it instead.
void compare_golden(const char* name, const std::string& text) {
    QFile file{QStringLiteral(SKIPPIPE_SOURCE_DIR "/tests/data/") + QLatin1String(name)};
    if (qEnvironmentVariableIsSet("SKIPPIPE_WRITE_GOLDEN")) {
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(text.data(), static_cast<qint64>(text.size()));
        return;
    }
    QVERIFY2(file.open(QIODevice::ReadOnly), name);
    const auto lines = QByteArray::fromStdString(text).split('\n'), expected = file.readAll().split('\n');
    for (qsizetype i = 0; i < std::min(lines.size(), expected.size()); ++i) QCOMPARE(lines[i], expected[i]);
    QCOMPARE(lines.size(), expected.size());
}

Json trace_of(const std::vector<RecordedSpan>& spans, const examples::Example& example) {
    std::ostringstream out;
    write_chrome_trace(out, spans, example.problem, example.plan, "a \"run\"");
    return Json::parse(out.str());
}

}  // namespace

class TestExport : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void spans_as_csv() {
        const auto example = examples::all_reduce();
        std::ostringstream out;
        write_spans_csv(out, recorded(example, 3, 43.5), example.problem);
        compare_golden("export-spans.csv", out.str());
    }

    void csv_fields_are_quoted_and_exact() {
        auto example = examples::collision();
        example.problem.node_ids = {"a,\"b\"", "line\nbreak"};
        std::ostringstream out;
        write_spans_csv(out, {{1, 0, 0, {SpanKind::transfer_forward, 0, 1, 0, 4, 0.1, 1.0 / 3, 2, 1e9}}},
                        example.problem);
        QCOMPARE(out.str().substr(out.str().find('\n') + 1),
                 std::string{
                     "0,0,transfer-forward,\"a,\"\"b\"\"\",\"line\nbreak\",0,4,0.1,0.3333333333333333,2,1000000000\n"});
    }

    void metrics_as_csv() {
        std::ostringstream out;
        write_metrics_csv(out, {{1, 2, "loss", 5.25, 10, 0.5, 1024}, {2, 3, "loss", std::nan(""), 20, 1, 2048}});
        QCOMPARE(out.str(),
                 std::string{
                     "iteration,name,value,network_s,machine_s,tokens\n2,loss,5.25,10,0.5,1024\n3,loss,,20,1,2048\n"});
    }

    void trace_golden() {
        const auto example = examples::collision();
        std::ostringstream out;
        write_chrome_trace(out, recorded(example), example.problem, example.plan, "collision");
        compare_golden("export-trace.json", out.str());
    }

    void trace_has_what_viewers_ask() {
        const auto example = examples::all_reduce();
        const auto spans = recorded(example, 1, 100);
        const auto trace = trace_of(spans, example);
        std::map<std::string, int> phases;
        std::map<std::pair<int, int>, std::vector<std::pair<double, double>>> boxes;
        for (const auto& event : trace["traceEvents"]) {
            ++phases[event["ph"]];
            if (event["ph"] == "X")
                boxes[{event["pid"], event["tid"]}].push_back(
                    {event["ts"], event["ts"].get<double>() + event["dur"].get<double>()});
        }
        const auto transfers =
            std::count_if(spans.begin(), spans.end(), [](const RecordedSpan& s) { return is_transfer(s.span.kind); });
        QVERIFY(transfers > 0);
        for (const char* phase : {"b", "e", "s", "f"}) QCOMPARE(phases[phase], static_cast<int>(transfers));
        QCOMPARE(phases["X"], static_cast<int>(static_cast<std::ptrdiff_t>(spans.size()) - transfers));
        for (const auto& event : trace["traceEvents"]) {
            if (event["ph"] != "s" && event["ph"] != "f") continue;
            const auto& lane = boxes[{event["pid"], event["tid"]}];
            const double ts = event["ts"];
            QVERIFY(ts >= 100e6);
            QVERIFY2(
                std::any_of(lane.begin(), lane.end(), [&](const auto& b) { return b.first <= ts && ts < b.second; }),
                event.dump().c_str());
        }
    }

    void hostile_names_stay_text() {
        auto example = examples::collision();
        example.problem.node_ids = {"<script>&\"'", "bad \xFF\x01 utf"};
        const auto spans = recorded(example);
        QVERIFY(trace_of(spans, example).is_object());
        const auto svg = timeline_svg(spans, example.problem, example.plan, {.title = "]]> <b>"});
        QVERIFY(svg.find("<script>") == std::string::npos);
        QVERIFY(svg.find("<b>") == std::string::npos);
    }

    void svg_golden() {
        const auto example = examples::collision();
        compare_golden("export-timeline.svg", timeline_svg(recorded(example), example.problem, example.plan,
                                                           {.title = "Collision", .width_px = 640}));
    }

    void svg_is_well_formed_and_stands_alone() {
        for (const auto& example : examples::all()) {
            const auto svg = timeline_svg(recorded(example), example.problem, example.plan);
            QXmlStreamReader reader{QByteArray::fromStdString(svg)};
            while (!reader.atEnd()) reader.readNext();
            QVERIFY2(!reader.hasError(), qPrintable(reader.errorString()));
            auto rest = svg;
            rest.erase(rest.find("http://www.w3.org/2000/svg"), 26);
            QVERIFY(rest.find("http") == std::string::npos);
        }
        const auto empty = timeline_svg({}, {}, {});
        QVERIFY(empty.find("</svg>") != std::string::npos);
        QVERIFY(empty.find("nan") == std::string::npos);
    }

    void colours_differ() {
        const std::set<std::string_view> colours(palette::stages_light.begin(), palette::stages_light.end());
        QCOMPARE(colours.size(), palette::stages_light.size());
    }
};

QTEST_APPLESS_MAIN(TestExport)
#include "test_export.moc"
