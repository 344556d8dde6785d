// SPDX-License-Identifier: GPL-3.0-or-later
#include <QElapsedTimer>
#include <QRegularExpression>
#include <QTest>

#include <functional>
#include <map>

#include "core/experiment/io.h"
#include "core/experiment/validate.h"
#include "tests/experiment/samples.h"

using namespace skippipe;

namespace {

using Change = std::function<void(Experiment&)>;

struct Case {
    const char* name;
    const char* pointer;
    Change change;
};

const std::vector<Case>& faulty() {
    static const std::vector<Case> cases = {
        {"no text named", "/data/path", [](Experiment& e) { e.data.source = DataSource::text; }},
        {"no tokens named", "/data/path", [](Experiment& e) { e.data.source = DataSource::tokens; }},
        {"a path and files", "/data/files",
         [](Experiment& e) {
             e.data = {.source = DataSource::tokens, .path = "a.bin", .files = {{"b.bin", 1}}};
         }},
        {"files of an installed text", "/data/files",
         [](Experiment& e) {
             e.data.files = {{"b.bin", 1}};
         }},
        {"a file without a name", "/data/files/1/path",
         [](Experiment& e) {
             e.data = {.source = DataSource::text, .files = {{"b.txt", 1}, {"", 1}}};
         }},
        {"tokens with a tokenizer", "/data/tokenizer",
         [](Experiment& e) { e.data = {.source = DataSource::tokens, .path = "a.bin", .tokenizer = "t.model"}; }},
        {"lines without a member", "/data/text_field",
         [](Experiment& e) { e.data = {.source = DataSource::jsonl, .path = "a.jsonl", .text_field = ""}; }},
        {"a rank that is not there", "/topology/nodes/1/rank",
         [](Experiment& e) {
             e.execution = {.clock = Clock::wall, .transport = Transport::gloo, .ranks = 2};
             e.topology.nodes[0].rank = 1;
             e.topology.nodes[1].rank = 2;
         }},
        {"too few kinds for bytes", "/model/vocabulary", [](Experiment& e) { e.model.vocabulary = 200; }},
        {"no nodes", "/topology/nodes", [](Experiment& e) { e.topology.nodes.clear(); }},
        {"node named twice", "/topology/nodes/1/id", [](Experiment& e) { e.topology.nodes[1].id = "a"; }},
        {"node named as a region", "/topology/nodes/1/id", [](Experiment& e) { e.topology.nodes[1].id = "west"; }},
        {"empty name", "/topology/nodes/2/id", [](Experiment& e) { e.topology.nodes[2].id.clear(); }},
        {"arrow in a name", "/topology/nodes/2/id", [](Experiment& e) { e.topology.nodes[2].id = "x->y"; }},
        {"control character in a name", "/topology/regions/0/id",
         [](Experiment& e) { e.topology.regions[0].id = "a\nb"; }},
        {"unknown region", "/topology/nodes/3/region", [](Experiment& e) { e.topology.nodes[3].region = "eats"; }},
        {"unknown device", "/topology/nodes/0/device", [](Experiment& e) { e.topology.nodes[0].device = "cuda:x"; }},
        {"unknown link end", "/topology/links/1/to", [](Experiment& e) { e.topology.links[1].to = "z"; }},
        {"node to region", "/topology/links/1", [](Experiment& e) { e.topology.links[1].to = "east"; }},
        {"node to itself", "/topology/links/1", [](Experiment& e) { e.topology.links[1].to = "a"; }},
        {"direction drawn twice", "/topology/links/2",
         [](Experiment& e) {
             e.topology.links.push_back({"east", "west", 0, 1e7});
         }},
        {"unreachable node", "/topology/nodes/3",
         [](Experiment& e) {
             e.topology.nodes[3].region.clear();
             e.topology.links.pop_back();
         }},
        {"a node with ways to it alone", "/topology/nodes/3",
         [](Experiment& e) { e.topology.nodes[3].region.clear(); }},
        {"matrix rows", "/topology/hop_matrix_s",
         [](Experiment& e) {
             e.topology.hop_matrix_s = {{0, 1, 1, 1}};
         }},
        {"matrix columns", "/topology/hop_matrix_s/2",
         [](Experiment& e) {
             e.topology.hop_matrix_s = {{0, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, 0}, {1, 1, 1, 0}};
         }},
        {"matrix diagonal", "/topology/hop_matrix_s/1/1",
         [](Experiment& e) {
             e.topology.hop_matrix_s = {{0, 1, 1, 1}, {1, 2, 1, 1}, {1, 1, 0, 1}, {1, 1, 1, 0}};
         }},
        {"more stages than nodes", "/pipeline/stages",
         [](Experiment& e) {
             e.pipeline.stages = 5;
             e.pipeline.stage_sizes.clear();
             e.model.blocks = 5;
         }},
        {"blocks over stages", "/model/blocks", [](Experiment& e) { e.model.blocks = 5; }},
        {"blocks of each stage", "/pipeline/blocks_per_stage",
         [](Experiment& e) {
             e.pipeline.blocks_per_stage = {1, 2};
         }},
        {"number of block counts", "/pipeline/blocks_per_stage",
         [](Experiment& e) {
             e.pipeline.blocks_per_stage = {1, 1, 2};
         }},
        {"fewer planned blocks than stages", "/model/blocks",
         [](Experiment& e) {
             e.pipeline.plan_blocks = true;
             e.model.blocks = 1;
         }},
        {"planned blocks to begin with", "/pipeline/blocks_per_stage",
         [](Experiment& e) {
             e.pipeline.plan_blocks = true;
             e.pipeline.blocks_per_stage = {1, 2};
         }},
        {"gradients of planned blocks", "/costs/gradient_bytes",
         [](Experiment& e) {
             e.pipeline.plan_blocks = true;
             e.costs.gradient_bytes = {1, 2};
         }},
        {"sizes of no microbatch", "/pipeline/microbatch_sizes",
         [](Experiment& e) { e.pipeline.microbatch_sizes.assign(99, 1); }},
        {"heads over width", "/model/heads", [](Experiment& e) { e.model.heads = 3; }},
        {"odd head", "/model/heads", [](Experiment& e) { e.model.heads = 16; }},
        {"vocabulary", "/model/vocabulary", [](Experiment& e) { e.model.vocabulary = 255; }},
        {"skips too much", "/pipeline/skip_ratio", [](Experiment& e) { e.pipeline.skip_ratio = 0.8; }},
        {"skips with one stage", "/pipeline/skip_ratio",
         [](Experiment& e) {
             e.pipeline.stages = 1;
             e.pipeline.stage_sizes = {4};
             e.pipeline.skip_ratio = 0.2;
         }},
        {"nodes that may move and are placed", "/recovery/move_nodes_s",
         [](Experiment& e) {
             e.pipeline.placement = {{"a", "d"}, {"c", "b"}};
             e.recovery.move_nodes_s = 10;
         }},
        {"number of sizes", "/pipeline/stage_sizes",
         [](Experiment& e) {
             e.pipeline.stage_sizes = {2, 1, 1};
         }},
        {"sum of sizes", "/pipeline/stage_sizes",
         [](Experiment& e) {
             e.pipeline.stage_sizes = {2, 3};
         }},
        {"placement length", "/pipeline/placement",
         [](Experiment& e) {
             e.pipeline.placement = {{"a", "b", "c", "d"}};
         }},
        {"placement of a stranger", "/pipeline/placement/1/1",
         [](Experiment& e) {
             e.pipeline.placement = {{"a", "b"}, {"c", "x"}};
         }},
        {"placed twice", "/pipeline/placement/1/0",
         [](Experiment& e) {
             e.pipeline.placement = {{"a", "b"}, {"a", "c"}};
         }},
        {"empty stage", "/pipeline/placement/1",
         [](Experiment& e) {
             e.pipeline.placement = {{"a", "b"}, {}};
         }},
        {"placement against sizes", "/pipeline/placement/1",
         [](Experiment& e) {
             e.pipeline.placement = {{"a", "b"}, {"c"}};
         }},
        {"microbatches over data nodes", "/pipeline/microbatches", [](Experiment& e) { e.pipeline.microbatches = 5; }},
        {"too little memory", "/topology/nodes/2/memory_bytes",
         [](Experiment& e) { e.topology.nodes[2].memory_bytes = 1000; }},
        {"gradient sizes", "/costs/gradient_bytes",
         [](Experiment& e) {
             e.costs.gradient_bytes = {1, 2, 3};
         }},
        {"text without a path", "/data/path", [](Experiment& e) { e.data.source = DataSource::text; }},
        {"gradients in int8 that no plan sums", "/training/gradient_wire",
         [](Experiment& e) { e.training.gradient_wire = WireType::int8; }},
        {"gradients in bf16 that no plan sums", "/training/gradient_wire",
         [](Experiment& e) { e.training.gradient_wire = WireType::bf16; }},
        {"crash of a stranger", "/failures/0/target", [](Experiment& e) { e.failures[0].target = "west"; }},
        {"cut of no link", "/failures/0/target",
         [](Experiment& e) {
             e.failures[0].kind = FailureKind::link_cut;
             e.failures[0].target = "a->z";
         }},
        {"jitter of a node to itself", "/failures/0/target",
         [](Experiment& e) { e.failures[0] = {.kind = FailureKind::jitter, .target = "a->a", .at_s = 1}; }},
        {"cut of a region to itself", "/failures/0/target",
         [](Experiment& e) {
             e.topology.links.push_back({"west", "west", 0.002, 1e6});
             e.failures[0] = {.kind = FailureKind::link_cut, .target = "west->west", .at_s = 1};
         }},
        {"cut of a link that others replace", "/failures/0/target",
         [](Experiment& e) {
             for (const char* from : {"a", "b"})
                 for (const char* to : {"c", "d"})
                     if (std::string(from) + to != "ad") e.topology.links.push_back({from, to, 0.01, 1e7, false});
             e.failures[0] = {.kind = FailureKind::link_cut, .target = "west->east", .at_s = 1};
         }},
        {"cut between regions of a matrix", "/failures/0/target",
         [](Experiment& e) {
             e.topology.hop_matrix_s = {{0, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, 0, 1}, {1, 1, 1, 0}};
             e.costs.overhead_s = 0;
             e.failures[0] = {.kind = FailureKind::link_cut, .target = "west->east", .at_s = 1};
         }},
        {"loss of no stage", "/failures/0/target",
         [](Experiment& e) {
             e.failures[0].kind = FailureKind::stage_loss;
             e.failures[0].target = "2";
         }},
        {"no trigger", "/failures/0", [](Experiment& e) { e.failures[0].at_s.reset(); }},
        {"two triggers", "/failures/0", [](Experiment& e) { e.failures[0].rate_per_hour = 1; }},
    };
    return cases;
}

const std::vector<std::pair<const char*, Change>>& fine() {
    static const std::vector<std::pair<const char*, Change>> cases = {
        {"unchanged", [](Experiment&) {}},
        {"an uplink", [](Experiment& e) { e.topology.nodes[0].up_bytes_per_s = 1e6; }},
        {"unbalanced data nodes",
         [](Experiment& e) {
             e.pipeline.microbatches = 5;
             e.pipeline.balance_data_nodes = false;
         }},
        {"free sizes",
         [](Experiment& e) {
             e.pipeline.stage_sizes.clear();
             e.pipeline.microbatches = 5;
         }},
        {"planned blocks that do not divide",
         [](Experiment& e) {
             e.pipeline.plan_blocks = true;
             e.model.blocks = 5;
         }},
        {"sizes of microbatches",
         [](Experiment& e) {
             e.pipeline.microbatch_sizes = {1, 3, 2};
         }},
        {"few kinds of tokens",
         [](Experiment& e) {
             e.data = {.source = DataSource::tokens, .path = "a.bin"};
             e.model.vocabulary = 50;
         }},
        {"weighted files with a tokenizer",
         [](Experiment& e) {
             e.data = {.source = DataSource::jsonl, .files = {{"a", 1}, {"b", 2.5}}, .tokenizer = "t.model"};
         }},
        {"grouped heads", [](Experiment& e) { e.model.kv_heads = 1; }},
        {"a region's own switch",
         [](Experiment& e) {
             e.topology.links.push_back({"west", "west", 0.002, 1e6});
         }},
        {"blocks of each stage",
         [](Experiment& e) {
             e.pipeline.blocks_per_stage = {1, 3};
         }},
        {"placement",
         [](Experiment& e) {
             e.pipeline.placement = {{"a", "d"}, {"c", "b"}};
         }},
        {"a matrix needs no links",
         [](Experiment& e) {
             e.topology.hop_matrix_s = {{0, 1, 1, 1}, {1, 0, 1, 1}, {1, 1, 0, 1}, {1, 1, 1, 0}};
             e.topology.links.clear();
             e.costs.overhead_s = 0;
         }},
        {"little memory ignored",
         [](Experiment& e) {
             e.topology.nodes[2].memory_bytes = 1000;
             e.pipeline.constraints.memory = MemoryRule::ignore;
         }},
        {"cut between nodes of linked regions",
         [](Experiment& e) {
             e.failures[0].kind = FailureKind::link_cut;
             e.failures[0].target = "b->c";
         }},
        {"cut of a link that others replace one way only",
         [](Experiment& e) {
             for (const char* from : {"a", "b"})
                 for (const char* to : {"c", "d"})
                     if (std::string(from) + to != "ad") e.topology.links.push_back({from, to, 0.01, 1e7, false});
             e.failures[0] = {.kind = FailureKind::link_cut, .target = "east->west", .at_s = 1};
         }},
        {"many processes",
         [](Experiment& e) {
             e.execution = {.clock = Clock::wall, .compute = Compute::torch, .transport = Transport::gloo, .ranks = 4};
         }},
    };
    return cases;
}

}  // namespace

class TestValidate : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { sample_ = parse_experiment(samples::small()).experiment; }

    void a_fault_is_found_once_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < faulty().size(); ++i) QTest::newRow(faulty()[i].name) << static_cast<int>(i);
    }
    void a_fault_is_found_once() {
        QFETCH(int, index);
        const Case& wanted = faulty()[static_cast<std::size_t>(index)];
        Experiment e = sample_;
        wanted.change(e);
        const Faults faults = validate(e);
        const Fault* fault = samples::find(faults, wanted.pointer);
        QVERIFY2(fault != nullptr && fault->severity == Fault::Severity::error, samples::listed(faults).c_str());
        QVERIFY(!fault->what.empty() && !fault->why.empty() && !fault->remedy.empty());
        QCOMPARE(
            std::count_if(faults.begin(), faults.end(), [&](const Fault& f) { return f.pointer == wanted.pointer; }),
            1);
    }

    void what_is_allowed_is_no_fault_data() {
        QTest::addColumn<int>("index");
        for (std::size_t i = 0; i < fine().size(); ++i) QTest::newRow(fine()[i].first) << static_cast<int>(i);
    }
    void what_is_allowed_is_no_fault() {
        QFETCH(int, index);
        Experiment e = sample_;
        fine()[static_cast<std::size_t>(index)].second(e);
        const Faults faults = validate(e);
        QVERIFY2(faults.empty(), samples::listed(faults).c_str());
    }

    /// Whether a link between regions is a line is looked up once, not for each failure.
    void many_failures_of_one_link_are_checked_soon() {
        constexpr int nodes = 100, failures = 10'000;
        Experiment e;
        auto& t = e.topology;
        t.regions = {{.id = "west"}, {.id = "east"}};
        for (int i = 0; i < 2 * nodes; ++i)
            t.nodes.push_back({.id = std::to_string(i), .region = i < nodes ? "west" : "east"});
        t.links.push_back({"west", "east", 0, 1e7});
        for (int a = 0; a < nodes; ++a)
            for (int b = nodes; b < 2 * nodes; ++b) t.links.push_back({std::to_string(a), std::to_string(b), 0, 1e7});
        t.links.pop_back();  // of the last pair: it takes the regions'
        e.failures.assign(failures, {.kind = FailureKind::link_cut, .target = "west->east", .at_s = 1});
        QElapsedTimer timer;
        timer.start();
        for (const auto& fault : validate(e)) QVERIFY2(!fault.pointer.starts_with("/failures"), fault.what.c_str());
        QVERIFY2(timer.elapsed() < 5000, qPrintable(QString::number(timer.elapsed())));
    }

    /// No error, since one of them may do with a plan; where nothing is sent, or where hops have times, it is none.
    void groups_without_a_link_are_a_warning() {
        Experiment e = sample_;
        e.topology.links.clear();
        const auto faults = validate(e);
        QCOMPARE(faults.size(), std::size_t{1});
        QVERIFY(faults[0].severity == Fault::Severity::warning && faults[0].pointer == "/topology/links");
        QCOMPARE(faults[0].what, std::string("the nodes fall into 2 groups with no link between them: a, b | c, d"));
        // Nodes without a region, joined over others and one way alone.
        for (auto& node : e.topology.nodes) node.region.clear();
        e.topology.links = {{"a", "b"}, {"c", "b"}, {"c", "d", 0, 1e9, true}};
        QVERIFY2(validate(e).empty(), samples::listed(validate(e)).c_str());
        e.topology.links.erase(e.topology.links.begin() + 1);
        QCOMPARE(validate(e).size(), std::size_t{1});
        // A region without nodes leads nowhere; a link that is wrong itself is told as that.
        e.topology.links = {{"a", "b"}, {"c", "d"}, {"west", "east"}};
        QCOMPARE(validate(e).size(), std::size_t{1});
        e.topology.links.push_back({"a", "nobody"});
        QVERIFY(samples::find(validate(e), "/topology/links") == nullptr);
        e.topology.links.pop_back();
        e.pipeline.stages = 1;
        e.pipeline.stage_sizes.clear();
        e.costs.all_reduce = AllReduceRule::free;
        QVERIFY(samples::find(validate(e), "/topology/links") == nullptr);
    }

    void a_factor_of_1024_is_a_warning() {
        auto text = samples::text_of(samples::resources() / "experiments" / "quick-start.json");
        const std::string line =
            "\"from\": \"NL\", \"to\": \"London\", \"latency_s\": 0.0048, \"bandwidth_bytes_per_s\": ";
        text = samples::replaced(text, line + "260382392.32", line + "254279.68");
        const auto faults = parse_experiment(text).faults;
        QCOMPARE(faults.size(), std::size_t{1});
        QVERIFY(faults[0].severity == Fault::Severity::warning);
        QVERIFY(!has_errors(faults));
        QCOMPARE(faults[0].pointer, std::string("/topology/links/59/bandwidth_bytes_per_s"));
        QVERIFY(faults[0].what.find("\"London\"") != std::string::npos);
    }

    void milliseconds_taken_for_seconds_are_a_warning() {
        auto text = samples::text_of(samples::resources() / "experiments" / "quick-start.json");
        text = samples::replaced(text, "\"latency_s\": 0.129", "\"latency_s\": 129");
        const auto faults = parse_experiment(text).faults;
        QCOMPARE(faults.size(), std::size_t{1});
        QCOMPARE(faults[0].pointer, std::string("/topology/links/0/latency_s"));
    }

    /// What is named as enough is enough, though it is rounded.
    void memory_is_told_with_its_unit() {
        Experiment e = sample_;
        e.topology.nodes[2].memory_bytes = 1000;
        const auto faults = validate(e);
        QVERIFY(!faults.empty() && faults[0].pointer == "/topology/nodes/2/memory_bytes");
        const QString what = QString::fromStdString(faults[0].what), remedy = QString::fromStdString(faults[0].remedy);
        QVERIFY2(what.endsWith("kB hold no microbatch") && what.size() < 32, qPrintable(what));
        static const QRegularExpression told("^Give it ([0-9.]+).(k|M|G)?B or more");
        const auto found = told.match(remedy);
        QVERIFY2(found.hasMatch() && found.captured(1).size() <= 4, qPrintable(remedy));
        const std::map<QString, double> prefixes{{"", 1}, {"k", 1e3}, {"M", 1e6}, {"G", 1e9}};
        e.topology.nodes[2].memory_bytes = found.captured(1).toDouble() * prefixes.at(found.captured(2));
        QVERIFY(!has_errors(validate(e)));
    }

    void nothing_is_concluded_from_what_could_not_be_read() {
        const auto text = samples::replaced(samples::small(), "\"stages\": 2,", "\"stages\": \"two\",");
        const auto faults = parse_experiment(text).faults;
        QCOMPARE(faults.size(), std::size_t{1});
        QCOMPARE(faults[0].pointer, std::string("/pipeline/stages"));
    }

private:
    Experiment sample_;
};

QTEST_APPLESS_MAIN(TestValidate)
#include "test_validate.moc"
