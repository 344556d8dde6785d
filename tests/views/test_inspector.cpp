// SPDX-License-Identifier: GPL-3.0-or-later
// The inspector shows what is selected, and what is typed there is in the document.
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QTextDocument>
#include <QtTest>

#include "plugins/planners/all.h"
#include "tests/views/shown_inspector.h"
#include "views/inspector/applying.h"
#include "views/inspector/form.h"
#include "views/inspector/prose_edit.h"
#include "views/plan/plan_service.h"
#include "views/theme/brief_combo.h"
#include "views/theme/elided_edit.h"
#include "views/theme/numbers.h"
#include "views/theme/words.h"
#include "views/topology/edits.h"

using namespace skippipe;

class TestInspector : public QObject {
    Q_OBJECT
    PlannerRegistry planners_;

    static void type(QLineEdit* field, const QString& text) {
        field->setFocus();
        field->selectAll();
        QTest::keyClicks(field, text);
        QTest::keyClick(field, Qt::Key_Return);
    }

private Q_SLOTS:
    void initTestCase() { register_planners(planners_); }

    /// A new node's speed is nobody's: one choice makes it a device's.
    void a_node_becomes_a_device_by_one_choice() {
        Experiment e;
        for (int i = 0; i < 2; ++i) add_node(e, {100.0 * i, 0});
        ShownInspector shown(planners_, e);
        auto& [document, selection, failures, inspector] = shown;
        selection.select({.nodes = {"node-1"}});
        const auto find = [&](auto* kind, const char* name) {
            return inspector.widget()->findChild<std::remove_pointer_t<decltype(kind)>*>(name);
        };
        auto* box = find(static_cast<QComboBox*>(nullptr), "node_hardware");
        auto* words = find(static_cast<QLabel*>(nullptr), "made_up_words");
        QVERIFY(box != nullptr && words != nullptr);
        QCOMPARE(box->currentText(), QString("own figures"));
        QVERIFY2(!words->isHidden(), "55 ms of nobody");
        const auto choose = [](QComboBox* from, const char* name) {
            from->setCurrentIndex(from->findText(name));
            Q_EMIT from->activated(from->currentIndex());
        };
        choose(box, "T4");
        const auto node = [&](std::size_t i) { return document.experiment().topology.nodes[i]; };
        QCOMPARE(node(0).memory_bytes, std::optional(16e9));
        QVERIFY(node(0).seconds_per_sample_per_block < 1e-4 && node(1) == e.topology.nodes[1]);
        QVERIFY(words->isHidden());
        QCOMPARE(box->currentText(), QString("T4"));
        document.undo_stack().undo();
        QVERIFY(document.experiment() == e && !words->isHidden());
        QCOMPARE(box->currentText(), QString("own figures"));
        selection.select({.nodes = {"node-1", "node-2"}});
        box = find(static_cast<QComboBox*>(nullptr), "node_hardware");
        choose(box, "Laptop CPU");
        QVERIFY(node(0).memory_bytes == 16e9 && node(1).memory_bytes == 16e9);
        document.edit("one", [](Experiment& x) { x.topology.nodes[0].memory_bytes = 1e9; });
        QCOMPARE(box->currentIndex(), -1);
    }

    /// The strip that helps with a field leaves it whole.
    void help_covers_no_field() {
        for (const char* key : {"node_hour", "gigabyte", "tokens", "iterations", "microbatches"}) {
            ShownInspector shown(planners_);
            auto& inspector = shown.inspector;
            QVERIFY(QTest::qWaitForWindowActive(&inspector));
            inspector.show_field(QStringLiteral("/x/") + key);
            auto* field = inspector.widget()->findChild<QWidget*>(key);
            QTRY_VERIFY2(field->hasFocus(), key);
            const auto is_whole = [&] {
                const QRect box(field->mapTo(inspector.viewport(), QPoint()), field->size());
                return inspector.viewport()->rect().contains(box);
            };
            QTRY_VERIFY2(is_whole(), key);
        }
    }

    /// What costs nothing says so, as a node without a price of its own does.
    void prices_of_nothing_are_none() {
        ShownInspector shown(planners_);
        auto& [document, selection, failures, inspector] = shown;
        inspector.show_field("/prices/node_hour");
        auto* field = inspector.widget()->findChild<QLineEdit*>("node_hour");
        QVERIFY(field->text().isEmpty());
        QCOMPARE(field->placeholderText(), QString("no price given"));
        QVERIFY2(field->toolTip().contains("any one currency") && field->toolTip().contains("0: no price given"),
                 qPrintable(field->toolTip()));
        const auto enter = [&](const QString& text) {
            field->setText(text);
            field->setModified(true);
            Q_EMIT field->editingFinished();
        };
        enter("2.5");
        QCOMPARE(document.experiment().prices.node_hour, 2.5);
        enter("");
        QCOMPARE(document.experiment().prices.node_hour, 0.0);
        QVERIFY(field->text().isEmpty());
    }

    void it_follows_the_selection_and_edits_what_it_shows() {
        Experiment e;
        for (int i = 0; i < 2; ++i) add_node(e, {100.0 * i, 0});
        add_link(e, "node-1", "node-2");
        ShownInspector shown(planners_, e);
        auto& [document, selection, failures, inspector] = shown;
        QVERIFY(QTest::qWaitForWindowExposed(&inspector));
        QVERIFY2(inspector.widget()->findChild<QLineEdit*>("microbatches") != nullptr,
                 "nothing selected: the experiment");
        selection.select({.nodes = {"node-2"}});
        auto* memory = inspector.widget()->findChild<QLineEdit*>("memory_microbatches");
        auto* region = inspector.widget()->findChild<QComboBox*>("region");
        QVERIFY(region != nullptr);
        QCOMPARE(region->lineEdit()->placeholderText(), QStringLiteral("none"));
        QVERIFY(memory != nullptr && inspector.widget()->findChild<QLineEdit*>("microbatches") == nullptr);
        type(memory, "7");
        QCOMPARE(document.experiment().topology.nodes[1].memory_microbatches, std::optional<int>(7));
        QVERIFY(!document.experiment().topology.nodes[0].memory_microbatches);
        document.undo_stack().undo();
        QVERIFY(document.experiment() == e);
        QCOMPARE(memory->text(), QString());

        auto* id = inspector.widget()->findChild<QLineEdit*>("id");
        QVERIFY(id != nullptr);
        type(id, "berlin");
        QCOMPARE(document.experiment().topology.nodes[1].id, std::string("berlin"));
        QCOMPARE(document.experiment().topology.links[0].to, std::string("berlin"));
        QTRY_VERIFY2(selection.now().nodes.count("berlin"), "what was renamed stays selected");

        selection.select({.links = {{"node-1", "berlin"}}});
        auto* latency = inspector.widget()->findChild<QLineEdit*>("latency_s");
        QVERIFY(latency != nullptr);
        // In the unit in which bandwidths are read; exactly, for whoever is in it.
        auto* rate = inspector.widget()->findChild<ElidedEdit*>("bandwidth_bytes_per_s");
        QVERIFY(rate != nullptr);
        QCOMPARE(rate->text(), QString("1\u2009Gbit/s"));
        document.edit("Measured", [](Experiment& x) { x.topology.links[0].bandwidth_bytes_per_s = 14'811'136; });
        QCOMPARE(rate->text(), QString("118.489088\u2009Mbit/s"));
        QCOMPARE(rate->seen_text(), QString("118\u2009Mbit/s"));
        type(rate, "20");  // of what is shown, which are no bytes
        QCOMPARE(document.experiment().topology.links[0].bandwidth_bytes_per_s, 2.5e6);
        QCOMPARE(rate->text(), QString("20\u2009Mbit/s"));
        type(latency, "0.25 s");
        QCOMPARE(document.experiment().topology.links[0].latency_s, 0.25);
        type(latency, "60");
        QCOMPARE(document.experiment().topology.links[0].latency_s, 0.06);
        document.edit("Elsewhere", [](Experiment& changed) { changed.topology.links[0].latency_s = 0.5; });
        QVERIFY2(latency->text().startsWith("500") || latency->text().startsWith("0.5"), qPrintable(latency->text()));
    }

    /// What holds where a field is not set, and how idle the node is in the plan.
    void a_node_says_what_is_in_force() {
        Experiment e;
        for (int i = 0; i < 2; ++i) add_node(e, {100.0 * i, 0});
        add_link(e, "node-1", "node-2");
        e.pipeline.stages = 2;
        e.pipeline.skip_ratio = 0;
        e.pipeline.memory_microbatches = 5;
        e.topology.nodes[0].memory_bytes.reset();
        ShownInspector shown(planners_, e);
        auto& [document, selection, failures, inspector] = shown;
        selection.select({.nodes = {"node-1"}});
        const auto said = [&](const char* key) {
            auto* line = inspector.widget()->findChild<QLineEdit*>(key);
            return line == nullptr ? QString("no field") : line->text() + line->placeholderText();
        };
        QCOMPARE(said("memory_microbatches"), QString("5 (of pipeline)"));
        QCOMPARE(said("up_bytes_per_s"), QString("no limit (default)"));
        QCOMPARE(said("price_per_hour"), QString("no price given"));
        document.edit("others", [](Experiment& x) {
            x.pipeline.memory_microbatches = 4;
            x.prices.node_hour = 1.5;
        });
        QCOMPARE(said("memory_microbatches"), QString("4 (of pipeline)"));
        QCOMPARE(said("price_per_hour"), QString("1.5 (of all nodes)"));
        document.edit("own", [](Experiment& x) { x.topology.nodes[0].memory_bytes = 1e9; });
        QVERIFY(!has_errors(document.faults()));
        QVERIFY2(said("memory_microbatches").endsWith(" (by memory)"), qPrintable(said("memory_microbatches")));
        document.edit("wrong", [](Experiment& x) { x.pipeline.stages = 9; });
        QCOMPARE(said("memory_microbatches"), QString("by memory"));

        auto* idle = inspector.widget()->findChild<QLabel*>("idle_in_plan");
        QVERIFY(idle != nullptr && idle->isHidden());
        inspector.show_idle({.idle_s = {{"node-1", 0.41}}, .iteration_s = 1.2});
        QVERIFY(!idle->isHidden() && idle->isEnabled());
        QCOMPARE(QString(idle->text()).replace(QChar(0x2009), ' '), QString("34.2 %, 410 ms"));
        inspector.show_idle({.idle_s = {{"node-1", 0.41}}, .iteration_s = 1.2, .is_outdated = true});
        QVERIFY2(!idle->isEnabled(), "pale");
        inspector.show_idle({});
        QVERIFY(idle->isHidden());
    }

    /// A node says for whom it waits, whose lanes stay bright beside its own.
    void a_node_says_for_whom_it_waits() {
        Experiment e;
        for (int i = 0; i < 3; ++i) add_node(e, {100.0 * i, 0});
        ShownInspector shown(planners_, e);
        shown.selection.select({.nodes = {"node-1"}});
        auto* words = shown.inspector.widget()->findChild<QLabel*>("waits_most_for");
        QVERIFY(words != nullptr && words->isHidden());
        auto lanes = std::make_shared<TimelineData>();
        lanes->set_lanes({"node-1", "node-2", "node-3"});
        for (const auto& [begin_s, end_s, other] : {std::tuple{0.0, 6.0, 1}, {6.0, 6.2, 2}}) {
            IdleGap gap{NodeIndex(0), IdleCause::link, begin_s, end_s, MicrobatchIndex(0)};
            gap.other = NodeIndex(other);
            lanes->add(gap, 0);
        }
        lanes->finish();
        PlannedIteration plan;
        plan.lanes = lanes;
        plan.iteration_s = 10;
        shown.inspector.show_iteration(plan);
        QVERIFY(!words->isHidden() && words->isEnabled());
        QCOMPARE(words->text(), QString("node-2, bright in the plan"));
        plan.is_outdated = true;
        shown.inspector.show_iteration(plan);
        QVERIFY(!words->isEnabled());
        shown.inspector.show_iteration({});
        QVERIFY(words->isHidden());
    }

    /// What was typed and is none of the field's values does not stay: not after Escape, nor where it changed nothing.
    void a_field_shows_a_value_of_the_document() {
        Experiment e;
        add_node(e, {0, 0});
        ShownInspector shown(planners_, e);
        auto& [document, selection, failures, inspector] = shown;
        QVERIFY(QTest::qWaitForWindowExposed(&inspector));
        auto* seeds = inspector.widget()->findChild<QLineEdit*>("seeds");
        QVERIFY(seeds != nullptr && seeds->text() == "1");
        type(seeds, "/2");
        QCOMPARE(document.experiment().seeds, 1);
        QVERIFY2(seeds->text() == "1" || seeds->property("faulty").toBool(), qPrintable(seeds->text()));
        type(seeds, "abc");
        QVERIFY(seeds->property("faulty").toBool());
        seeds->setFocus();
        QTest::keyClick(seeds, Qt::Key_Escape);
        QCOMPARE(seeds->text(), QString("1"));
        QVERIFY(!seeds->property("faulty").toBool());
        QVERIFY(document.refusals().empty());
        // Nor where the same document is opened again.
        type(seeds, "abc");
        QVERIFY(!document.refusals().empty());
        document.start_new(e);
        seeds = inspector.widget()->findChild<QLineEdit*>("seeds");
        QCOMPARE(seeds->text(), QString("1"));
        QVERIFY(!seeds->property("faulty").toBool() && document.refusals().empty());
    }

    void several_things_are_edited_together() {
        Experiment e;
        for (int i = 0; i < 3; ++i) add_node(e, {100.0 * i, 0});
        e.topology.nodes[1].memory_microbatches = 5;
        for (auto& node : e.topology.nodes) node.device = "cuda";
        add_link(e, "node-1", "node-2");
        add_link(e, "node-2", "node-3");
        e.topology.links[1].both_ways = false;
        ShownInspector shown(planners_, e);
        auto& [document, selection, failures, inspector] = shown;
        QVERIFY(QTest::qWaitForWindowExposed(&inspector));
        selection.select({.nodes = {"node-1", "node-2"}, .links = {{"node-1", "node-2"}, {"node-2", "node-3"}}});
        auto* memory = inspector.widget()->findChild<QLineEdit*>("memory_microbatches");
        QVERIFY(memory != nullptr);
        QVERIFY2(memory->text().isEmpty() && memory->placeholderText() == "mixed", qPrintable(memory->text()));
        QCOMPARE(inspector.widget()->findChild<QLineEdit*>("device")->text(), QString("cuda"));
        QCOMPARE(inspector.widget()->findChild<QCheckBox*>("both_ways")->checkState(), Qt::PartiallyChecked);
        memory->setFocus();
        QTest::keyClick(memory, Qt::Key_Return);
        QVERIFY2(document.experiment() == e, "nothing was entered");
        type(memory, "7");
        QCOMPARE(memory->text(), QString("7"));
        QCOMPARE(document.experiment().topology.nodes[0].memory_microbatches, std::optional<int>(7));
        QCOMPARE(document.experiment().topology.nodes[1].memory_microbatches, std::optional<int>(7));
        QVERIFY(!document.experiment().topology.nodes[2].memory_microbatches);
        QCOMPARE(document.undo_stack().count(), 1);
        type(inspector.widget()->findChild<QLineEdit*>("bandwidth_bytes_per_s"), "1 Gbit/s");
        for (const auto& link : document.experiment().topology.links) QCOMPARE(link.bandwidth_bytes_per_s, 125e6);
        document.undo_stack().undo();
        document.undo_stack().undo();
        QVERIFY(document.experiment() == e);
        QCOMPARE(memory->placeholderText(), QString("mixed"));
        document.edit("faster", [](Experiment& x) { x.topology.links[0].bandwidth_bytes_per_s *= 10; });
        auto* bandwidth = inspector.widget()->findChild<QLineEdit*>("bandwidth_bytes_per_s");
        type(bandwidth, "/2");
        const auto& links = document.experiment().topology.links;
        QCOMPARE(links[0].bandwidth_bytes_per_s, e.topology.links[0].bandwidth_bytes_per_s * 5);
        QCOMPARE(links[1].bandwidth_bytes_per_s, e.topology.links[1].bandwidth_bytes_per_s / 2);
        const auto before = document.experiment();
        type(bandwidth, "*-1");
        QVERIFY2(document.experiment() == before, "each value has to stay within its limits");
        QVERIFY(!inspector.widget()->findChild<QLabel*>("bandwidth_bytes_per_s_fault")->text().isEmpty());
    }

    /// A home connection.
    void an_uplink_and_a_downlink_are_typed() {
        Experiment e;
        for (const char* id : {"a", "b"}) e.topology.nodes.push_back({.id = id});
        ShownInspector shown(planners_, e);
        auto& [document, selection, failures, inspector] = shown;
        selection.select({.nodes = {"a"}});
        auto* up = inspector.widget()->findChild<QLineEdit*>("up_bytes_per_s");
        auto* down = inspector.widget()->findChild<QLineEdit*>("down_bytes_per_s");
        QVERIFY(up != nullptr && down != nullptr);
        type(up, "50 Mbit/s");
        type(down, "250 Mbit/s");
        const auto node = [&](std::size_t i) { return document.experiment().topology.nodes[i]; };
        QCOMPARE(node(0).up_bytes_per_s, std::optional<double>(6.25e6));
        QCOMPARE(node(0).down_bytes_per_s, std::optional<double>(31.25e6));
        QVERIFY(!node(1).up_bytes_per_s && !node(1).down_bytes_per_s);
        up->selectAll();
        QTest::keyClick(up, Qt::Key_Delete);
        QTest::keyClick(up, Qt::Key_Return);
        QVERIFY2(!node(0).up_bytes_per_s, "none: no limit");
        type(up, "-1");
        QVERIFY(!node(0).up_bytes_per_s &&
                !inspector.widget()->findChild<QLabel*>("up_bytes_per_s_fault")->text().isEmpty());
    }

    void the_rule_for_gradients_says_what_it_means() {
        ShownInspector shown(planners_);
        auto& [document, selection, failures, inspector] = shown;
        const auto* words = inspector.widget()->findChild<QLabel*>("all_reduce_words");
        QVERIFY(words != nullptr);
        QVERIFY2(words->text().contains("ring"), qPrintable(words->text()));
        document.edit("Plan", [](Experiment& e) { e.costs.all_reduce = AllReduceRule::planned; });
        QVERIFY2(words->text().contains("transfers"), qPrintable(words->text()));
        document.edit("Matrix", [](Experiment& e) { e.topology.hop_matrix_s = {{0}}; });
        QVERIFY2(words->text().contains("no bandwidth"), qPrintable(words->text()));
        document.edit("Free", [](Experiment& e) { e.costs.all_reduce = AllReduceRule::free; });
        QVERIFY2(words->text().contains("no cost"), qPrintable(words->text()));
    }

    /// Fields that few need are folded, with how many of them are set; where one is at fault they are seen.
    void seldom_fields_are_folded() {
        Experiment nodes;
        for (int i = 0; i < 6; ++i) add_node(nodes, {100.0 * i, 0});
        ShownInspector shown(planners_, nodes, {340, 700});
        auto& [document, selection, failures, inspector] = shown;
        QVERIFY(QTest::qWaitForWindowExposed(&inspector));
        const auto field = [&](const char* key) { return inspector.widget()->findChild<QWidget*>(key); };
        const auto title = [&] {
            for (const auto* button : inspector.widget()->findChildren<QToolButton*>())
                if (button->text().startsWith("More of the pipeline")) return button->text();
            return QString{};
        };
        for (const char* key : {"stages", "microbatches", "skip_slider", "planner"})
            QVERIFY2(field(key) != nullptr && field(key)->isVisible(), key);
        for (const auto& key : seldom_fields()) {
            QCOMPARE(inspector.widget()->findChildren<QWidget*>(QString::fromStdString(key)).size(), 1);
            QVERIFY2(!field(key.c_str())->isVisible(), key.c_str());
        }
        QCOMPARE(title(), QString("More of the pipeline"));
        document.edit("Steps", [](Experiment& e) { e.pipeline.plan_steps = 7; });
        QCOMPARE(title(), QString("More of the pipeline, 1 set"));
        QVERIFY(!field("plan_steps")->isVisible());
        document.edit("Wrong", [](Experiment& e) { e.pipeline.stage_sizes = {99}; });
        QVERIFY(field("stage_sizes")->isVisible());
    }

    /// A problem's field gets the keys, wherever it is folded away.
    void the_field_of_a_problem_is_shown() {
        Experiment nodes;
        for (int i = 0; i < 6; ++i) add_node(nodes, {100.0 * i, 0});
        ShownInspector shown(planners_, nodes, {340, 500});
        auto& [document, selection, failures, inspector] = shown;
        QVERIFY(QTest::qWaitForWindowActive(&inspector));
        const auto has_keys = [&](const char* key) {
            auto* field = inspector.widget()->findChild<QWidget*>(key);
            return field != nullptr && field->isVisible() && field->hasFocus();
        };
        inspector.show_field("/training/learning_rate");
        QVERIFY(has_keys("learning_rate"));
        inspector.show_field("/pipeline/stage_sizes/0");
        QVERIFY(has_keys("stage_sizes"));
        inspector.show_field("/topology/nodes");
        inspector.show_field("");
        QVERIFY(has_keys("stage_sizes"));  // they have no field here
        selection.select({.nodes = {"node-2"}});
        inspector.show_field("/topology/nodes/1/memory_microbatches");
        QVERIFY(has_keys("memory_microbatches"));
    }

    /// A fault at a place in a list is not answered by another thing that moves there.
    void a_fault_of_a_file_outlives_a_move() {
        Document document;
        Experiment e;
        for (int i = 0; i < 4; ++i) add_node(e, {100.0 * i, 0});
        for (std::size_t i = 0; i < 4; ++i) e.topology.nodes[i].memory_microbatches = static_cast<int>(2 + i);
        const Fault of_file{"/topology/nodes/2/memory_microbatches", "\"two\" is not a whole number", "", ""};
        document.open({"x.json", e, {of_file}});
        const auto is_told = [&] {
            return std::find(document.faults().begin(), document.faults().end(), of_file) != document.faults().end();
        };
        document.edit("delete", [](Experiment& x) { x.topology.nodes.erase(x.topology.nodes.begin()); });
        QVERIFY2(is_told(), "another node stands there now");
        document.undo_stack().undo();
        document.edit("answer", [](Experiment& x) { x.topology.nodes[2].memory_microbatches = 9; });
        QVERIFY(!is_told());
    }

    /// Of a file with faults each field says what the file has; what is wrong as it stands is said as well.
    void what_is_wrong_stands_under_its_field() {
        Experiment e;
        for (int i = 0; i < 6; ++i) add_node(e, {100.0 * i, 0}, "home");
        add_region(e, {});
        e.topology.regions.front().id = "home";
        e.pipeline.stage_sizes = {1, 1};
        const Fault of_file{"/pipeline/microbatches", "\"many\" is not a whole number", "", ""};
        Document document;
        document.open({"x.json", e, {of_file}});
        SelectionModel selection;
        FailureEditor failures(document, selection);
        Inspector inspector(document, selection, failures, planners_);
        inspector.resize(340, 500);
        inspector.show();
        QVERIFY(QTest::qWaitForWindowActive(&inspector));
        const auto said = [&](const QString& key) {
            auto* line = inspector.widget()->findChild<QLabel*>(key + "_fault");
            const bool is_marked = inspector.widget()->findChild<QWidget*>(key)->property("faulty").toBool();
            return line->isHidden() != is_marked ? line->isHidden() ? QString{} : line->text() : QString("?");
        };
        QCOMPARE(said("microbatches"), QString("In the file: \"many\" is not a whole number. Shown is 30"));
        QCOMPARE(said("seed"), QString());
        QVERIFY2(said("stage_sizes").contains("2 sizes for 6 stages"), qPrintable(said("stage_sizes")));
        QVERIFY2(inspector.widget()->findChild<QWidget*>("stage_sizes")->isVisible(), "its section opens");
        // Another value answers the file; undone, it is asked again.
        document.edit("a", [](Experiment& x) { x.pipeline.microbatches = 12; });
        QCOMPARE(said("microbatches"), QString());
        QVERIFY(std::find(document.faults().begin(), document.faults().end(), of_file) == document.faults().end());
        document.undo_stack().undo();
        QVERIFY(said("microbatches").contains("many"));
        document.edit("b", [](Experiment& x) { x.pipeline.stage_sizes.clear(); });
        QCOMPARE(said("stage_sizes"), QString());
        // What was typed and refused goes before it, and leaves it behind.
        auto* line = inspector.widget()->findChild<QLineEdit*>("microbatches");
        type(line, "few");
        QVERIFY2(said("microbatches").contains("\"few\""), qPrintable(said("microbatches")));
        QTest::keyClick(line, Qt::Key_Escape);
        QVERIFY(said("microbatches").contains("many"));
        // Of a node, where that is shown.
        document.edit("c", [](Experiment& x) { x.topology.nodes[1].region = "nowhere"; });
        selection.select({.nodes = {"node-1"}});
        QCOMPARE(said("region"), QString());
        selection.select({.nodes = {"node-2"}});
        QVERIFY2(said("region").contains("nowhere"), qPrintable(said("region")));
    }

    /// A text that is longer than its field ends in an ellipsis while nobody is in it, drawn as other texts are.
    void long_texts_end_in_an_ellipsis() {
        QWidget window;
        ElidedEdit field(&window);
        QLineEdit plain(&window), other(&window);
        for (auto* one : {static_cast<QLineEdit*>(&field), &plain}) {
            one->setText("Twenty nodes in twelve cities");
            one->setCursorPosition(0);
            one->resize(120, 28);
        }
        window.show();
        QVERIFY(QTest::qWaitForWindowActive(&window));
        other.setFocus();
        const QString seen = field.seen_text();
        QVERIFY2(seen.startsWith("Twenty") && seen.endsWith(QChar(0x2026)), qPrintable(seen));
        const auto picture = [](QWidget& of) { return of.grab().toImage(); };
        QVERIFY(picture(field) != picture(plain));
        plain.setText(seen);
        plain.setCursorPosition(0);
        QVERIFY(picture(field) == picture(plain));
        field.setText("Short");
        plain.setText("Short");
        QCOMPARE(field.seen_text(), QString("Short"));
        QVERIFY(picture(field) == picture(plain));
    }

    void a_brief_choice_shows_its_first_words() {
        QWidget window;
        BriefCombo box(&window);
        QComboBox plain(&window);
        box.addItem("Run 2, Quick start, full pipeline, skippipe-joint, finished");
        plain.addItem(box.currentText());
        for (auto* one : {static_cast<QComboBox*>(&box), &plain}) {
            one->resize(200, 28);
            one->setEnabled(false);  // neither is under the mouse, nor has the keys
        }
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        const QString seen = box.seen_text();
        QCOMPARE(seen, QString("Run 2"));
        const auto picture = [](QWidget& of) { return of.grab().toImage(); };
        QVERIFY(picture(box) != picture(plain));
        plain.setItemText(0, seen);
        QVERIFY(picture(box) == picture(plain));
    }

    /// A region tells who stands in it and how far the others are; each leads to what it names.
    void a_region_tells_its_nodes_and_links() {
        Experiment e;
        for (int i = 0; i < 3; ++i) add_region(e, {300.0 * i, 0});
        add_node(e, {0, 0}, "region-1");
        add_link(e, "region-1", "region-2");
        add_link(e, "region-3", "region-1");
        e.topology.links[1].latency_s = 0.01;
        e.topology.links[1].both_ways = false;
        ShownInspector shown(planners_, e);
        auto& [document, selection, failures, inspector] = shown;
        const auto facts = [&] { return inspector.widget()->findChild<QLabel*>("region_facts"); };
        const auto words = [&] {
            QTextDocument text;
            text.setHtml(facts()->text());
            return text.toPlainText().simplified();
        };
        selection.select({.regions = {"region-1"}});
        QCOMPARE(words(), QString("Nodes node-1 Inside 1.00 ms, 17.2 Gbit/s Linked to, the nearest first "
                                  "from region-3 10.0 ms 1.00 Gbit/s region-2 50.0 ms 1.00 Gbit/s"));
        inspector.show_stages({{"node-1", {.stage = 2, .blocks = 1}}});
        QVERIFY2(words().startsWith("Nodes node-1 at stage 2"), qPrintable(words()));
        Q_EMIT facts()->linkActivated("link:1");
        QTRY_COMPARE(selection.now(), (Selection{.links = {{"region-3", "region-1"}}}));
        selection.select({.regions = {"region-2"}});
        QVERIFY2(words().startsWith("Nodes none yet"), qPrintable(words()));
        document.edit("Hop times", [](Experiment& changed) { changed.topology.hop_matrix_s = {{0.0}}; });
        QVERIFY2(!words().contains("Inside"), qPrintable(words()));
    }

    /// A link says what an iteration of the plan sends over it, each way, and leads to who sends it.
    void a_link_tells_what_the_plan_sends() {
        Experiment e;
        for (int i = 0; i < 2; ++i) {
            add_region(e, {300.0 * i, 0});
            add_node(e, {300.0 * i, 0}, "region-" + std::to_string(i + 1));
        }
        add_link(e, "region-1", "region-2");
        e.pipeline.stages = 2;
        e.pipeline.skip_ratio = 0;
        e.pipeline.microbatches = 3;
        e.pipeline.planner = "gpipe";
        ShownInspector shown(planners_, e);
        auto& [document, selection, failures, inspector] = shown;
        QVERIFY(!has_errors(document.faults()));
        const auto words = [&](const char* name) {
            auto* label = inspector.widget()->findChild<QLabel*>(name);
            QTextDocument text;
            text.setHtml(label == nullptr ? QString() : label->text());
            return text.toPlainText().simplified();
        };
        selection.select({.links = {{"region-1", "region-2"}}});
        QCOMPARE(words("link_ends"), QString("region-1 and region-2, both ways"));
        QVERIFY2(words("link_facts").contains("appears here"), qPrintable(words("link_facts")));

        const std::shared_ptr<const PlanOutcome> plan = make_plan(e, *planners_.find("gpipe"), request_for(e));
        QVERIFY(plan->has_plan && plan->timeline.complete);
        double bytes = 0, busy_s = 0;
        for (const auto& span : plan->timeline.spans)
            if (is_transfer(span.kind) && span.node == 0)
                bytes += span.bytes, busy_s += span.bytes / e.topology.links[0].bandwidth_bytes_per_s;
        QVERIFY(bytes > 0);
        const auto plain = [](QString text) { return text.replace(QChar(0x2009), ' '); };
        inspector.show_links({plan, explain_outcome(*plan, {}), false});
        const QString said = words("link_facts");
        for (const QString& part :
             {QString("To region-2 %1, busy %2 3 activations, 3 gradients")
                  .arg(plain(quantity(bytes, "B")), plain(percent(busy_s / plan->timeline.iteration_s))),
              QString("To region-1"), QString("Between node-1 → node-2 6×"), QString("of it, the most of all links"),
              QString("Microbatches 0, 1, 2")})
            QVERIFY2(said.contains(part), qPrintable(said + "\n" + part));
        // However little a line is used, and however little waits for it, the sentence stays whole.
        auto quick = std::make_shared<PlanOutcome>(*plan);
        quick->problem.hops.change_alike([](Hop& way) { way.bandwidth_bytes_per_s *= 1e5; });
        for (auto& span : quick->timeline.spans) span.start_s = span.ready_s + 1.67e-16;
        inspector.show_links({quick, nullptr, false});
        QVERIFY2(words("link_facts").contains("busy < 0.01 % 3 activations, 3 gradients nothing queues"),
                 qPrintable(words("link_facts")));
        inspector.show_links({plan, nullptr, true});
        auto* facts = inspector.widget()->findChild<QLabel*>("link_facts");
        QVERIFY2(!facts->isEnabled() && !words("link_facts").contains("Critical"), "of another state: pale");
        Q_EMIT facts->linkActivated("microbatch:2");
        QTRY_COMPARE(selection.now(), (Selection{.microbatch = 2}));
        selection.select({.links = {{"region-1", "region-2"}}});
        Q_EMIT inspector.widget()->findChild<QLabel*>("link_ends")->linkActivated("region:region-2");
        QTRY_COMPARE(selection.now(), (Selection{.regions = {"region-2"}}));
        // Without paths over it nothing goes, but for what sums gradients.
        auto idle = std::make_shared<PlanOutcome>(*plan);
        std::erase_if(idle->timeline.spans, [](const Span& span) { return is_on_line(span.kind); });
        selection.select({.links = {{"region-1", "region-2"}}});
        inspector.show_links({idle, nullptr, false});
        QVERIFY2(words("link_facts").endsWith("nothing goes over it"), qPrintable(words("link_facts")));
    }

    /// In a narrow panel labels take a second line, and fields keep their room.
    void a_narrow_panel_has_room_for_values() {
        ShownInspector shown(planners_, {}, {304, 600});
        const auto width_of = [&](const char* field) {
            return shown.inspector.widget()->findChild<QWidget*>(field)->width();
        };
        QTRY_VERIFY2(width_of("planner") >= 120, qPrintable(QString::number(width_of("planner"))));
        shown.document.start_new({.name = "Another"});
        QTRY_VERIFY2(width_of("planner") >= 120, qPrintable(QString::number(width_of("planner"))));
        QTRY_COMPARE(shown.inspector.widget()->width(), shown.inspector.viewport()->width());
    }

    /// The first lines of what an experiment asks, all of them in its tip and while somebody is in it.
    void a_description_is_read_whole() {
        Experiment e;
        e.description =
            "Twenty nodes in twelve cities train a small model; every microbatch skips two of six stages. "
            "Links were measured between regions of a cloud, speeds of the nodes are made up, all a little "
            "different, so that planners have something to do.";
        ShownInspector shown(planners_, e, {320, 700});
        auto& [document, selection, failures, inspector] = shown;
        inspector.activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(&inspector));
        const auto prose = [&] { return inspector.widget()->findChild<ProseEdit*>("description"); };
        QVERIFY(prose() != nullptr);
        inspector.widget()->findChild<QLineEdit*>("seed")->setFocus();
        QTRY_COMPARE(prose()->seen_lines().size(), qsizetype{3});
        QVERIFY(prose()->seen_lines().last().endsWith(QChar(0x2026)));
        QCOMPARE(prose()->toolTip(), QString::fromStdString(e.description));
        inspector.resize(320, 1000);
        QTRY_VERIFY2(!prose()->seen_lines().last().endsWith(QChar(0x2026)), "a high panel has room for all of it");
        QVERIFY(prose()->seen_lines().size() > 3);
        inspector.resize(320, 700);
        QTRY_COMPARE(prose()->seen_lines().size(), qsizetype{3});
        const int low = prose()->height();
        QVERIFY2(prose()->width() > inspector.widget()->width() * 3 / 4, "it is wide");
        prose()->setFocus();
        QVERIFY2(prose()->height() > 5 * low / 3, "all of it");
        QTest::keyClicks(prose(), "New. ");
        QTest::keyClick(prose(), Qt::Key_Escape);
        QCOMPARE(prose()->toPlainText(), QString::fromStdString(e.description));
        prose()->selectAll();
        QTest::keyClicks(prose(), "Short");
        QCOMPARE(document.experiment().description, e.description);
        QTest::keyClick(prose(), Qt::Key_Return);
        QCOMPARE(document.experiment().description, std::string("Short"));
        QTest::keyClicks(prose(), "er");
        QTest::keyClick(prose(), Qt::Key_Tab);
        QVERIFY(!prose()->hasFocus());
        QCOMPARE(document.experiment().description.size(), std::string("Shorter").size());
        QTRY_COMPARE(prose()->seen_lines().size(), qsizetype{1});
        QVERIFY(prose()->height() < low);
        document.undo_stack().undo();
        document.undo_stack().undo();
        QCOMPARE(prose()->toPlainText(), QString::fromStdString(e.description));
    }

    void labels_say_what_a_field_is() {
        QCOMPARE(label_of("plan_blocks"), QString("Planner chooses blocks"));
        QCOMPARE(label_of("skip_ratio"), QString("Skip ratio"));
        QCOMPARE(label_of("seeds"), QString("Number of seeds"));
        QCOMPARE(without_keys("Switch off Both ways (both_ways) or skip less (at most 0.5)"),
                 QString("Switch off Both ways or skip less (at most 0.5)"));
        QCOMPARE(label_of("seconds_per_sample_per_block"), QString("Time per sample per block"));
    }
};

QTEST_MAIN(TestInspector)
#include "test_inspector.moc"
