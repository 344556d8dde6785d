// SPDX-License-Identifier: GPL-3.0-or-later
// Networks as files of other programs: there and back, other people's, and what cannot be.
#include <QtTest>

#include <fstream>

#include "views/matrix/matrix_panel.h"
#include "views/matrix/network_files.h"
#include "views/topology/edits.h"

using namespace skippipe;

namespace {

Experiment two_regions() {
    Experiment e;
    for (const char* name : {"west, coast", "east"}) {
        e.topology.regions.push_back({name, 10, 20});
        add_node(e, {1, 2}, name);
    }
    e.topology.links = {{"west, coast", "east", 0.1 / 3, 1e7 / 3, true}, {"node-1", "node-2", 0.002, 5e8, false}};
    return e;
}

constexpr const char* foreign_graph =
    "<?xml version='1.0'?>\n"
    "<graphml xmlns='http://graphml.graphdrawing.org/xmlns'>\n"
    "<key attr.name='Latitude' attr.type='double' for='node' id='d1'/>\n"
    "<key attr.name='Longitude' attr.type='double' for='node' id='d2'/>\n"
    "<key attr.name='label' attr.type='string' for='node' id='d3'/>\n"
    "<key attr.name='LinkSpeedRaw' attr.type='double' for='edge' id='d4'/>\n"
    "<graph edgedefault='undirected'>\n"
    "<node id='0'><data key='d1'>51.5</data><data key='d2'>-0.1</data><data key='d3'>London</data></node>\n"
    "<node id='1'><data key='d1'>40.7</data><data key='d2'>-74.0</data><data key='d3'>New York</data></node>\n"
    "<node id='2'><data key='d3'>London</data></node>\n"
    "<edge source='0' target='1'><data key='d4'>1E10</data></edge>\n"
    "<edge source='1' target='2'/>\n"
    "<edge source='1' target='1'/>\n"
    "</graph>\n"
    "</graphml>\n";

}  // namespace

class TestNetworkFiles : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void there_and_back_data() {
        QTest::addColumn<int>("format");
        QTest::newRow("csv") << int(NetworkFormat::csv);
        QTest::newRow("graphml") << int(NetworkFormat::graphml);
        QTest::newRow("authors") << int(NetworkFormat::authors_json);
    }
    void there_and_back() {
        QFETCH(int, format);
        const Topology drawn = two_regions().topology;
        const auto text = network_text(drawn, NetworkFormat(format));
        Topology read;
        const auto done = merge_network(read, read_network(QByteArray::fromStdString(text), NetworkFormat(format)));
        QVERIFY2(done.fault.isEmpty(), qPrintable(done.fault));
        auto links = drawn.links;
        if (NetworkFormat(format) == NetworkFormat::authors_json) links.pop_back();  // it has regions alone
        QCOMPARE(read.links.size(), links.size());
        for (std::size_t i = 0; i < links.size(); ++i) {
            QVERIFY(read.links[i].from == links[i].from && read.links[i].to == links[i].to);
            QCOMPARE(read.links[i].both_ways, links[i].both_ways);
            QVERIFY(qFuzzyCompare(read.links[i].latency_s, links[i].latency_s));
            QVERIFY(qFuzzyCompare(read.links[i].bandwidth_bytes_per_s, links[i].bandwidth_bytes_per_s));
        }
        QCOMPARE(read.regions.size(), drawn.regions.size());
        if (NetworkFormat(format) == NetworkFormat::graphml) {
            QVERIFY(read.regions == drawn.regions);
            QVERIFY(read.nodes == drawn.nodes);
        }
        const auto again = merge_network(read, read_network(QByteArray::fromStdString(text), NetworkFormat(format)));
        QCOMPARE(again.added_links + again.added_nodes + again.added_regions + again.changed_links, 0);
    }

    void somebody_elses_graph() {
        Topology read;
        const auto done = merge_network(read, read_network(foreign_graph, NetworkFormat::graphml));
        QVERIFY2(done.fault.isEmpty(), qPrintable(done.fault));
        QCOMPARE(done.added_nodes, 3);
        QCOMPARE(done.added_links, 2);
        QVERIFY(read.on_map);
        QCOMPARE(read.nodes[0].id, std::string("London"));
        QVERIFY2(read.nodes[2].id != read.nodes[0].id, "two of one name");
        QCOMPARE(read.links[0].bandwidth_bytes_per_s, 1.25e9);
        QVERIFY2(std::abs(read.links[0].latency_s - 0.0279) < 2e-4, "5,570 km at 200 km a millisecond");
        QCOMPARE(read.links[1].latency_s, 0.01);
    }

    void units_quotes_and_marks_of_csv() {
        Topology read;
        const auto done = merge_network(
            read,
            read_network("From;To;Latency_ms;bandwidth_bit_per_s;both_ways\r\n\"a;1\";b;20;1e9;no\r\n\r\nb;c;5;;yes\n",
                         NetworkFormat::csv));
        QVERIFY2(done.fault.isEmpty(), qPrintable(done.fault));
        QCOMPARE(read.links.size(), std::size_t{2});
        QCOMPARE(read.links[0].from, std::string("a;1"));
        QCOMPARE(read.links[0].latency_s, 0.02);
        QCOMPARE(read.links[0].bandwidth_bytes_per_s, 1.25e8);
        QVERIFY(!read.links[0].both_ways && read.links[1].both_ways);
        QCOMPARE(read.links[1].bandwidth_bytes_per_s, Link{}.bandwidth_bytes_per_s);
    }

    void what_cannot_be_is_told_and_nothing_is_done() {
        const std::pair<NetworkFormat, QByteArray> bad[] = {
            {NetworkFormat::csv, ""},
            {NetworkFormat::csv, "a,b,c\n1,2,3\n"},
            {NetworkFormat::csv, "from,to,latency_s\na,b,soon\n"},
            {NetworkFormat::csv, "from,to,latency_s\na,b,-1\n"},
            {NetworkFormat::csv, "from,to,latency_s\na,b,\n"},
            {NetworkFormat::csv, "from,to,latency_s\na,b,nan\n"},
            {NetworkFormat::csv, "from,to,latency_s\na,a,1\n"},
            {NetworkFormat::graphml, "no"},
            {NetworkFormat::graphml, "<graphml></graphml>"},
            {NetworkFormat::graphml, "<graphml><graph><node id='a'/>"},
            {NetworkFormat::authors_json, "[]"},
            {NetworkFormat::authors_json, "{\"regions\": [1], \"links\": []}"},
            {NetworkFormat::authors_json, "{\"regions\": [], \"links\": [{\"a\": \"x\"}]}"}};
        for (const auto& [format, text] : bad) {
            Topology untouched = two_regions().topology;
            const auto done = merge_network(untouched, read_network(text, format));
            QVERIFY2(!done.fault.isEmpty(), text);
            QVERIFY(untouched == two_regions().topology);
        }
    }

    /// A place or a speed that no document can have is named, with its thing.
    void numbers_of_a_graph_are_checked() {
        for (const char* key : {"x", "y", "seconds_per_sample_per_block"})
            for (const char* value : {"nan", "inf", "-1e9"}) {
                const auto text = QStringLiteral(
                                      "<graphml><key id='k' for='node' attr.name='%1'/><graph>"
                                      "<node id='far'><data key='k'>%2</data></node></graph></graphml>")
                                      .arg(key, value);
                Topology untouched = two_regions().topology;
                const auto done = merge_network(untouched, read_network(text.toUtf8(), NetworkFormat::graphml));
                QVERIFY2(done.fault.startsWith("far: its ") && done.fault.contains(key), qPrintable(text));
                QVERIFY(untouched == two_regions().topology);
            }
    }

    void regions_stand_as_people_count() {
        Experiment e;
        for (const char* name : {"region-1", "region-10", "region-2"}) e.topology.regions.push_back({name, 0, 0});
        const auto ends = matrix_ends(e);
        QCOMPARE(ends.size(), std::size_t{3});
        QCOMPARE(ends[1].id, std::string("region-2"));
    }

    /// Through the panel: one edit that undo takes back, and the links in a file.
    void imported_and_exported() {
        QTemporaryDir folder;
        Document document;
        document.start_new(two_regions());
        SelectionModel selection;
        MatrixPanel panel(document, selection);
        QSignalSpy told(&panel, &MatrixPanel::told);
        const auto file = folder.filePath("links.csv").toStdString();
        std::ofstream(file) << "from,to,latency_s\n"
                            << "east,\"west, coast\",0.25\n"
                            << "node-2,node-3,0.5\n";
        panel.import_network(file);
        QTRY_COMPARE(told.count(), 1);
        QVERIFY2(told[0][0].toString().contains("1 node, 0 regions and 1 link were added, 1 link changed"),
                 qPrintable(told[0][0].toString()));
        QCOMPARE(document.experiment().topology.links[0].latency_s, 0.25);
        panel.export_network(folder.filePath("out.csv").toStdString(), NetworkFormat::csv);
        QTRY_COMPARE(told.count(), 2);
        QFile out(folder.filePath("out.csv"));
        QVERIFY(out.open(QIODevice::ReadOnly));
        QVERIFY(out.readAll().contains("node-2,node-3,0.5,"));
        document.undo_stack().undo();
        QVERIFY(document.experiment() == two_regions());
        for (const char* missing : {"nowhere.csv", "what.png"}) {
            told.clear();
            panel.import_network(folder.filePath(missing).toStdString());
            QTRY_COMPARE(told.count(), 1);
            QVERIFY2(told[0][0].toString().contains(missing), qPrintable(told[0][0].toString()));
        }
    }
};

QTEST_MAIN(TestNetworkFiles)
#include "test_network_files.moc"
