// SPDX-License-Identifier: GPL-3.0-or-later
// Keys of the window's actions: chosen anew, kept, refused where another has them, reset.
#include <QKeySequenceEdit>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QTemporaryDir>
#include <QtTest>

#include "plugins/planners/all.h"
#include "views/window/key_bindings.h"
#include "views/window/key_sheet.h"
#include "views/window/main_window.h"

using namespace skippipe;

namespace {

QAction* action_of(const QWidget& owner, const QString& name) {
    for (auto* action : owner.actions())
        if (action->text() == name) return action;
    return nullptr;
}

int row_of(const QTableWidget& table, const QString& what) {
    for (int row = 0; row < table.rowCount(); ++row)
        if (table.item(row, 1)->text() == what) return row;
    return -1;
}

}  // namespace

class TestKeys : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { register_planners(planners_); }

    void one_key_has_one_action() {
        KeyBindings keys;
        QAction save("&Save"), fold("Fold"), find("Find");
        save.setShortcut(Qt::CTRL | Qt::Key_S);
        fold.setShortcut(Qt::Key_X);
        find.setShortcut(Qt::Key_X);
        keys.add(&save, {});
        keys.add(&fold, "Canvas");
        keys.add(&find, "Timeline");
        QVERIFY2(keys.set(&fold, QKeySequence(Qt::CTRL | Qt::Key_S)).contains("Save"), "the window's count everywhere");
        QCOMPARE(fold.shortcut(), QKeySequence(Qt::Key_X));
        QVERIFY(keys.set(&fold, QKeySequence(Qt::Key_Z)).isEmpty());
        QVERIFY2(keys.set(&find, QKeySequence(Qt::Key_Z)).isEmpty(), "another view");
        QVERIFY(!keys.set(&save, QKeySequence(Qt::Key_Z)).isEmpty());
        QVERIFY(keys.set(&save, {}).isEmpty() && save.shortcut().isEmpty());
        QVERIFY(keys.is_changed(&save) && keys.is_changed(&fold));
        keys.reset();
        QCOMPARE(save.shortcut(), QKeySequence(Qt::CTRL | Qt::Key_S));
        QVERIFY(!keys.is_changed(&fold));
        QAction stranger("Stranger");
        QVERIFY(!keys.set(&stranger, QKeySequence(Qt::Key_Q)).isEmpty());
    }

    /// Words of an action, its place or its keys leave its row alone; none leave all.
    void the_sheet_is_searched() {
        KeyBindings keys;
        QAction save("&Save"), fold("Fold all"), find("Find");
        save.setShortcut(Qt::CTRL | Qt::Key_S);
        fold.setProperty("group", "Canvas");
        find.setProperty("group", "Timeline");
        for (auto* action : {&save, &fold, &find}) keys.add(action, {});
        KeySheet sheet(keys);
        auto* search = sheet.findChild<QLineEdit*>("find_keys");
        QVERIFY(search != nullptr);
        const auto shown = [&](const QString& typed) {
            search->setText(typed);
            QStringList names;
            for (int row = 0; row < sheet.table().rowCount(); ++row)
                if (!sheet.table().isRowHidden(row)) names << sheet.table().item(row, 1)->text();
            return names.join(',');
        };
        QCOMPARE(shown("all can"), QString("Fold all"));
        QCOMPARE(shown("ctrl+s"), QString("Save"));
        QCOMPARE(shown("nowhere"), QString());
        sheet.add_fixed("Timeline", "Nowhere else", "X");
        QCOMPARE(shown("nowhere"), QString("Nowhere else"));
        QVERIFY2(sheet.table().item(0, 1)->text() == "Nowhere else", "above actions that have no keys");
        QCOMPARE(shown("").count(','), 3);
        // It opens at the place where it is asked for.
        for (int i = 0; i < 60; ++i) sheet.add_fixed("Canvas", QString::number(i), "X");
        sheet.show();
        QVERIFY(QTest::qWaitForWindowExposed(&sheet));
        sheet.go_to("Canvas");
        const auto& table = sheet.table();
        const int top = table.rowAt(0);
        QCOMPARE(table.item(top, 0)->text(), QString("Canvas"));
    }

    void chosen_in_the_sheet_and_kept() {
        QTemporaryDir folder;
        const QString settings = folder.filePath("window.ini");
        {
            MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
            window.remember_in(settings);
            window.show();
            QVERIFY(QTest::qWaitForWindowExposed(&window));
            action_of(window, "Keys…")->trigger();
            auto* sheet = window.findChild<KeySheet*>();
            QVERIFY(sheet != nullptr);
            auto& table = sheet->table();
            const int row = row_of(table, "Tidy up");
            QVERIFY(row >= 0);
            const auto choose = [&](const QKeySequence& keys) {
                table.setCurrentCell(row, 2);
                table.editItem(table.item(row, 2));
                auto* edit = table.findChild<QKeySequenceEdit*>();
                QVERIFY(edit != nullptr);
                edit->setKeySequence(keys);
                Q_EMIT edit->editingFinished();
                QTRY_VERIFY(table.findChild<QKeySequenceEdit*>() == nullptr);
            };
            choose(QKeySequence(Qt::CTRL | Qt::Key_S));
            QVERIFY2(sheet->told().text().contains("Save"), qPrintable(sheet->told().text()));
            choose(QKeySequence(Qt::Key_T));
            QCOMPARE(table.item(row, 2)->text(), QKeySequence(Qt::Key_T).toString(QKeySequence::NativeText));
            QCOMPARE(action_of(window.design_page().canvas(), "Tidy up")->shortcut(), QKeySequence(Qt::Key_T));
            const int fixed = row_of(table, "Sums of an area");
            QVERIFY2(fixed >= 0 && !(table.item(fixed, 2)->flags() & Qt::ItemIsEditable), "a view's own");
            sheet->close();
        }
        MainWindow window(planners_, folder.filePath("record.sqlite").toStdString());
        window.remember_in(settings);
        QCOMPARE(action_of(window.design_page().canvas(), "Tidy up")->shortcut(), QKeySequence(Qt::Key_T));
        action_of(window, "Keys…")->trigger();
        auto* sheet = window.findChild<KeySheet*>();
        sheet->findChild<QPushButton*>("reset_keys")->click();
        QCOMPARE(action_of(window.design_page().canvas(), "Tidy up")->shortcut(),
                 QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_T));
    }

private:
    PlannerRegistry planners_;
};

QTEST_MAIN(TestKeys)
#include "test_keys.moc"
