// SPDX-License-Identifier: GPL-3.0-or-later
// What ranks agree on when some are gone or have come back: as values, without ranks.
#include <QTest>

#include "core/engine/regroup.h"
#include "core/engine/way_on.h"
#include "core/planner/timeline/evaluator.h"
#include "tests/engine/random_plans.h"

using namespace skippipe;

namespace {

std::string at_iteration(int done, const Commit& commit = {}) { return to_text(RankPosition{done, commit}); }

/// What `work` says is wrong; empty where nothing is.
template <class Work>
std::string fault_of(const Work& work) {
    try {
        work();
        return {};
    } catch (const InputError& error) {
        return to_string(error.faults().front());
    }
}

/// Six nodes, two a stage; rank r has node r of each ring.
struct Scene {
    Problem problem;
    RankSchedule everybody;

    Scene() {
        Experiment experiment;
        experiment.pipeline.stages = 3;
        experiment.model.blocks = 3;
        experiment.pipeline.microbatches = 4;
        experiment.pipeline.skip_ratio = 0;
        for (int n = 0; n < 6; ++n)
            experiment.topology.nodes.push_back({.id = "n" + std::to_string(n), .seconds_per_sample_per_block = 0.1});
        for (int a = 0; a < 6; ++a)
            for (int b = 0; b < a; ++b)
                experiment.topology.links.push_back({.from = "n" + std::to_string(a),
                                                     .to = "n" + std::to_string(b),
                                                     .latency_s = 0.01,
                                                     .bandwidth_bytes_per_s = 1e8});
        problem = make_problem(experiment);
        Plan plan{.planner = "test", .blocks = problem.blocks};
        plan.stages = {{0, 1}, {2, 3}, {4, 5}};
        for (MicrobatchIndex m = 0; m < 4; ++m) {
            const int side = m % 2;
            plan.paths.push_back({m, {NodeIndex(side), NodeIndex(2 + side), NodeIndex(4 + side)}});
        }
        everybody = make_schedule(problem, plan, {0, 1, 0, 1, 0, 1}, 2);
    }
};

}  // namespace

class TestRegroup : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void all_stand_where_the_furthest_does() {
        const auto same = agree({at_iteration(4, {{1}}), at_iteration(4, {{1}}), ""});
        QCOMPARE(same.iterations_done, 4);
        QVERIFY2(same.commit.empty(), "nobody needs it");
        const Commit commit{{1, 2, 0.5, 1e-300}, {}, {1. / 3, 2, 0.25, 7}};
        const auto behind = agree({at_iteration(4), "", at_iteration(5, commit)});
        QCOMPARE(behind.iterations_done, 5);
        QVERIFY(behind.commit == commit);
        QVERIFY(behind.joined.empty());
        const auto joins = agree({at_iteration(7), at_iteration(-1)});
        QCOMPARE(joins.iterations_done, 7);
        QCOMPARE(joins.joined, std::vector<int>{1});
    }

    void what_cannot_be_is_refused() {
        QVERIFY(!fault_of([] { agree({at_iteration(3), at_iteration(5, {{1}})}); }).empty());
        QVERIFY2(!fault_of([] { agree({at_iteration(3), at_iteration(4)}); }).empty(), "ahead, without the sums");
        for (const char* text : {"{", "[]", R"({"iterations_done": "x", "commit": []})", R"({"iterations_done": 1})",
                                 R"({"iterations_done": 1, "commit": [["a"]]})"}) {
            const auto fault = fault_of([&] { agree({at_iteration(3), text}); });
            QVERIFY2(fault.find("rank 1") != std::string::npos, fault.c_str());
            QVERIFY(!fault_of([&] { read_agreement(text); }).empty());
        }
    }

    /// A switch that one has made all know; who has just come has made none.
    void all_have_the_plan_that_one_has() {
        const auto after = [](int switches, int done = 4) {
            return to_text(RankPosition{.iterations_done = done, .switches = switches});
        };
        QCOMPARE(agree({after(2), after(2)}).switches, 2);
        QCOMPARE(agree({after(2), "", after(3)}).switches, 3);
        QCOMPARE(agree({after(3), after(2)}).switches, 3);
        QCOMPARE(agree({after(3), after(0, RankPosition::has_come)}).switches, 3);
        QCOMPARE(agree({after(3), after(3, RankPosition::torn)}).switches, 3);
        QVERIFY(!fault_of([&] { agree({after(1), after(3)}); }).empty());
        QVERIFY(!fault_of([&] { agree({after(-2'147'483'647), after(2'147'483'647)}); }).empty());
    }

    void agreements_travel() {
        const NeighbourRebuild rebuild{2, {{1, 0.25}, {3, 0.75}}, 1.21};
        const Agreement given{5, {{0.1, 2}, {}}, {2}, true, "kept", {2},    {rebuild},  {1}, 1,    true, 3, 4,
                              9, "{}",           1,   {1},  0.25,   1. / 3, {"{}", ""}, 7,   "{1}"};
        const auto got = read_agreement(to_text(given));
        QCOMPARE(got.iterations_done, given.iterations_done);
        QVERIFY(got.commit == given.commit);
        QCOMPARE(got.joined, given.joined);
        QVERIFY(got.validation_due);
        QCOMPARE(got.rebuilt, given.rebuilt);
        QCOMPARE(got.passed_over, given.passed_over);
        QCOMPARE(got.neighbours.size(), std::size_t{1});
        QCOMPARE(got.neighbours[0].stage, 2);
        QCOMPARE(got.neighbours[0].learning_rate, 1.21);
        QCOMPARE(got.neighbours[0].sources.size(), std::size_t{2});
        QCOMPARE(got.neighbours[0].sources[1].node, 3);
        QCOMPARE(got.neighbours[0].sources[1].share, 0.75);
        QCOMPARE(got.validated_at, 3);
        QCOMPARE(got.committed_at, 4);
        QCOMPARE(got.iterations, 9);
        QCOMPARE(got.plan_json, given.plan_json);
        QCOMPARE(got.switches, 7);
        QCOMPARE(got.placement, given.placement);
        QCOMPARE(got.rests, 1);
        QCOMPARE(got.onlookers, given.onlookers);
        QCOMPARE(got.origin_s, given.origin_s);
        QCOMPARE(got.at_s, given.at_s);
        QVERIFY(got.progress == given.progress);
    }

    /// Of how far the ranks are, all have to be told.
    void a_rest_is_of_all_ranks() {
        const Scene scene;
        ReplanController controller;
        const auto rest = [&](std::vector<std::string> progress) {
            const Agreement agreement{.rests = 0, .progress = std::move(progress)};
            rest_of(scene.problem, scene.everybody, scene.everybody.plan, nullptr, {0}, agreement, controller);
        };
        QCOMPARE(fault_of([&] { rest({"", ""}); }), std::string{});
        for (const std::size_t count : {0u, 1u, 3u})
            QVERIFY(fault_of([&] { rest(std::vector<std::string>(count)); }).find("rank 0") != std::string::npos);
    }

    /// The nodes that are left do everything; with everybody there again, the plan is what it was.
    void siblings_take_over() {
        const Scene s;
        ReplanController controller;
        const auto left = schedule_for(s.problem, s.everybody, {0}, controller);
        QCOMPARE(left.plan.paths.size(), std::size_t(4));
        for (const auto& path : left.plan.paths)
            for (const NodeIndex node : path.nodes) QCOMPARE(left.rank_of[at(node)], 0);
        QVERIFY(left.transfers.empty());
        QVERIFY(evaluate(s.problem, left.plan).complete);
        const auto whole = schedule_for(s.problem, s.everybody, {0, 1}, controller);
        QVERIFY(whole.plan == s.everybody.plan);
        QVERIFY(nodes_of_ranks(s.everybody, {1}) == (std::vector<NodeIndex>{1, 3, 5}));
    }

    /// Who has just come has no weights: a stage needs somebody who has, or a checkpoint.
    void a_stage_without_weights() {
        Scene s;
        s.everybody.rank_of = {0, 1, 1, 1, 0, 1};
        const auto way = [&](std::vector<int> members, std::vector<int> joined, bool has_checkpoint) {
            return way_on(s.problem, s.everybody, {}, {members, joined, "its connection broke", true}, has_checkpoint,
                          [] { return true; });
        };
        const auto gone = fault_of([&] { way({0}, {}, false); });
        QVERIFY2(gone.find("rank 1 is gone (nodes n1, n2, n3, n5): its connection broke; stage 1 has no node left") !=
                     std::string::npos,
                 gone.c_str());
        QVERIFY(!fault_of([&] { way({0, 1}, {1}, false); }).empty());
        QCOMPARE(way({0}, {}, true).waits_for, 1);
        QVERIFY(!way({0}, {}, true).goes_back);
        QCOMPARE(way({0, 1}, {1}, true).waits_for, -1);
        const Recovery alone{.rebuild = StageRebuild::checkpoint};
        const auto rebuilt = way_on(s.problem, s.everybody, alone, {{0, 1}, {1}, "", true}, true, [] { return true; });
        QVERIFY(!rebuilt.goes_back);
        QCOMPARE(rebuilt.rebuilt, (std::vector<int>{1}));
        QVERIFY(way({0, 1}, {1}, true).goes_back);
    }

    /// Paths go on without a stage that may start anew by itself, or that nobody comes for; else all wait for it.
    void a_stage_is_passed_over() {
        Scene s;
        s.everybody.rank_of = {0, 1, 1, 1, 0, 1};
        const auto way = [&](RecoveryPolicy policy, StageRebuild rebuild, bool never, bool has_plan) {
            const Recovery recovery{.policy = policy, .rebuild = rebuild};
            Met met{{0}, {}, "its connection broke", true};
            if (never) met.never_back = {1};
            return way_on(s.problem, s.everybody, recovery, met, true, [&] { return has_plan; });
        };
        using enum RecoveryPolicy;
        for (const auto policy : {reroute, skip, drop}) {
            QCOMPARE(way(policy, StageRebuild::checkpoint, false, true).passed_over, std::vector<int>{1});
            QCOMPARE(way(policy, StageRebuild::neighbours, false, true).passed_over, std::vector<int>{1});
            QCOMPARE(way(policy, StageRebuild::checkpoint, false, true).waits_for, -1);
            QCOMPARE(way(policy, StageRebuild::checkpoint, false, false).waits_for, 1);
            QCOMPARE(way(policy, StageRebuild::disk, false, true).waits_for, 1);
            QCOMPARE(way(policy, StageRebuild::disk, true, true).passed_over, std::vector<int>{1});
            QVERIFY(!way(policy, StageRebuild::disk, true, true).goes_back);
        }
        for (const auto policy : {replay, restart}) {
            QCOMPARE(way(policy, StageRebuild::checkpoint, false, true).waits_for, 1);
            const auto never = fault_of([&] { way(policy, StageRebuild::checkpoint, true, true); });
            QVERIFY2(never.find("stage 1 has no node left") != std::string::npos, never.c_str());
        }
        QVERIFY(!fault_of([&] { way(reroute, StageRebuild::checkpoint, true, false); }).empty());
    }

    /// Ten minutes, and as long as somebody may be away; what is only slower, or cut, is there.
    void how_long_they_wait() {
        const auto lasting = [](FailureKind kind) {
            return Failure{.kind = kind, .target = "n1", .at_s = 1, .rejoin_after_s = 50};
        };
        using enum FailureKind;
        QCOMPARE(longest_wait_s({}, {}), 600.0);
        QCOMPARE(longest_wait_s({}, {{.kind = crash, .target = "n1", .at_s = 1}}), 600.0);
        QCOMPARE(longest_wait_s({}, {lasting(crash)}), 650.0);
        QCOMPARE(longest_wait_s({}, {lasting(stage_loss), lasting(crash)}), 650.0);
        QCOMPARE(longest_wait_s({}, {lasting(slow_down), lasting(link_cut), lasting(jitter)}), 600.0);
        QCOMPARE(longest_wait_s({.wait_s = 0}, {}), 0.0);
        QCOMPARE(borne_silence_s({}), 5.0);  // what the virtual clock has is too short for real processes
        QCOMPARE(borne_silence_s({.deadline_s = 12}), 12.0);
        QCOMPARE(longest_wait_s({.wait_s = 0}, {lasting(crash)}), 50.0);
    }

    /// By the squared norms of their gradients, where these are known; the first stage has no neighbour like it.
    void a_stage_is_made_of_its_neighbours() {
        Scene s;
        s.everybody.rank_of = {0, 1, 2, 2, 0, 1};
        const Recovery recovery{.rebuild = StageRebuild::neighbours};
        const auto made = [&](std::vector<double> norms, std::vector<double> rates) {
            return way_on(s.problem, s.everybody, recovery, {{0, 1, 2}, {2}, "", true, false, {}, norms, rates}, false,
                          [] { return true; });
        };
        const auto known = made({1, 7, 3}, {1, 1.1, 1});
        QVERIFY(known.rebuilt.empty() && !known.goes_back && known.waits_for < 0);
        QCOMPARE(known.neighbours.size(), std::size_t{1});
        QCOMPARE(known.neighbours[0].stage, 1);
        QCOMPARE(known.neighbours[0].sources[0].node, 0);
        QCOMPARE(known.neighbours[0].sources[0].share, 0.25);
        QCOMPARE(known.neighbours[0].sources[1].node, 4);
        QCOMPARE(known.neighbours[0].sources[1].share, 0.75);
        QVERIFY(std::abs(known.neighbours[0].learning_rate - 1.21) < 1e-12);
        QCOMPARE(made({}, {}).neighbours[0].sources[0].share, 0.5);
        s.everybody.rank_of = {2, 2, 0, 1, 0, 1};
        const auto first = fault_of([&] { made({}, {}); });
        QVERIFY2(first.find("stage 0 has no node left") != std::string::npos, first.c_str());
    }

    /// With `restart` whoever is lost; where some have gone back and others not, they do so again.
    void who_goes_back() {
        const Scene s;
        const auto goes_back = [&](RecoveryPolicy policy, bool lost, bool torn, bool has_checkpoint) {
            Recovery recovery;
            recovery.policy = policy;
            const auto way = way_on(s.problem, s.everybody, recovery, {{0}, {}, "", lost, torn}, has_checkpoint,
                                    [] { return true; });
            return way.goes_back && way.waits_for < 0;
        };
        QVERIFY(goes_back(RecoveryPolicy::restart, true, false, true));
        QVERIFY(!goes_back(RecoveryPolicy::restart, false, false, true));  // one has only come back
        QVERIFY(!goes_back(RecoveryPolicy::restart, true, false, false));
        QVERIFY(!goes_back(RecoveryPolicy::reroute, true, false, true));
        QVERIFY(goes_back(RecoveryPolicy::reroute, false, true, true));
    }
};

QTEST_GUILESS_MAIN(TestRegroup)
#include "test_regroup.moc"
