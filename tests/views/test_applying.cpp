// SPDX-License-Identifier: GPL-3.0-or-later
// Forms show what applies: a table of fields and of what hides them; what constraints and memory come to, in words and
// as a bar; what the focused field means.
#include <QLabel>
#include <QLineEdit>
#include <QSlider>
#include <QToolButton>
#include <QtTest>

#include "core/experiment/model_size.h"
#include "core/experiment/validate.h"
#include "plugins/planners/all.h"
#include "tests/views/shown_inspector.h"
#include "views/inspector/applying.h"
#include "views/inspector/form.h"
#include "views/theme/theme.h"
#include "views/topology/edits.h"

using namespace skippipe;

namespace {

using Change = void (*)(Experiment&);

/// A field of a part, and an edit after which it no longer applies.
struct Row {
    const char* name;
    FormPart part;
    const char* key;
    Change hide;
    Change show = [](Experiment&) {};  ///< before that: what makes it apply
};

void wall(Experiment& e) { e.execution.clock = Clock::wall; }
void cost(Experiment& e) { e.execution.compute = Compute::cost; }
void matrix(Experiment& e) { e.topology.hop_matrix_s = {{0, 1}, {1, 0}}; }
void ignore_memory(Experiment& e) { e.pipeline.constraints.memory = MemoryRule::ignore; }

const Row rows[] = {
    {"samples beside sizes", FormPart::pipeline, "microbatch_samples",
     [](Experiment& e) {
         e.pipeline.microbatch_sizes = {4, 8};
     }},
    {"stage sizes beside a placement", FormPart::pipeline, "stage_sizes",
     [](Experiment& e) {
         e.pipeline.placement = {{"node-1"}, {"node-2"}};
     }},
    {"M where each node has its own", FormPart::pipeline, "memory_microbatches",
     [](Experiment& e) {
         for (auto& node : e.topology.nodes) node.memory_microbatches = 2;
     }},
    {"M without its rule", FormPart::pipeline, "memory_microbatches", ignore_memory},
    {"swaps in any order", FormPart::constraints, "max_swaps",
     [](Experiment& e) { e.pipeline.constraints.bounded_disorder = false; }},
    {"norm of nothing clipped", FormPart::training, "clip_norm",
     [](Experiment& e) { e.training.clip = ClipRule::none; }},
    {"rate of a simulation", FormPart::training, "learning_rate", cost},
    {"warm-up of a simulation", FormPart::training, "warmup_iterations", cost},
    {"decay of a simulation", FormPart::training, "weight_decay", cost},
    {"clipping of a simulation", FormPart::training, "clip", cost},
    {"validation of a simulation", FormPart::training, "validate_every", cost},
    {"weights of a simulation", FormPart::training, "initial_weights", cost},
    {"kept checkpoints of none", FormPart::training, "keep_checkpoints",
     [](Experiment& e) { e.training.checkpoint_every = 0; }, [](Experiment& e) { e.training.checkpoint_every = 5; }},
    {"path of the Bible", FormPart::data, "path", [](Experiment& e) { e.data.source = DataSource::bible_kjv; },
     [](Experiment& e) { e.data.source = DataSource::text; }},
    {"tokenizer of tokens", FormPart::data, "tokenizer", [](Experiment& e) { e.data.source = DataSource::tokens; },
     [](Experiment& e) { e.data.source = DataSource::text; }},
    {"lines of a matrix", FormPart::costs, "links", matrix},
    {"overhead of a matrix", FormPart::costs, "overhead_s", matrix},
    {"reductions of a matrix", FormPart::costs, "all_reduce", matrix},
    {"gradients that are free", FormPart::costs, "gradient_bytes",
     [](Experiment& e) { e.costs.all_reduce = AllReduceRule::free; }},
    {"a core's work in a drawn network", FormPart::costs, "transfer_cpu_s",
     [](Experiment& e) { e.execution.clock = Clock::virtual_time; }, wall},
    {"a core's work on a ring", FormPart::costs, "reduction_cpu_s_per_byte",
     [](Experiment& e) { e.costs.all_reduce = AllReduceRule::charged; },
     [](Experiment& e) {
         wall(e);
         e.costs.all_reduce = AllReduceRule::planned;
     }},
    {"rate of what no neighbour rebuilds", FormPart::recovery, "rebuilt_learning_rate",
     [](Experiment& e) { e.recovery.rebuild = StageRebuild::disk; },
     [](Experiment& e) { e.recovery.rebuild = StageRebuild::neighbours; }},
    {"restoring where nobody restarts", FormPart::recovery, "restore_s",
     [](Experiment& e) { e.recovery.policy = RecoveryPolicy::reroute; },
     [](Experiment& e) { e.recovery.policy = RecoveryPolicy::restart; }},
    {"moves without a plan", FormPart::recovery, "move_nodes_s", [](Experiment& e) { e.recovery.planning_s = 0; }},
    {"waiting in a drawn network", FormPart::recovery, "wait_s",
     [](Experiment& e) { e.execution.clock = Clock::virtual_time; }, wall},
    {"jitter of links that are not shaped", FormPart::execution, "link_jitter",
     [](Experiment& e) { e.execution.shape_links = false; },
     [](Experiment& e) {
         wall(e);
         e.execution.shape_links = true;
     }},
    {"products of a simulation", FormPart::execution, "products", cost},
    {"device of a simulation", FormPart::node, "device", cost},
    {"rank in a drawn network", FormPart::node, "rank", [](Experiment& e) { e.execution.clock = Clock::virtual_time; },
     wall},
    {"uplink beside a matrix", FormPart::node, "up_bytes_per_s", matrix},
    {"a node's M without its rule", FormPart::node, "memory_microbatches", ignore_memory},
};

Experiment two_nodes() {
    Experiment e;
    for (int i = 0; i < 2; ++i) add_node(e, {100.0 * i, 0});
    add_link(e, "node-1", "node-2");
    e.pipeline.stages = 2;
    return e;
}

}  // namespace

class TestApplying : public QObject {
    Q_OBJECT
    PlannerRegistry planners_;

    struct Form : ShownInspector {
        explicit Form(const PlannerRegistry& planners) : ShownInspector(planners, two_nodes(), {320, 600}) {}
        template <class Kind>
        Kind* find(const char* name) {
            return inspector.widget()->findChild<Kind*>(name);
        }
    };

private Q_SLOTS:
    void initTestCase() { register_planners(planners_); }

    void fields_without_a_meaning_are_hidden_data() {
        QTest::addColumn<int>("which");
        int which = 0;
        for (const auto& row : rows) QTest::newRow(row.name) << which++;
    }
    void fields_without_a_meaning_are_hidden() {
        QFETCH(int, which);
        const Row& row = rows[which];
        Experiment e = two_nodes();
        row.show(e);
        QVERIFY2(!hidden_fields(row.part, e, {}).contains(row.key), "it applied before");
        const QString before = applying_key(e, {});
        row.hide(e);
        QVERIFY(hidden_fields(row.part, e, {}).contains(row.key));
        QVERIFY2(applying_key(e, {}) != before, "the form follows");
    }

    void what_a_fault_speaks_of_stays() {
        Experiment e = two_nodes();
        const Faults faults{{.pointer = "/topology/nodes/1/rank", .what = "?"},
                            {.pointer = "/training/clip_norm", .what = "?"}};
        e.training.clip = ClipRule::none;
        QVERIFY(hidden_fields(FormPart::node, e, {}).contains("rank"));
        QVERIFY(!hidden_fields(FormPart::node, e, faults).contains("rank"));
        QVERIFY(!hidden_fields(FormPart::training, e, faults).contains("clip_norm"));
    }

    void the_form_itself_follows() {
        Form f(planners_);
        QVERIFY(QTest::qWaitForWindowExposed(&f.inspector));
        QVERIFY(f.find<QLineEdit>("clip_norm") != nullptr);
        f.document.edit("none", [](Experiment& e) { e.training.clip = ClipRule::none; });
        QVERIFY(f.find<QLineEdit>("clip_norm") == nullptr);
        f.selection.select({.nodes = {"node-1", "node-2"}});
        QVERIFY2(f.find<QLineEdit>("rank") == nullptr, "several nodes have no rank either under the virtual clock");
        QVERIFY(f.find<QLineEdit>("memory_microbatches") != nullptr);
        f.document.edit("wall", wall);
        QVERIFY(f.find<QLineEdit>("rank") != nullptr);
        f.selection.clear();
        QVERIFY2(f.inspector.widget()->findChildren<QLineEdit*>("bandwidth_bytes_per_s").empty(),
                 "no region, no switch");
        f.document.edit("region", [](Experiment& e) { add_region(e, {}); });
        QCOMPARE(f.inspector.widget()->findChildren<QLineEdit*>("bandwidth_bytes_per_s").size(), 1);
    }

    void rules_say_what_they_mean() {
        Form f(planners_);
        const auto says = [&](const char* name) { return f.find<QLabel>(name)->text(); };
        QVERIFY2(says("uniform_execution_words").contains("at most 30 of the 30"),
                 qPrintable(says("uniform_execution_words")));
        QVERIFY2(says("bounded_disorder_words").contains("2 times at most") &&
                     says("bounded_disorder_words").contains("at most 3 at once"),
                 qPrintable(says("bounded_disorder_words")));
        QVERIFY2(says("memory_words").contains("fewer microbatches"), qPrintable(says("memory_words")));
        f.document.edit("off", [](Experiment& e) {
            e.pipeline.constraints = {
                .uniform_execution = false, .bounded_disorder = false, .memory = MemoryRule::ignore};
        });
        for (const char* name : {"uniform_execution_words", "bounded_disorder_words", "memory_words"})
            QVERIFY2(says(name).startsWith("Off"), name);
    }

    void memory_is_that_of_the_nodes_own_stage() {
        Form f(planners_);
        f.document.edit("memory", [](Experiment& e) {
            e.topology.nodes[1].memory_bytes = 8e9;
            e.model.blocks = 6;
        });
        f.selection.select({.nodes = {"node-2"}});
        auto* bar = f.find<MemoryBar>("memory_bar");
        auto* words = f.find<QLabel>("memory_words");
        QVERIFY(bar != nullptr && words != nullptr && !bar->need().stage);
        QVERIFY2(words->text().startsWith("The largest stage"), qPrintable(words->text()));
        f.inspector.show_stages({{"node-2", {1, 2}}});
        const MemoryNeed need = bar->need();
        const Experiment& e = f.document.experiment();
        QCOMPARE(need.stage.value_or(ServedStage{}), (ServedStage{1, 2}));
        QCOMPARE(need.weights, 4 * 2 * block_parameters(e.model));
        QCOMPARE(need.gradients, need.weights);
        QCOMPARE(need.moments, 2 * need.weights);
        QCOMPARE(need.activations, activation_bytes(e, 2));
        QCOMPARE(need.microbatches, std::min(memory_limit(e, e.topology.nodes[1]), e.pipeline.microbatches));
        QVERIFY2(words->text().startsWith("Stage 1, 2 blocks") && words->text().contains("of 8"),
                 qPrintable(words->text()));
        QVERIFY(bar->accessibleName().contains("AdamW") && bar->toolTip().contains("Activations"));
        // Of several nodes a field says what holds for all of them.
        f.selection.select({.nodes = {"node-1", "node-3"}});
        QVERIFY(f.find<QLineEdit>("up_bytes_per_s")->placeholderText().startsWith("no limit"));
        f.selection.select({.nodes = {"node-2"}});
        bar = f.find<MemoryBar>("memory_bar");
        // What does not fit is marked, and all of it is seen.
        f.document.edit("small", [](Experiment& x) { x.topology.nodes[1].memory_microbatches = 30; });
        f.document.edit("small", [](Experiment& x) { x.topology.nodes[1].memory_bytes = 1e6; });
        QVERIFY(bar->need().total() > *bar->need().has);
        // Not even one microbatch fits, which is an error of the experiment.
        f.document.edit("by memory", [](Experiment& x) { x.topology.nodes[1].memory_microbatches.reset(); });
        QVERIFY(has_errors(f.document.faults()) && !bar->parentWidget()->isHidden());
        QCOMPARE(bar->need().microbatches, 1);
        f.selection.select({.nodes = {"node-1"}});
        f.selection.select({.nodes = {"node-2"}});
        bar = f.find<MemoryBar>("memory_bar");
        QTRY_VERIFY2(bar->height() >= bar->sizeHint().height(), "all rows of its key");
        bar->resize(240, bar->sizeHint().height());
        const QImage seen = bar->grab().toImage();
        bool has_mark = false;
        for (int x = 0; x < seen.width(); ++x) has_mark = has_mark || seen.pixelColor(x, 4) == theme().bad;
        QVERIFY(has_mark);
    }

    void the_skip_slider_says_what_is_dropped() {
        Form f(planners_);
        f.document.edit("stages", [](Experiment& e) { e.pipeline.stages = 6; });
        auto* slider = f.find<QSlider>("skip_slider");
        auto* words = f.find<QLabel>("skip_words");
        QVERIFY(slider != nullptr && words != nullptr);
        QCOMPARE(slider->maximum(), 4);
        slider->setValue(2);
        QCOMPARE(f.document.experiment().pipeline.skip_ratio, 0.333);
        QVERIFY2(words->text().startsWith("Visits 4 of 6 stages"), qPrintable(words->text()));
        slider->setValue(3);
        QVERIFY2(f.document.undo_stack().count() == 2, "one drag is one command");
        f.document.undo_stack().undo();
        QCOMPARE(slider->value(), 0);
        QVERIFY2(words->text().startsWith("Every microbatch visits all 6"), qPrintable(words->text()));
        auto* ratio = f.find<QLineEdit>("skip_ratio");
        QVERIFY2(ratio != nullptr && ratio->text() == "0", "beside it the ratio itself");
        slider->setValue(1);
        QCOMPARE(ratio->text(), QString("0.167"));
        ratio->setText("0.6");
        ratio->setModified(true);
        Q_EMIT ratio->editingFinished();
        QCOMPARE(slider->value(), 4);
        QCOMPARE(f.document.experiment().pipeline.skip_ratio, 0.6);
    }

    void the_focused_field_says_what_it_may_be() {
        Form f(planners_);
        QVERIFY(QTest::qWaitForWindowActive(&f.inspector));
        auto* section = f.inspector.widget()->findChild<QToolButton*>();
        section->setFocus();
        QVERIFY2(!f.inspector.help().isVisible(), "no field has the keys");
        f.find<QSlider>("skip_slider")->setFocus();
        QTRY_VERIFY2(f.inspector.help().text().contains("skips"), qPrintable(f.inspector.help().text()));
        auto* field = f.find<QLineEdit>("microbatches");
        field->setFocus();
        QTRY_VERIFY(f.inspector.help().isVisible());
        QVERIFY2(f.inspector.help().text().contains("of one iteration") && f.inspector.help().text().contains("1 to"),
                 qPrintable(f.inspector.help().text()));
        const QRect strip = f.inspector.help().geometry();
        const QRect seen(field->mapTo(&f.inspector, QPoint()), field->size());
        QVERIFY2(!strip.intersects(seen) && f.inspector.rect().contains(strip), "it covers no field");
        section->setFocus();
        QTRY_VERIFY(!f.inspector.help().isVisible());
    }
};

QTEST_MAIN(TestApplying)
#include "test_applying.moc"
