// SPDX-License-Identifier: GPL-3.0-or-later
#include <QHeaderView>
#include <QLabel>
#include <QScrollBar>
#include <QTableWidget>
#include <QtTest>

#include "views/idle/split_table.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"

using namespace skippipe;

class TestSplitTable : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void stages_and_nodes_are_rows_that_add_up() {
        SplitTable table("split", "Stage", SplitTable::Order::as_given);
        IdleSplit one, other;
        one.busy_s = 3;
        one.idle_s[static_cast<std::size_t>(IdleCause::memory)] = 1;
        other.busy_s = 1;
        other.idle_s[static_cast<std::size_t>(IdleCause::link)] = 3;
        table.show_rows({{"Stage 0", one}, {"Stage 1", other}}, "All stages");
        QCOMPARE(table.table().rowCount(), 3);
        QCOMPARE(table.table().item(0, 2)->text(), percent(0.25));
        QCOMPARE(table.table().item(2, 2)->text(), percent(0.5));
        const QString card = table.table().item(2, 1)->toolTip().replace(QChar(0x2009), ' ');
        for (const char* words : {"8.00 s in all", "works 4.00 s, 50.0 %", "waiting for the link 3.00 s, 37.5 %"})
            QVERIFY2(card.contains(words), qPrintable(card));
        QSignalSpy chosen(&table, &SplitTable::chosen);
        Q_EMIT table.findChild<QTableWidget*>()->cellClicked(1, 0);
        Q_EMIT table.findChild<QTableWidget*>()->cellClicked(2, 0);
        QCOMPARE(chosen[0].front().toInt(), 1);
        QCOMPARE(chosen[1].front().toInt(), -1);
    }

    /// Before anything was recorded there is no share, not one of 0 %.
    void nothing_recorded_is_no_share() {
        SplitTable table("split", "Stage", SplitTable::Order::as_given);
        table.show_rows({{"Stage 0", {}}, {"Stage 1", {}}}, "All stages");
        for (int row = 0; row < 3; ++row) QCOMPARE(table.table().item(row, 2)->text(), QString::fromUtf8("–"));
    }

    /// A few stages and their sum are whole in the panel of a window of 1280 by 800.
    void a_sum_is_not_cut() {
        apply_theme(*qApp, false);
        std::vector<SplitTable::Row> rows;
        for (int i = 0; i < 6; ++i) {
            SplitTable::Row row{QString("Stage %1").arg(i), {.busy_s = 1, .idle_s = {}}};
            for (auto& idle_s : row.split.idle_s) idle_s = 1;
            rows.push_back(row);
        }
        SplitTable table("split", "Stage", SplitTable::Order::as_given);
        table.resize(420, 200);
        table.show();
        QVERIFY(QTest::qWaitForWindowExposed(&table));
        table.show_rows(rows, "All stages");
        const auto& cells = table.table();
        QTRY_VERIFY(cells.rowViewportPosition(6) + cells.rowHeight(6) <= cells.viewport()->height());
    }

    /// A head, or S, orders the rows; their sum stays last, and a run that grows leaves order and selection.
    void rows_of_idle_times_are_ordered() {
        const auto split = [](double busy_s, double memory_s, double link_s) {
            IdleSplit one{busy_s, {}};
            one.idle_s[static_cast<std::size_t>(IdleCause::memory)] = memory_s;
            one.idle_s[static_cast<std::size_t>(IdleCause::link)] = link_s;
            return one;
        };
        std::vector<SplitTable::Row> rows{{"a", split(2, 1, 2)}, {"b", split(1, 4, 5)}, {"c", split(4, 1, 1)}};
        SplitTable table("split", "Node", SplitTable::Order::most_idle_first);
        table.resize(400, 200);
        table.show_rows(rows, "All");
        table.show();
        QVERIFY(QTest::qWaitForWindowExposed(&table));
        auto* cells = table.findChild<QTableWidget*>();
        auto* heads = cells->horizontalHeader();
        const auto order = [&] {
            QString names;
            for (int row = 0; row < cells->rowCount(); ++row) names += cells->item(row, 0)->text();
            return names;
        };
        const auto click = [&](int column) {
            const QPoint place(heads->sectionViewportPosition(column) + 10, heads->height() / 2);
            QTest::mouseClick(heads->viewport(), Qt::LeftButton, {}, place);
        };
        QCOMPARE(order(), QString("bacAll"));
        QVERIFY(heads->isSortIndicatorShown());
        QCOMPARE(heads->sortIndicatorSection(), 2);
        click(2);
        QCOMPARE(order(), QString("cabAll"));
        click(1);  // who works most
        QCOMPARE(order(), QString("cabAll"));
        QCOMPARE(heads->sortIndicatorOrder(), Qt::DescendingOrder);
        click(1);
        QCOMPARE(order(), QString("bacAll"));
        QSignalSpy chosen(&table, &SplitTable::chosen);
        QTest::mouseClick(cells->viewport(), Qt::LeftButton, {}, cells->visualItemRect(cells->item(0, 0)).center());
        QCOMPARE(chosen.back().front().toInt(), 1);  // of those given
        rows[1].split = split(9, 1, 0);
        table.show_rows(rows, "All");
        QCOMPARE(order(), QString("acbAll"));
        QCOMPARE(cells->selectedItems().front()->text(), QString("b"));
        QTest::keyClick(cells, Qt::Key_S);
        QCOMPARE(order(), QString("acbAll"));  // by idle time
        QCOMPARE(heads->sortIndicatorSection(), 2);
        QTest::keyClick(cells, Qt::Key_S);
        QCOMPARE(order(), QString("abcAll"));
        QTest::keyClick(cells, Qt::Key_S, Qt::ShiftModifier);
        QCOMPARE(order(), QString("cbaAll"));
        table.mark(0);
        QCOMPARE(cells->selectedItems().front()->text(), QString("a"));
        table.mark({});
        QVERIFY(cells->selectedItems().isEmpty());
        table.mark(2);
        table.show_rows({{"d", split(1, 1, 1)}, {"e", split(1, 1, 1)}, {"f", split(1, 1, 1)}}, "All");
        QCOMPARE(cells->selectedItems().front()->text(), QString("f"));
    }

    /// Of rows whose figures are the same none goes before another for what nobody sees; when nothing is selected any
    /// more the first rows are in sight again.
    void rows_rest_where_they_are() {
        std::vector<SplitTable::Row> rows;
        for (int i = 0; i < 30; ++i) {
            rows.push_back({QString("n%1").arg(i), {.busy_s = 1 + 1e-6 * i, .idle_s = {}}});
            rows.back().split.idle_s[static_cast<std::size_t>(IdleCause::memory)] = 2;
        }
        SplitTable table("split", "Node", SplitTable::Order::most_idle_first);
        table.resize(400, 200);
        table.show();
        QVERIFY(QTest::qWaitForWindowExposed(&table));
        table.show_rows(rows, "All");
        const auto first = [&] { return table.table().item(0, 0)->text(); };
        QCOMPARE(first(), QString("n0"));
        std::swap(rows[0].split, rows[29].split);
        table.show_rows(rows, "All");
        QCOMPARE(first(), QString("n0"));
        rows[29].split.busy_s = 0.5;
        table.show_rows(rows, "All");
        QCOMPARE(first(), QString("n29"));
        auto* bar = table.table().verticalScrollBar();
        table.mark(28);
        bar->setValue(bar->maximum());
        QVERIFY(bar->value() > 0);
        table.mark({});
        QCOMPARE(bar->value(), 0);
        bar->setValue(bar->maximum());
        table.go_to_top();
        QCOMPARE(bar->value(), 0);
    }

    /// The line above the rows tells of what is selected, else of what idles most; it gives way to the last rows.
    void what_is_selected_is_told() {
        apply_theme(*qApp, false);
        std::vector<SplitTable::Row> rows;
        for (int i = 0; i < 6; ++i) {
            SplitTable::Row row{QString("Stage %1").arg(i), {.busy_s = 3, .idle_s = {}}};
            row.split.idle_s[static_cast<std::size_t>(IdleCause::link)] = 1 + i;
            rows.push_back(row);
        }
        SplitTable table("split", "Stage", SplitTable::Order::as_given);
        table.resize(420, 300);
        table.show();
        QVERIFY(QTest::qWaitForWindowExposed(&table));
        table.show_rows(rows, "All stages");
        const auto* finding = table.findChild<QLabel*>("idles_most");
        const auto words = [&] { return finding->text(); };
        QVERIFY2(words().startsWith("Stage 5 idles most"), qPrintable(words()));
        table.mark(0);
        QVERIFY2(words().startsWith("Stage 0 idles 25") && words().contains("waiting for the link"),
                 qPrintable(words()));
        QCOMPARE(table.table().selectedItems().front()->text(), QString("Stage 0"));
        table.mark({});
        QVERIFY2(words().startsWith("Stage 5 idles most"), qPrintable(words()));
        // As low as leaves all rows their room without that line, and not with it.
        const auto all_seen = [&] {
            const auto& cells = table.table();
            return cells.rowViewportPosition(6) + cells.rowHeight(6) <= cells.viewport()->height();
        };
        bool gave_way = false;
        for (int height = 300; height > 150; height -= 4) {
            table.resize(420, height);
            QCoreApplication::sendPostedEvents(nullptr, QEvent::LayoutRequest);
            if (finding->isVisible()) continue;
            gave_way = gave_way || all_seen();
        }
        QVERIFY(gave_way);
    }

    /// In a low panel rows come first: what idles most is told in one line, and the key has one, which opens.
    void a_low_panel_folds_its_key() {
        apply_theme(*qApp, false);
        std::vector<SplitTable::Row> rows;
        for (int i = 0; i < 12; ++i) {
            SplitTable::Row row{QString("n%1").arg(i), {.busy_s = 1, .idle_s = {}}};
            for (auto& idle_s : row.split.idle_s) idle_s = 1;
            row.split.idle_s[static_cast<std::size_t>(IdleCause::replica)] = 2 + i;
            rows.push_back(row);
        }
        SplitTable table("split", "Node", SplitTable::Order::most_idle_first);
        table.resize(420, 240);
        table.show();
        QVERIFY(QTest::qWaitForWindowExposed(&table));
        table.show_rows(rows, "All");
        const auto* finding = table.findChild<QLabel*>("idles_most");
        const auto& key = table.legend();
        const auto lines = [&] { return qRound(double(key.height()) / key.minimumSizeHint().height()); };
        const auto in_sight = [&] {
            return (table.table().viewport()->height()) / table.table().verticalHeader()->defaultSectionSize();
        };
        QTRY_COMPARE(lines(), 1);
        QVERIFY2(finding->text().contains(": replica "), qPrintable(finding->text()));
        QVERIFY2(finding->height() < 2 * finding->fontMetrics().height(), "in one line");
        const auto shown = key.shown(key.width());
        QVERIFY2(shown >= 3 && shown < key.entries().size(), qPrintable(QString::number(shown)));
        QTRY_VERIFY2(in_sight() >= 8, qPrintable(QString::number(in_sight())));
        QTest::mouseClick(const_cast<FlowKey*>(&key), Qt::LeftButton);
        QTRY_VERIFY(lines() > 1);
        QCOMPARE(key.shown(key.width()), key.entries().size());
        QTest::mouseClick(const_cast<FlowKey*>(&key), Qt::LeftButton);
        QTRY_COMPARE(lines(), 1);
        table.resize(900, 600);
        QTRY_COMPARE(key.shown(key.width()), key.entries().size());
        QTRY_VERIFY2(finding->text().contains("waiting for a replica"), qPrintable(finding->text()));
    }

    /// Bars can be compared from row to row: causes stand in the order of their sum.
    void causes_stand_in_one_order() {
        IdleSplit one, other;
        one.idle_s[static_cast<std::size_t>(IdleCause::memory)] = 3;
        one.idle_s[static_cast<std::size_t>(IdleCause::link)] = 1;
        other.idle_s[static_cast<std::size_t>(IdleCause::link)] = 4;
        SplitTable table("split", "Node", SplitTable::Order::as_given);
        table.show_rows({{"a", one}, {"b", other}}, "All");
        for (int row = 0; row < 3; ++row) {
            const auto parts = table.table().item(row, 1)->data(Qt::UserRole).toList();
            QCOMPARE(parts[3].toInt(), static_cast<int>(IdleCause::link));
            QCOMPARE(parts[5].toInt(), static_cast<int>(IdleCause::memory));
        }
        QCOMPARE(table.legend().words(), QString("link\nmemory").prepend("Works\n"));
    }
};

QTEST_MAIN(TestSplitTable)
#include "test_split_table.moc"
