// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include <set>

#include "core/experiment/io.h"
#include "core/experiment/schema_member.h"
#include "tests/experiment/samples.h"

using namespace skippipe;

class TestExperimentFile : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void bundled_files_have_no_fault_and_survive_a_round_trip() {
        int files = 0;
        for (const auto& entry : std::filesystem::directory_iterator(samples::resources() / "experiments")) {
            const auto parsed = load_experiment(entry.path());
            // That one rounds, which is what it shows, and is warned of.
            const bool rounds = entry.path().filename() == "rounded-gradients.json";
            QVERIFY2(parsed.faults.size() == (rounds ? 1u : 0u), samples::listed(parsed.faults).c_str());
            if (rounds) QVERIFY(!has_errors(parsed.faults) && parsed.faults[0].pointer == "/training/gradient_wire");
            const std::string text = to_text(parsed.experiment);
            const auto again = parse_experiment(text);
            QCOMPARE(again.faults.size(), parsed.faults.size());
            QVERIFY(again.experiment == parsed.experiment);
            QCOMPARE(to_text(again.experiment), text);
            // Published plans are compared without; the ring is charged where it is shown.
            const auto name = entry.path().filename().string();
            const auto expected = name.starts_with("authors-")  ? AllReduceRule::free
                                  : name == "charged-ring.json" ? AllReduceRule::charged
                                                                : AllReduceRule::planned;
            QVERIFY2(parsed.experiment.costs.all_reduce == expected, name.c_str());
            ++files;
        }
        QVERIFY(files >= 5);
    }

    void every_kind_of_member_is_read() {
        const auto [e, faults] = parse_experiment(samples::small());
        QVERIFY2(faults.empty(), samples::listed(faults).c_str());
        QCOMPARE(e.name, std::string("Small"));
        QCOMPARE(e.seed, std::uint64_t{7});
        QCOMPARE(e.topology.nodes.size(), std::size_t{4});
        QCOMPARE(e.topology.nodes[1].memory_microbatches.value(), 2);
        QCOMPARE(e.topology.nodes[2].memory_bytes.value(), 1e9);
        QVERIFY(!e.topology.nodes[0].memory_microbatches);
        QCOMPARE(e.topology.links[1].both_ways, false);
        QCOMPARE(e.pipeline.stage_sizes, (std::vector<int>{2, 2}));
        QVERIFY(e.costs.wire == WireType::bf16);
        QVERIFY(e.failures.at(0).kind == FailureKind::crash);
        QCOMPARE(e.failures[0].rejoin_after_s.value(), 2.0);
        QVERIFY(e.execution.compute == Compute::cost);
    }

    /// Diffs of saved files show what was changed: 1080 stays 1080, and the text names its schema as before.
    void a_text_is_written_as_people_write_it() {
        Experiment e;
        e.topology.within_region = {-0.0, 1080};
        e.costs.overhead_s = 0.25;
        e.costs.forward_bytes = 1e15;
        e.topology.nodes.push_back({.id = "a", .memory_bytes = 1e18});
        const std::string plain = to_text(e), text = with_schema(plain, "../\"a\".json");
        QVERIFY2(text.starts_with("{\n  \"$schema\": \"../\\\"a\\\".json\",\n  \"format\": 1,"), text.c_str());
        for (const char* part : {"\"latency_s\": -0.0,", "\"bandwidth_bytes_per_s\": 1080\n", "\"overhead_s\": 0.25,",
                                 "\"forward_bytes\": 1000000000000000,", "\"memory_bytes\": 1e+18,"})
            QVERIFY2(text.find(part) != std::string::npos, (text + part).c_str());
        QCOMPARE(schema_of(text), std::string("../\"a\".json"));
        QVERIFY(schema_of(plain).empty() && schema_of("[").empty() && schema_of("{\"$schema\": 1}").empty());
        QCOMPARE(with_schema(plain, {}), plain);
        const auto again = parse_experiment(text).experiment;
        QVERIFY(again == e);
        QCOMPARE(to_text(again), plain);
    }

    void unset_members_are_left_out_and_all_others_written() {
        const auto json = to_json(parse_experiment(samples::small()).experiment);
        QCOMPARE(json.begin().key(), std::string("format"));
        QVERIFY(!json["topology"]["nodes"][0].contains("memory_microbatches"));
        QVERIFY(json["topology"]["nodes"][1].contains("memory_microbatches"));
        QVERIFY(!json["costs"].contains("forward_bytes"));
        QVERIFY(json["training"].contains("beta2"));
    }

    void ten_faults_are_ten_faults() {
        const auto faults = load_experiment(samples::test_data() / "ten-faults.json").faults;
        for (const char* pointer :
             {"/seed", "/seeds", "/topology/nodes/0/seconds_per_sample_per_block", "/topology/nodes/1/region",
              "/topology/nodes/2/memory_microbatches", "/topology/links/0/bandwidth_bytes_per_s",
              "/topology/links/1/latency_s", "/model/heads", "/pipeline/skip_ration", "/costs/links"}) {
            const Fault* fault = samples::find(faults, pointer);
            QVERIFY2(fault != nullptr, pointer);
            QVERIFY(!fault->what.empty() && !fault->why.empty() && !fault->remedy.empty());
        }
        QVERIFY2(faults.size() == 10, samples::listed(faults).c_str());
        QVERIFY(samples::find(faults, "/pipeline/skip_ration")->remedy.find("\"skip_ratio\"") != std::string::npos);
        QVERIFY(samples::find(faults, "/costs/links")->remedy.find("\"shared\"") != std::string::npos);
    }

    void numbers_are_checked_data() {
        QTest::addColumn<QString>("number");
        QTest::addColumn<bool>("fine");
        QTest::newRow("whole") << "30" << true;
        QTest::newRow("whole as a fraction") << "30.0" << true;
        QTest::newRow("whole with an exponent") << "3e1" << true;
        QTest::newRow("half") << "3.5" << false;
        QTest::newRow("negative") << "-30" << false;
        QTest::newRow("zero") << "0" << false;
        QTest::newRow("beyond 64 bits") << "123456789012345678901234567890" << false;
        QTest::newRow("beyond 32 bits") << "4294967300" << false;
        QTest::newRow("overflow") << "1e999" << false;
        QTest::newRow("infinity") << "-Infinity" << false;
        QTest::newRow("not a number") << "NaN" << false;
        QTest::newRow("null") << "null" << false;
        QTest::newRow("text") << "\"30\"" << false;
    }
    void numbers_are_checked() {
        QFETCH(QString, number);
        QFETCH(bool, fine);
        const auto text =
            samples::replaced(samples::small(), "\"microbatches\": 4", "\"microbatches\": " + number.toStdString());
        const auto parsed = parse_experiment(text);
        QCOMPARE(parsed.faults.size(), std::size_t(fine ? 0 : 1));
        if (fine)
            QCOMPARE(parsed.experiment.pipeline.microbatches, 30);
        else
            QCOMPARE(parsed.faults[0].pointer, std::string("/pipeline/microbatches"));
    }

    void format_is_needed_and_known() {
        QVERIFY(samples::find(parse_experiment(samples::replaced(samples::small(), "\"format\": 1,", "")).faults,
                              "/format"));
        QVERIFY(samples::find(
            parse_experiment(samples::replaced(samples::small(), "\"format\": 1", "\"format\": 2")).faults, "/format"));
        for (const char* text : {"", "[]", "null", "3", "{}", "\"x\"", "{\"format\": 1}"})
            QVERIFY2(has_errors(parse_experiment(std::string(text)).faults), text);
    }

    void a_plan_files_experiment_has_its_place_in_pointers() {
        auto json = to_json(parse_experiment(samples::small()).experiment);
        json["model"]["heads"] = 3;
        const auto faults = parse_experiment(json, "/experiment").faults;
        QCOMPARE(faults.size(), std::size_t{1});
        QCOMPARE(faults[0].pointer, std::string("/experiment/model/heads"));
    }

    void hash_follows_what_a_plan_depends_on() {
        const Experiment e = parse_experiment(samples::small()).experiment;
        const std::string hash = experiment_hash(e);
        QCOMPARE(hash.size(), std::size_t{16});
        QCOMPARE(experiment_hash(parse_experiment(to_text(e)).experiment), hash);
        QCOMPARE(hash, std::string("6eac5b3f53166881"));  // the same on every machine and in every version
        Experiment other = e;
        other.name = "Other";
        other.topology.nodes[0].x = 12;
        other.pipeline.planner = "gpipe";
        other.training.iterations = 99;
        QCOMPARE(experiment_hash(other), hash);
        other.topology.links[0].latency_s = 0.06;
        QVERIFY(experiment_hash(other) != hash);
        other = e;
        other.pipeline.skip_ratio = 0.1;
        QVERIFY(experiment_hash(other) != hash);
        other = e;  // what predictions alone count
        other.costs.transfer_cpu_s = other.costs.transfer_cpu_s_per_byte = other.costs.reduction_cpu_s_per_byte = 1e-9;
        QCOMPARE(experiment_hash(other), hash);
    }

    /// Field by field, of a document that says them all: what the hash leaves out is no part of what is planned.
    void equal_parts_have_equal_hashes() {
        Experiment e = parse_experiment(samples::small()).experiment;
        e.topology.nodes[0].rank = 0;
        e.topology.nodes[0].price_per_hour = 1;
        const auto json = to_json(e);
        const auto all = json.flatten();
        const std::string hash = experiment_hash(e);
        int planned = 0, apart = 0;
        for (const auto& [pointer, value] : all.items()) {
            auto other = json;
            auto& field = other[nlohmann::ordered_json::json_pointer(pointer)];
            if (value.is_boolean()) field = !value.get<bool>();
            if (value.is_number()) field = value.get<double>() == 0 ? 1.0 : 2 * value.get<double>();
            if (value.is_null()) field = 1;
            const Experiment changed = parse_experiment(other).experiment;
            if (changed == e) continue;
            const bool same = experiment_hash(changed) == hash;
            QVERIFY2((planning_part(changed) == planning_part(e)) == same, pointer.c_str());
            ++(same ? apart : planned);
        }
        QVERIFY2(planned > 30 && apart > 20, qPrintable(QString("%1 %2").arg(planned).arg(apart)));
    }

    /// Where it changes what planned reductions hand on, and nowhere else.
    void hash_follows_the_type_of_gradients() {
        Experiment e = parse_experiment(samples::small()).experiment;
        e.costs.gradient_bytes.clear();
        const auto hash_of = [&](AllReduceRule rule, WireType wire) {
            auto other = e;
            other.costs.all_reduce = rule;
            other.training.gradient_wire = wire;
            return experiment_hash(other);
        };
        std::set<std::string> planned;
        for (const auto wire : {WireType::fp32, WireType::bf16, WireType::int8})
            planned.insert(hash_of(AllReduceRule::planned, wire));
        QCOMPARE(planned.size(), std::size_t{3});
        QCOMPARE(hash_of(AllReduceRule::charged, WireType::int8), hash_of(AllReduceRule::charged, WireType::fp32));
        e.costs.gradient_bytes.assign(static_cast<std::size_t>(e.pipeline.stages), 100);
        QCOMPARE(hash_of(AllReduceRule::planned, WireType::int8), hash_of(AllReduceRule::planned, WireType::fp32));
    }

    void schema_file_is_what_the_code_says() {
        QCOMPARE(samples::text_of(samples::resources() / "schema" / "experiment.schema.json"),
                 experiment_schema().dump(2) + "\n");
    }
};

QTEST_APPLESS_MAIN(TestExperimentFile)
#include "test_experiment_file.moc"
