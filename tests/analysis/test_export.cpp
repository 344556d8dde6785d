// SPDX-License-Identifier: GPL-3.0-or-later
#include <QFile>
#include <QtTest>
#include <QXmlStreamReader>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <sstream>

#include <fmt/format.h>
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
    write_chrome_trace(out, spans, example.problem, {{0, example.plan}}, "a \"run\"");
    return Json::parse(out.str());
}

/// Reads a trace as the format's document and Perfetto's importer do, and says what they would refuse or drop.
class TraceReader {
public:
    explicit TraceReader(const Json& trace) {
        for (const auto& event : trace["traceEvents"]) take(event);
        for (auto& [track, slices] : slices_) check_nesting(slices);
        for (const auto& [id, began] : open_) fault("an asynchronous event without its end: " + id);
        for (const auto& [id, ends] : flows_) check_flow(id, ends);
        for (const auto& [pid, tid] : used_) {
            if (!named_processes_.contains(pid)) fault(fmt::format("process {} has no name", pid));
            if (!named_threads_.contains({pid, tid})) fault(fmt::format("thread {} of {} has no name", tid, pid));
        }
    }
    const std::vector<std::string>& faults() const { return faults_; }
    std::size_t slices() const { return count_; }
    std::size_t bound_flows() const { return bound_; }

private:
    using Track = std::pair<int, int>;  // process, thread
    struct End {
        Track track;
        double ts = 0;
        bool is_start = false;
    };

    void fault(const std::string& what) { faults_.push_back(what); }

    void take(const Json& event) {
        const std::string phase = event.at("ph");
        const Track track{event.at("pid"), event.at("tid")};
        if (phase == "M") {
            if (event.at("name") == "process_name") named_processes_.insert(track.first);
            if (event.at("name") == "thread_name") named_threads_.insert(track);
            return;
        }
        used_.insert(track);
        const double ts = event.at("ts");
        if (!std::isfinite(ts) || ts < 0) fault("a time that is none");
        if (phase == "X") {
            const double duration = event.at("dur");
            if (!(duration >= 0)) fault("a slice that ends before it begins");
            slices_[track].push_back({ts, ts + duration});
            ++count_;
        } else if (phase == "b" || phase == "e") {
            const auto id = event.at("cat").get<std::string>() + event.at("id").get<std::string>() +
                            event.at("name").get<std::string>();
            if (phase == "b" && !open_.try_emplace(id, ts).second) fault("begun twice: " + id);
            if (phase == "e" && (!open_.contains(id) || open_[id] > ts)) fault("ended before it began: " + id);
            if (phase == "e") open_.erase(id);
        } else if (phase == "s" || phase == "f") {
            if (phase == "f" && event.value("bp", "") != "e") fault("a flow that ends at the next slice");
            flows_[event.at("cat").get<std::string>() + event.at("name").get<std::string>() +
                   event.at("id").get<std::string>()]
                .push_back({track, ts, phase == "s"});
        } else {
            fault("an event of an unknown kind: " + phase);
        }
    }

    /// Slices of a track lie apart or one within another; a nanosecond is what their numbers leave out.
    void check_nesting(std::vector<std::pair<double, double>>& slices) {
        std::sort(slices.begin(), slices.end(), [](const auto& a, const auto& b) {
            return std::pair{a.first, -a.second} < std::pair{b.first, -b.second};
        });
        std::vector<double> ends;
        for (const auto& [begin, end] : slices) {
            while (!ends.empty() && ends.back() <= begin + 1e-3) ends.pop_back();
            if (!ends.empty() && end > ends.back() + 1e-3) fault("slices of a track overlap");
            ends.push_back(end);
        }
    }

    void check_flow(const std::string& id, const std::vector<End>& ends) {
        if (ends.size() != 2 || !ends[0].is_start || ends[1].is_start) return fault("a flow without both ends: " + id);
        if (ends[0].ts > ends[1].ts) fault("a flow back in time: " + id);
        for (const auto& end : ends) {
            const auto& slices = slices_[end.track];
            if (std::none_of(slices.begin(), slices.end(),
                             [&](const auto& slice) { return slice.first <= end.ts && end.ts <= slice.second; }))
                fault("a flow that binds to no slice: " + id);
        }
        ++bound_;
    }

    std::map<Track, std::vector<std::pair<double, double>>> slices_;
    std::map<std::string, double> open_;
    std::map<std::string, std::vector<End>> flows_;
    std::set<int> named_processes_;
    std::set<Track> named_threads_, used_;
    std::vector<std::string> faults_;
    std::size_t count_ = 0, bound_ = 0;
};

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
        write_chrome_trace(out, recorded(example), example.problem, {{0, example.plan}}, "collision");
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

    /// Of all examples, two iterations each, one of them with a node that stands in no stage and is away.
    void a_reader_takes_every_trace() {
        for (auto& example : examples::all()) {
            auto spans = recorded(example);
            const auto first = spans.size();
            const double length = 1 + spans.back().span.end_s;
            const auto more = recorded(example, 1, 100 * length);
            spans.insert(spans.end(), more.begin(), more.end());
            example.problem.node_ids.push_back("spare");
            const int spare = static_cast<int>(example.problem.node_ids.size()) - 1;
            spans.push_back({static_cast<std::int64_t>(2 * first) + 1,
                             1,
                             100 * length,
                             {SpanKind::down, NodeIndex(spare), -1, -1, -1, 0, 0, length, 0}});
            const TraceReader reader(trace_of(spans, example));
            QVERIFY2(reader.faults().empty(), reader.faults().empty() ? "" : reader.faults().front().c_str());
            const auto transfers =
                std::count_if(spans.begin(), spans.end(), [](const auto& s) { return is_transfer(s.span.kind); });
            QCOMPARE(reader.slices(), spans.size() - static_cast<std::size_t>(transfers));
            // In a deadlock some arrive for work that never begins.
            if (example.complete) QCOMPARE(reader.bound_flows(), static_cast<std::size_t>(transfers));
        }
    }

    /// What the reader is there for: each fault in a trace is told.
    void a_reader_refuses_what_is_wrong() {
        const auto example = examples::collision();
        const auto whole = trace_of(recorded(example), example);
        const auto broken = [&](const char* phase, const std::function<void(Json&)>& change) {
            auto trace = whole;
            for (auto& event : trace["traceEvents"])
                if (event["ph"] == phase) {
                    change(event);
                    break;
                }
            return !TraceReader(trace).faults().empty();
        };
        QVERIFY(TraceReader(whole).faults().empty());
        QVERIFY(broken("e", [](Json& event) { event["id"] = "none"; }));
        QVERIFY(broken("X", [](Json& event) { event["dur"] = event["dur"].get<double>() * 1.5; }));
        QVERIFY(broken("X", [](Json& event) { event["pid"] = 77; }));
        QVERIFY(broken("f", [](Json& event) { event["ts"] = event["ts"].get<double>() + 1e12; }));
        QVERIFY(broken("f", [](Json& event) { event.erase("bp"); }));
        QVERIFY(broken("s", [](Json& event) { event["ph"] = "t"; }));
        QVERIFY(broken("M", [](Json& event) { event["name"] = "something"; }));
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
