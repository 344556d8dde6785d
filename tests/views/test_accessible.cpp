// SPDX-License-Identifier: GPL-3.0-or-later
// A screen reader says what has the keys: everything in the window that can have them has a name.
#include <QAccessible>
#include <QComboBox>
#include <QFormLayout>
#include <QLabel>
#include <QTemporaryDir>
#include <QtTest>

#include "core/experiment/failure_text.h"
#include "plugins/planners/all.h"
#include "tests/views/window_experiments.h"
#include "views/topology/edits.h"
#include "views/window/command_palette.h"
#include "views/window/key_sheet.h"
#include "views/window/main_window.h"

using namespace skippipe;

namespace {

/// What needs no name of its own: labels, and parts that Qt makes itself of a widget that has one.
bool is_inner(const QWidget& widget) {
    // Labels can have the keys to be copied from; what they say is their name.
    if (qobject_cast<const QLabel*>(&widget) != nullptr) return true;
    if (widget.objectName().startsWith("qt_") || widget.focusProxy() != nullptr) return true;
    for (const QWidget* at = widget.parentWidget(); at != nullptr; at = at->parentWidget())
        if (qobject_cast<const QComboBox*>(at) != nullptr) return true;
    return false;
}

/// What can have the keys, below `root` and itself, and has no name; each by its class and whose it is.
QStringList nameless(const QWidget& root) {
    QStringList found;
    auto widgets = root.findChildren<QWidget*>();
    widgets.prepend(const_cast<QWidget*>(&root));
    for (auto* widget : widgets) {
        if (widget->focusPolicy() == Qt::NoFocus || is_inner(*widget)) continue;
        const auto* spoken = QAccessible::queryAccessibleInterface(widget);
        if (spoken != nullptr && !spoken->text(QAccessible::Name).trimmed().isEmpty()) continue;
        QString words = QString("%1 \"%2\"").arg(widget->metaObject()->className(), widget->objectName());
        for (const QWidget* at = widget->parentWidget(); at != nullptr; at = at->parentWidget())
            words += QString(" in %1 \"%2\"").arg(at->metaObject()->className(), at->objectName());
        found << words;
    }
    found.removeDuplicates();
    return found;
}

}  // namespace

class TestAccessible : public QObject {
    Q_OBJECT
    PlannerRegistry planners_;
    QTemporaryDir folder_;

    std::unique_ptr<MainWindow> window() {
        auto made = std::make_unique<MainWindow>(planners_, folder_.filePath("record.sqlite").toStdString());
        Experiment e = three_linked_nodes();
        e.topology.regions.push_back({"here", 0, 300});
        e.topology.nodes[0].region = "here";
        e.failures.push_back({.kind = FailureKind::crash, .target = "node-2", .at_s = 1.0});
        made->document().start_new(e);
        made->show();
        return made;
    }

private Q_SLOTS:
    void initTestCase() { register_planners(planners_); }

    /// What the other tests here look with sees what has no name, and no others.
    void what_has_no_name_is_found() {
        QWidget root;
        auto* rows = new QFormLayout(&root);
        auto* silent = new QLineEdit;
        rows->addRow("Named by its label", new QLineEdit);
        rows->addRow(silent);
        rows->addRow(new QPushButton("Named by its text"));
        auto* box = new QComboBox;
        box->setEditable(true);
        box->setAccessibleName("Named by itself");
        rows->addRow(box);
        QCOMPARE(nameless(root).size(), qsizetype{1});
        QVERIFY2(nameless(root).front().startsWith("QLineEdit"), qPrintable(nameless(root).front()));
        silent->setAccessibleName("Named now");
        QVERIFY(nameless(root).isEmpty());
    }

    void everything_has_a_name_data() {
        QTest::addColumn<int>("workspace");
        QTest::addColumn<Selection>("selected");
        const auto design = [](const char* name, const Selection& selected) {
            QTest::newRow(name) << static_cast<int>(MainWindow::design) << selected;
        };
        design("experiment", {});
        design("node", {.nodes = {"node-2"}});
        design("node in a region", {.nodes = {"node-1"}});
        design("link", {.links = {{"node-1", "node-2"}}});
        design("region", {.regions = {"here"}});
        design("several", {.nodes = {"node-1", "node-2"}, .links = {{"node-1", "node-2"}}});
        design("failure", {.failure = 0});
        QTest::newRow("watch") << static_cast<int>(MainWindow::watch) << Selection{};
        QTest::newRow("compare") << static_cast<int>(MainWindow::compare) << Selection{};
    }
    void everything_has_a_name() {
        QFETCH(int, workspace);
        QFETCH(Selection, selected);
        auto w = window();
        w->show_workspace(static_cast<MainWindow::Workspace>(workspace));
        w->selection().select(selected);
        w->compare_page().sweep().form().add_axis("pipeline.skip_ratio", "0, 0.25");
        w->banner().show_message("Something happened");
        QCoreApplication::processEvents();
        const QStringList found = nameless(*w);
        for (const auto& one : found) qWarning().noquote() << one;
        QVERIFY2(found.isEmpty(), qPrintable(QString("%1 have no name").arg(found.size())));
    }

    void what_lies_over_the_window_has_names() {
        auto w = window();
        QVERIFY(QTest::qWaitForWindowActive(w.get()));
        w->design_page().canvas().setFocus();
        QTest::keyClick(&w->design_page().canvas(), Qt::Key_Question);
        const auto* sheet = w->findChild<KeySheet*>();
        QVERIFY(sheet != nullptr);
        QVERIFY2(nameless(*sheet).isEmpty(), qPrintable(nameless(*sheet).join('\n')));
        QTest::keyClick(w.get(), Qt::Key_K, Qt::ControlModifier);
        const auto* palette = w->findChild<CommandPalette*>();
        QVERIFY(palette != nullptr);
        QVERIFY2(nameless(*palette).isEmpty(), qPrintable(nameless(*palette).join('\n')));
    }
};

QTEST_MAIN(TestAccessible)
#include "test_accessible.moc"
