// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/experiment/io.h"
#include "core/planner/plan/plan.h"
#include "tests/experiment/samples.h"

using namespace skippipe;
using Json = nlohmann::ordered_json;

namespace {

Plan sample_plan() {
    Plan plan{.planner = "gpipe",
              .seed = 18446744073709551615ULL,
              .steps = 12,
              .experiment_hash = "0123",
              .note = "throttled by M = 3"};
    plan.stages = {{0, 1}, {2, 3}};
    plan.blocks = {1, 3};
    plan.paths = {{0, {0, 2}}, {2, {1, 3}}, {1, {0, 3}}};
    plan.order.resize(4);
    plan.order[0] = {{OpKind::F, 0}, {OpKind::F, 1}, {OpKind::L, 0}, {OpKind::I, 0}, {OpKind::W, 0}};
    plan.order[3] = {{OpKind::F, 12}, {OpKind::B, 12}};
    return plan;
}

}  // namespace

class TestPlanFile : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { problem_ = make_problem(parse_experiment(samples::small()).experiment); }

    void a_plan_survives_its_file() {
        const Json experiment = {{"format", 1}};
        const std::string text = to_json(sample_plan(), problem_, experiment).dump(2);
        Faults faults;
        const Json json = parse_json(text, faults);
        const Plan plan = parse_plan(json, problem_, faults);
        QVERIFY2(faults.empty(), samples::listed(faults).c_str());
        QVERIFY(plan == sample_plan());
        QVERIFY(json["experiment"] == experiment);
        QVERIFY(json["order"]["a"][3] == "I0");
        QVERIFY(!to_json(sample_plan(), problem_, nullptr).contains("experiment"));
    }

    void reductions_survive_their_file() {
        Plan plan = sample_plan();
        plan.reductions = {{}, {star_piece(2, 1, 0.25), {0.75, PieceForm::exchange, 0, {}, {}}}};
        Faults faults;
        const Json json = parse_json(to_json(plan, problem_, nullptr).dump(), faults);
        QCOMPARE(json["reductions"][1][0].dump(),
                 R"({"share":0.25,"form":"tree","root":"d","up":{"c":"d"},"down":{"c":"d"}})");
        const Plan again = parse_plan(json, problem_, faults);
        QVERIFY2(faults.empty(), samples::listed(faults).c_str());
        QVERIFY(again == plan);
    }

    void broken_reductions_are_refused() {
        const auto fault = [&](const char* reductions, const char* pointer) {
            Json json = to_json(sample_plan(), problem_, nullptr);
            json["reductions"] = Json::parse(reductions);
            Faults faults;
            parse_plan(json, problem_, faults);
            const auto* found = samples::find(faults, pointer);
            return found ? found->what : "no fault at " + std::string(pointer) + ": " + samples::listed(faults);
        };
        const auto says = [](const std::string& what, const char* part) {
            return what.find(part) != std::string::npos;
        };
        QVERIFY(says(fault("[[]]", "/reductions"), "1 stages, the plan has 2"));
        QVERIFY(says(fault(R"([[{"share": 0.5, "form": "exchange"}], []])", "/reductions/0"), "add up to 0.5"));
        QVERIFY(says(fault(R"([[{"share": 1, "root": "c", "up": {}, "down": {}}], []])", "/reductions/0/0/root"),
                     "not of this stage"));
        QVERIFY(says(fault(R"([[{"share": 1, "root": "a", "up": {}, "down": {"b": "a"}}], []])", "/reductions/0"),
                     "no tree"));
        QVERIFY(
            says(fault(R"([[{"share": 1, "root": "a", "up": {"b": "b"}, "down": {"b": "a"}}], []])", "/reductions/0"),
                 "no tree"));
        QVERIFY(says(fault(R"([[{"share": 0, "form": "exchange"}], []])", "/reductions/0/0/share"), "0"));
        QVERIFY(says(fault(R"([[{"share": 1, "form": "ring"}], []])", "/reductions/0/0/form"), "ring"));
        QVERIFY(
            says(fault(R"([[{"share": 1, "form": "exchange", "roots": 1}], []])", "/reductions/0/0/roots"), "roots"));
    }

    void stages_and_paths_are_enough() {
        Faults faults;
        const Json json =
            Json::parse(R"({"stages": [["a"], ["b", "c"]], "paths": [{"microbatch": 0, "nodes": ["a", "c"]}]})");
        const Plan plan = parse_plan(json, problem_, faults);
        QVERIFY2(faults.empty(), samples::listed(faults).c_str());
        QCOMPARE(plan.blocks, problem_.blocks);
        QVERIFY(plan.order.empty());
        QCOMPARE(stage_of_nodes(plan, 4), (PerNode<StageIndex>{0, 1, 1, -1}));
        parse_plan(Json::object(), problem_, faults);
        QVERIFY(samples::find(faults, "/stages") && samples::find(faults, "/paths"));
    }

    void faults_have_their_place_data() {
        QTest::addColumn<QString>("patch");
        QTest::addColumn<QString>("pointer");
        QTest::newRow("unknown key") << R"({"path": []})"
                                     << "/path";
        QTest::newRow("format") << R"({"format": 2})"
                                << "/format";
        QTest::newRow("seed") << R"({"seed": -1})"
                              << "/seed";
        QTest::newRow("steps") << R"({"steps": 0.5})"
                               << "/steps";
        QTest::newRow("split") << R"({"split_backward": 1})"
                               << "/split_backward";
        QTest::newRow("stages") << R"({"stages": "a"})"
                                << "/stages";
        QTest::newRow("stage") << R"({"stages": [["a"], 3]})"
                               << "/stages/1";
        QTest::newRow("stranger") << R"({"stages": [["a"], ["z"]]})"
                                  << "/stages/1/0";
        QTest::newRow("number for a node") << R"({"stages": [["a"], [1]]})"
                                           << "/stages/1/0";
        QTest::newRow("blocks") << R"({"blocks": [1, 0]})"
                                << "/blocks/1";
        QTest::newRow("path") << R"({"paths": [["a", "c"]]})"
                              << "/paths/0";
        QTest::newRow("path's microbatch") << R"({"paths": [{"nodes": ["a"]}]})"
                                           << "/paths/0/microbatch";
        QTest::newRow("path's key") << R"({"paths": [{"microbatch": 0, "nodes": ["a"], "node": 1}]})"
                                    << "/paths/0/node";
        QTest::newRow("path's node") << R"({"paths": [{"microbatch": 0, "nodes": ["a", "q"]}]})"
                                     << "/paths/0/nodes/1";
        QTest::newRow("order") << R"({"order": []})"
                               << "/order";
        QTest::newRow("order's node") << R"({"order": {"e/f": []}})"
                                      << "/order/e~1f";
        QTest::newRow("order's list") << R"({"order": {"a": "F0"}})"
                                      << "/order/a";
        QTest::newRow("operation") << R"({"order": {"a": ["F0", "X1"]}})"
                                   << "/order/a/1";
        QTest::newRow("operation's number") << R"({"order": {"a": ["F-1"]}})"
                                            << "/order/a/0";
        QTest::newRow("huge number") << R"({"order": {"a": ["F99999999999"]}})"
                                     << "/order/a/0";
    }
    void faults_have_their_place() {
        QFETCH(QString, patch);
        QFETCH(QString, pointer);
        Json json = to_json(sample_plan(), problem_, nullptr);
        const Json changes = Json::parse(patch.toStdString());
        for (const auto& [key, value] : changes.items()) json[key] = value;
        Faults faults;
        parse_plan(json, problem_, faults);
        QVERIFY2(faults.size() == 1, samples::listed(faults).c_str());
        QCOMPARE(QString::fromStdString(faults[0].pointer), pointer);
        QVERIFY(!faults[0].remedy.empty());
    }

    void anything_may_be_in_the_place_of_a_plan() {
        for (const char* text :
             {"null", "[]", "3", "\"plan\"", "{}", R"({"order": {"a": [[]]}, "stages": [[[]]], "paths": [{}]})"}) {
            Faults faults;
            parse_plan(Json::parse(text), problem_, faults);
            QVERIFY2(has_errors(faults), text);
        }
    }

private:
    Problem problem_;
};

QTEST_APPLESS_MAIN(TestPlanFile)
#include "test_plan_file.moc"
