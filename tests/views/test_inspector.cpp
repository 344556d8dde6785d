// SPDX-License-Identifier: GPL-3.0-or-later
// The inspector shows what is selected, and what is typed there is in the document.
#include <QLabel>
#include <QLineEdit>
#include <QtTest>

#include "plugins/planners/all.h"
#include "views/inspector/form.h"
#include "views/inspector/inspector.h"
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

    void it_follows_the_selection_and_edits_what_it_shows() {
        Document document;
        Experiment e;
        for (int i = 0; i < 2; ++i) add_node(e, {100.0 * i, 0});
        add_link(e, "node-1", "node-2");
        document.start_new(e);
        SelectionModel selection;
        FailureEditor failures(document, selection);
        Inspector inspector(document, selection, failures, planners_);
        inspector.resize(300, 600);
        inspector.show();
        QVERIFY(QTest::qWaitForWindowExposed(&inspector));
        QVERIFY2(inspector.widget()->findChild<QLineEdit*>("microbatches") != nullptr,
                 "nothing selected: the experiment");
        selection.select({.nodes = {"node-2"}});
        auto* memory = inspector.widget()->findChild<QLineEdit*>("memory_microbatches");
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
        type(latency, "0.25");
        QCOMPARE(document.experiment().topology.links[0].latency_s, 0.25);
        document.edit("Elsewhere", [](Experiment& changed) { changed.topology.links[0].latency_s = 0.5; });
        QVERIFY2(latency->text().startsWith("500") || latency->text().startsWith("0.5"), qPrintable(latency->text()));
    }

    void the_rule_for_gradients_says_what_it_means() {
        Document document;
        SelectionModel selection;
        FailureEditor failures(document, selection);
        Inspector inspector(document, selection, failures, planners_);
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

    void labels_say_what_a_field_is() {
        QCOMPARE(label_of("plan_blocks"), QString("Planner chooses blocks"));
        QCOMPARE(label_of("skip_ratio"), QString("Skip ratio"));
        QCOMPARE(label_of("seeds"), QString("Number of seeds"));
    }
};

QTEST_MAIN(TestInspector)
#include "test_inspector.moc"
