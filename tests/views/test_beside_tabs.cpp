// SPDX-License-Identifier: GPL-3.0-or-later
#include <QLabel>
#include <QtTest>

#include "views/theme/beside_tabs.h"

using namespace skippipe;

class TestBesideTabs : public QObject {
    Q_OBJECT

private Q_SLOTS:
    /// A page stands beside the others from a width on, and is a tab in its place below it.
    void a_page_stands_beside_the_others_where_there_is_room() {
        auto* tabs = new QTabWidget;
        auto *first = new QLabel("a"), *page = new QLabel("b"), *last = new QLabel("c");
        tabs->addTab(first, "First");
        tabs->addTab(page, "Page");
        tabs->addTab(last, "Last");
        tabs->setCurrentWidget(page);
        BesideTabs both(*tabs, *page, BesideTabs::Side::left, 800, 0.25);
        both.resize(600, 300);
        both.show();
        QVERIFY(QTest::qWaitForWindowExposed(&both));
        QVERIFY(!both.is_beside() && tabs->count() == 3 && page->isVisible());
        both.resize(1000, 300);
        QTRY_VERIFY(both.is_beside());
        QCOMPARE(tabs->count(), 2);
        QTRY_VERIFY2(page->isVisible() && tabs->currentWidget()->isVisible(), "both are seen");
        QVERIFY2(page->mapTo(&both, QPoint()).x() < tabs->mapTo(&both, QPoint()).x(), "at the left");
        QVERIFY2(std::abs(page->width() - 250) < 20, qPrintable(QString::number(page->width())));
        bool is_named = false;
        for (const auto* label : both.findChildren<QLabel*>())
            is_named = is_named || (label->isVisible() && label->text() == "Page");
        QVERIFY(is_named);
        both.allow_beside(false);
        QTRY_COMPARE(tabs->indexOf(page), 1);
        both.allow_beside(true);
        QTRY_VERIFY(both.is_beside());
        both.resize(700, 300);
        QTRY_COMPARE(tabs->indexOf(page), 1);
        QCOMPARE(tabs->tabText(1), QString("Page"));
        tabs->setCurrentWidget(page);
        QTRY_VERIFY(page->isVisible());
    }

    /// On a large screen one of them below and another beside: each goes back to its place among the tabs.
    void pages_stand_below_and_beside() {
        auto* tabs = new QTabWidget;
        auto *first = new QLabel("a"), *below = new QLabel("b"), *beside = new QLabel("c"), *last = new QLabel("d");
        for (auto* page : {first, below, beside, last}) tabs->addTab(page, page->text());
        BesideTabs whole(*tabs, *beside, BesideTabs::Side::right, 800);
        auto* column = new BesideTabs(*tabs, *below, BesideTabs::Side::below, 600);
        whole.insertWidget(0, column);
        whole.resize(1000, 700);
        whole.show();
        QVERIFY(QTest::qWaitForWindowExposed(&whole));
        QTRY_VERIFY(whole.is_beside() && column->is_beside());
        QCOMPARE(tabs->count(), 2);
        const auto at = [&](const QWidget& page) { return page.mapTo(&whole, QPoint()); };
        QVERIFY(at(*below).y() > at(*tabs).y() + tabs->height() - 1 && at(*below).x() == at(*tabs).x());
        QVERIFY(at(*beside).x() > at(*tabs).x() + tabs->width() - 1);
        whole.resize(700, 700);  // the later one first
        QTRY_COMPARE(tabs->indexOf(beside), 1);
        whole.resize(700, 400);
        QTRY_COMPARE(tabs->indexOf(below), 1);
        QCOMPARE(tabs->indexOf(beside), 2);
        QCOMPARE(tabs->indexOf(last), 3);
    }
};

QTEST_MAIN(TestBesideTabs)
#include "test_beside_tabs.moc"
