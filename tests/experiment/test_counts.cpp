// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTest>

#include "core/experiment/counts.h"
#include "core/experiment/model_size.h"

using namespace skippipe;

class TestCounts : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void path_length_rounds_halves_upwards_from_the_decimal_data() {
        QTest::addColumn<int>("stages");
        QTest::addColumn<double>("skip");
        QTest::addColumn<int>("length");
        QTest::newRow("4.5") << 5 << 0.1 << 5;
        QTest::newRow("4.02") << 6 << 0.33 << 4;
        QTest::newRow("4.0002") << 6 << 0.3333 << 4;
        QTest::newRow("2.5") << 5 << 0.5 << 3;
        QTest::newRow("3") << 4 << 0.25 << 3;
        QTest::newRow("6") << 8 << 0.25 << 6;
        QTest::newRow("13.5, where doubles give less") << 15 << 0.1 << 14;
        QTest::newRow("2.5 of 50, where doubles give less") << 50 << 0.95 << 3;
        QTest::newRow("none") << 6 << 0.0 << 6;
        QTest::newRow("all") << 6 << 1.0 << 0;
        QTest::newRow("tiny") << 1024 << 1e-300 << 1024;
        QTest::newRow("many digits") << 1024 << 0.30000000000000004 << 717;
        QTest::newRow("one stage") << 1 << 0.0 << 1;
    }
    void path_length_rounds_halves_upwards_from_the_decimal() {
        QFETCH(int, stages);
        QFETCH(double, skip);
        QFETCH(int, length);
        QCOMPARE(path_length(stages, skip), length);
    }

    void uniform_cap_rounds_upwards() {
        QCOMPARE(uniform_cap(30, 4, 6), 18);
        QCOMPARE(uniform_cap(10, 4, 6), 6);
        QCOMPARE(uniform_cap(7, 3, 4), 5);
        QCOMPARE(uniform_cap(7, 1, 1), 7);
        QCOMPARE(uniform_cap(1'000'000, 1024, 1024), 1'000'000);
    }

    void parameters_are_counted_by_hand() {
        ModelSpec model{.blocks = 6, .width = 128, .heads = 4, .vocabulary = 256, .sequence = 128};
        QCOMPARE(ffn_width(model), 344);  // 341.3 to the next multiple of 8
        QCOMPARE(block_parameters(model), 65536.0 + 132096.0 + 256.0);
        QCOMPARE(stage_parameters(model, 2, false), 2 * 197888.0);
        QCOMPARE(stage_parameters(model, 1, true), 197888.0 + 65536.0 + 128.0);
        model.ffn_width = 100;
        QCOMPARE(ffn_width(model), 100);
    }

    void memory_follows_the_nearest_rule() {
        Experiment e;
        e.model = {.blocks = 2, .width = 4, .heads = 1, .ffn_width = 8, .vocabulary = 256, .sequence = 2};
        e.pipeline.stages = 2;
        e.pipeline.microbatch_samples = 1;
        e.pipeline.memory_microbatches = 3;
        // 2 tokens; a block keeps q, k, v (12), attention (4) and its log-sum (1), the middle (4) and SwiGLU's input
        // (16); the stage its input (4).
        const double each = 4.0 * 2 * (12 + 4 + 1 + 4 + 16 + 4);
        QCOMPARE(activation_bytes(e, 1), each);
        Node node;
        QCOMPARE(memory_limit(e, node), 3);
        const double state = 16 * (64 + 96 + 8 + 2 * 256 * 4 + 4);
        QCOMPARE(state_bytes(e, 1, true), state);
        const double fixed = state + workspace_bytes(e, 1, true);
        node.memory_bytes = fixed + 5.5 * each;
        QCOMPARE(memory_limit(e, node), 5);
        node.memory_bytes = fixed;
        QCOMPARE(memory_limit(e, node), 0);
        e.pipeline.microbatch_sizes = {1, 2};  // the largest counts
        node.memory_bytes = state + workspace_bytes(e, 1, true) + 2.5 * 2 * each;
        QCOMPARE(memory_limit(e, node), 2);
        node.memory_microbatches = 9;
        QCOMPARE(memory_limit(e, node), 9);
    }

    /// Shared keys and values are left to autograd, which keeps all scores; a GPU's attention and a drawn machine do
    /// not.
    void grouped_heads_keep_scores() {
        Experiment e;
        e.model = {.blocks = 1, .width = 8, .heads = 4, .ffn_width = 16, .vocabulary = 256, .sequence = 100};
        e.pipeline.microbatch_samples = 1;
        e.topology.nodes = {{.id = "a"}};
        const double plain = activation_bytes(e, 1);
        e.model.kv_heads = 2;
        QCOMPARE(activation_bytes(e, 1), 4.0 * 100 * (10 * 8 + 4 * 16 + 2 + 4 * 100));
        e.execution.compute = Compute::cost;
        QCOMPARE(activation_bytes(e, 1), plain);
        e.execution.compute = Compute::torch;
        e.topology.nodes[0].device = "cuda";
        QCOMPARE(activation_bytes(e, 1), plain);
    }

    void planned_blocks_begin_evenly() {
        Experiment e;
        e.model.blocks = 14;
        e.pipeline.stages = 4;
        e.pipeline.plan_blocks = true;
        QCOMPARE(stage_blocks(e), (std::vector<int>{3, 3, 4, 4}));
        e.pipeline.blocks_per_stage = {1, 1, 1, 11};
        QCOMPARE(stage_blocks(e), e.pipeline.blocks_per_stage);
    }

    void blocks_are_spread_evenly() {
        QCOMPARE(even_blocks(8, 6), (std::vector<int>{1, 1, 1, 1, 2, 2}));
        QCOMPARE(even_blocks(6, 3), (std::vector<int>{2, 2, 2}));
    }

    void logits_in_memory_at_once() {
        ModelSpec model{.vocabulary = 256};
        QCOMPARE(head_rows(model, 100'000), std::int64_t{1024});
        QCOMPARE(head_rows(model, 100), std::int64_t{100});
        model.vocabulary = 32'000;
        QCOMPARE(head_rows(model, 100'000), std::int64_t{256});
        QCOMPARE(head_rows(model, 100), std::int64_t{100});
        Experiment e;
        e.model = model;
        e.pipeline.microbatch_samples = 8;
        QCOMPARE(workspace_bytes(e, 1, true) - workspace_bytes(e, 1, false), 4.0 * 256 * 32'000);
    }

    void recomputing_trades_memory_for_a_forward() {
        Experiment e;
        e.costs.backward_factor = 1.5;
        const double kept = activation_bytes(e, 2), scratch = workspace_bytes(e, 2, false);
        QCOMPARE(backward_factor(e), 1.5);
        e.training.recompute = true;
        QCOMPARE(backward_factor(e), 2.5);
        const double input = 4.0 * e.pipeline.microbatch_samples * e.model.sequence * e.model.width;
        QCOMPARE(activation_bytes(e, 2), input);
        QCOMPARE(workspace_bytes(e, 2, false), scratch + kept - input);
        e.pipeline.split_backward = true;  // what was recomputed waits for W
        QVERIFY(activation_bytes(e, 2) > kept + input);
    }

    void messages() {
        QCOMPARE(wire_bytes(WireType::fp32, 10, 128), std::size_t(5120));
        QCOMPARE(wire_bytes(WireType::bf16, 10, 128), std::size_t(2560));
        QCOMPARE(wire_bytes(WireType::int8, 10, 128), std::size_t(1320));
        QCOMPARE(gradient_wire_bytes(WireType::fp32, 1000), std::size_t(4000));
        QCOMPARE(gradient_wire_bytes(WireType::bf16, 1000), std::size_t(2000));
        QCOMPARE(gradient_wire_bytes(WireType::int8, 1000), std::size_t(1016));
        QCOMPARE(gradient_wire_bytes(WireType::int8, 1025), std::size_t(1043));
        QCOMPARE(gradient_wire_bytes(WireType::int8, 1024), std::size_t(1040));
        QCOMPARE(gradient_wire_bytes(WireType::int8, 0), std::size_t(0));
        QCOMPARE(gradient_value_bytes(WireType::int8), 1.015625);
    }
};

QTEST_APPLESS_MAIN(TestCounts)
#include "test_counts.moc"
