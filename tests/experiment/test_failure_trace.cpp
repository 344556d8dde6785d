// SPDX-License-Identifier: GPL-3.0-or-later
// Traces of machines that went down and up: what is read from them, and what is refused, line by line.
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "core/experiment/failure_trace.h"
#include "core/experiment/io.h"
#include "tests/experiment/samples.h"

using namespace skippipe;

namespace {

Topology three_nodes() {
    Topology topology;
    for (const char* id : {"a", "b", "Berlin, 2nd"}) topology.nodes.push_back({.id = id});
    return topology;
}

struct Result {
    std::vector<Failure> failures;
    Faults faults;
};

Result parse(const std::string& csv) {
    Result result;
    result.failures = parse_failure_trace(csv, "trace.csv", three_nodes(), result.faults);
    return result;
}

}  // namespace

class TestFailureTrace : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void rows_become_crashes() {
        const auto read = parse(
            "\xEF\xBB\xBF# machines of a week\r\nnode,down_s,up_s\r\nb,10,70.5\r\n\r\n a , 5 ,\r\n"
            "\"Berlin, 2nd\",0,1e3\nb,70.5,80\nany,1,2\nany,1,9\nany-data-node,3,\n");
        QVERIFY2(read.faults.empty(), samples::listed(read.faults).c_str());
        QCOMPARE(read.failures.size(), std::size_t{7});
        QVERIFY(read.failures[0] == (Failure{.target = "b", .at_s = 10, .rejoin_after_s = 60.5}));
        QVERIFY(read.failures[1] == (Failure{.target = "a", .at_s = 5}));
        QVERIFY(read.failures[2] == (Failure{.target = "Berlin, 2nd", .at_s = 0, .rejoin_after_s = 1000}));
        QVERIFY2(read.failures[3].at_s == 70.5, "up and down again in one instant is no overlap");
        QCOMPARE(read.failures[6].target, any_data_node);
    }

    /// The one that comes with the program fits the experiment it is for.
    void the_bundled_trace() {
        const auto churn = load_experiment(samples::resources() / "experiments" / "churn.json").experiment;
        const auto trace =
            load_failure_trace(samples::resources() / "traces" / "spot-g4dn-us-east-1d.csv", churn.topology);
        QCOMPARE(trace.size(), std::size_t{25});
        QCOMPARE(std::count_if(trace.begin(), trace.end(), [](const auto& one) { return !one.rejoin_after_s; }), 4);
    }

    void what_cannot_be_used_is_told_by_its_line_data() {
        QTest::addColumn<QString>("csv");
        QTest::addColumn<QString>("place");
        QTest::addColumn<QString>("what");
        const auto row = [](const char* name, const char* rows, const char* place, const char* what) {
            QTest::newRow(name) << QString("node,down_s,up_s\n") + rows << place << what;
        };
        QTest::newRow("nothing") << ""
                                 << "trace.csv:0"
                                 << "no header";
        QTest::newRow("no header") << "a,1,2\n"
                                   << "trace.csv:1"
                                   << "no header of a trace";
        QTest::newRow("another header") << "\nnode,up_s,down_s\na,1,2\n"
                                        << "trace.csv:2"
                                        << "no header of a trace";
        row("unknown node", "a,1,2\nz,1,2\n", "trace.csv:3", "\"z\" is not there");
        row("two columns", "a,1\n", "trace.csv:2", "2 columns");
        row("four columns", "a,1,2,3\n", "trace.csv:2", "4 columns");
        row("open quote", "\"a,1,2\n", "trace.csv:2", "quote");
        row("behind a quote", "\"a\"b,1,2\n", "trace.csv:2", "quote");
        row("no number", "a,soon,2\n", "trace.csv:2", "\"soon\" is no number");
        row("empty", "a,,2\n", "trace.csv:2", "\"\" is no number");
        row("half a number", "a,1,2s\n", "trace.csv:2", "\"2s\" is no number");
        row("not finite", "a,nan,2\n", "trace.csv:2", "no number");
        row("endless", "a,1,inf\n", "trace.csv:2", "no number");
        row("negative", "a,-1,2\n", "trace.csv:2", "not within 0");
        row("too late", "a,1,1e13\n", "trace.csv:2", "not within 0");
        row("up before down", "a,5,5\n", "trace.csv:2", "up at 5 s");
        row("overlap", "a,8,9\nb,1,2\na,1,8.5\n", "trace.csv:2", "down since line 4");
        row("down for good before", "a,1,\na,5,6\n", "trace.csv:3", "down since line 2");
    }
    void what_cannot_be_used_is_told_by_its_line() {
        QFETCH(QString, csv);
        QFETCH(QString, place);
        QFETCH(QString, what);
        const auto read = parse(csv.toStdString());
        QVERIFY2(read.faults.size() == 1, samples::listed(read.faults).c_str());
        const auto& fault = read.faults.front();
        QCOMPARE(QString::fromStdString(fault.pointer), place);
        QVERIFY2(QString::fromStdString(fault.what).contains(what), fault.what.c_str());
        QVERIFY(!fault.why.empty() && !fault.remedy.empty());
    }

    void rows_and_faults_are_bounded() {
        std::string csv = "node,down_s,up_s\n";
        for (std::size_t i = 0; i <= max_trace_rows; ++i) csv += "any,1,2\n";
        const auto many = parse(csv);
        QCOMPARE(many.failures.size(), max_trace_rows);
        QCOMPARE(many.faults.size(), std::size_t{1});
        QCOMPARE(many.faults.front().pointer, "trace.csv:" + std::to_string(max_trace_rows + 2));
        std::string bad = "node,down_s,up_s\n";
        for (int i = 0; i < 5000; ++i) bad += "z,1,2\n";
        QVERIFY(parse(bad).faults.size() <= 1001);
    }

    void a_file_is_read_whole_or_refused() {
        QTemporaryDir folder;
        const auto write = [&](const char* name, const char* text) {
            QFile file(folder.filePath(name));
            if (file.open(QIODevice::WriteOnly)) file.write(text);
            return folder.filePath(name).toStdString();
        };
        QCOMPARE(load_failure_trace(write("good.csv", "node,down_s,up_s\na,1,2\n"), three_nodes()).size(),
                 std::size_t{1});
        QVERIFY_EXCEPTION_THROWN(load_failure_trace(write("bad.csv", "node,down_s,up_s\na,2,1\n"), three_nodes()),
                                 InputError);
        QVERIFY_EXCEPTION_THROWN(load_failure_trace(folder.filePath("none.csv").toStdString(), three_nodes()),
                                 InputError);
    }
};

QTEST_APPLESS_MAIN(TestFailureTrace)
#include "test_failure_trace.moc"
