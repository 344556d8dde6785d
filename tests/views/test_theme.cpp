// SPDX-License-Identifier: GPL-3.0-or-later
#include <QAbstractItemView>
#include <QComboBox>
#include <QHeaderView>
#include <QStyleOptionComboBox>
#include <QTableWidget>
#include <QtTest>

#include "tests/views/colour_science.h"
#include "views/imgui/atlas.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/timeline/colours.h"

using namespace skippipe;
namespace science = colour_science;

class TestTheme : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void ciede2000_agrees_with_its_published_pairs() {
        // Sharma, Wu and Dalal's table, pairs 1, 7 and 25.
        QVERIFY(std::abs(science::ciede2000({50, 2.6772, -79.7751}, {50, 0, -82.7485}) - 2.0425) < 1e-4);
        QVERIFY(std::abs(science::ciede2000({50, 0, 0}, {50, -1, 2}) - 2.3669) < 1e-4);
        QVERIFY(std::abs(science::ciede2000({60.2574, -34.0099, 36.2677}, {60.4626, -34.1751, 39.4387}) - 1.2644) <
                1e-4);
    }

    void stages_are_told_apart_by_all_eyes() {
        for (const Theme* t : {&Theme::light(), &Theme::dark_theme()})
            for (const auto& eyes : {science::normal, science::protanopia, science::deuteranopia, science::tritanopia})
                for (std::size_t a = 0; a < t->stages.size(); ++a)
                    for (std::size_t b = a + 1; b < t->stages.size(); ++b) {
                        const double distance =
                            science::ciede2000(science::lab(t->stages[a], eyes), science::lab(t->stages[b], eyes));
                        QVERIFY2(distance >= 12,
                                 qPrintable(QString("stages %1 and %2: %3").arg(a).arg(b).arg(distance)));
                    }
    }

    void waits_and_reductions_have_hues_of_their_own() {
        for (const Theme* t : {&Theme::light(), &Theme::dark_theme()}) {
            std::vector<QColor> own(t->waits.begin(), t->waits.end());
            own.push_back(t->reduction);
            for (const auto& eyes : {science::normal, science::protanopia, science::deuteranopia, science::tritanopia})
                for (std::size_t a = 0; a < own.size(); ++a) {
                    const auto seen = science::lab(own[a], eyes);
                    const auto apart = [&](const QColor& other, double least) {
                        const double distance = science::ciede2000(seen, science::lab(other, eyes));
                        QVERIFY2(distance >= least,
                                 qPrintable(QString("%1 and %2: %3").arg(own[a].name(), other.name()).arg(distance)));
                    };
                    for (std::size_t b = a + 1; b < own.size(); ++b) apart(own[b], 9);
                    for (const QColor& other : {t->bad, t->text_2}) apart(other, 9);
                    for (const QColor& stage : t->stages) apart(stage, own[a] == t->reduction ? 12 : 6.5);
                }
            for (const QColor& colour : own) QVERIFY2(contrast(colour, t->surface) >= 3, qPrintable(colour.name()));
        }
    }

    /// What stands beside stages and is none: nobody takes weights for stage 0.
    void memory_has_hues_of_its_own() {
        for (const Theme* t : {&Theme::light(), &Theme::dark_theme()})
            for (const auto& eyes : {science::normal, science::protanopia, science::deuteranopia, science::tritanopia})
                for (std::size_t a = 0; a < t->memory.size(); ++a) {
                    const auto seen = science::lab(t->memory[a], eyes);
                    const auto apart = [&](const QColor& other, double least) {
                        const double distance = science::ciede2000(seen, science::lab(other, eyes));
                        QVERIFY2(distance >= least,
                                 qPrintable(QString("%1 and %2: %3").arg(a).arg(other.name()).arg(distance)));
                    };
                    for (std::size_t b = a + 1; b < t->memory.size(); ++b) apart(t->memory[b], 9);
                    for (const QColor& stage : t->stages) apart(stage, &eyes == &science::normal ? 12 : 8.5);
                    for (const QColor& back : {t->surface, t->surface_2}) QVERIFY(contrast(t->memory[a], back) >= 3);
                }
    }

    /// Whoever changes the theme finds the same part in the same hue.
    void memory_keeps_its_hues() {
        const auto hue = [](const QColor& colour) {
            const auto lab = science::lab(colour, science::normal);
            return std::atan2(lab[2], lab[1]) * 180 / std::numbers::pi;
        };
        for (std::size_t i = 0; i < Theme::light().memory.size(); ++i) {
            const double apart =
                std::remainder(hue(Theme::light().memory[i]) - hue(Theme::dark_theme().memory[i]), 360);
            QVERIFY2(std::abs(apart) < 15, qPrintable(QString("%1: %2").arg(i).arg(apart)));
        }
    }

    void nothing_moves_by_itself() {
        for (const bool dark : {false, true}) {
            apply_theme(*qApp, dark);
            QCOMPARE(QApplication::style()->styleHint(QStyle::SH_Widget_Animation_Duration), 0);
        }
    }

    /// What a box offers is a list in the sheet's own colours, as menus are.
    void boxes_open_lists_of_their_own_look() {
        for (const bool dark : {false, true}) {
            apply_theme(*qApp, dark);
            QComboBox box;
            box.addItems({"a", "b"});
            box.ensurePolished();
            QStyleOptionComboBox option;
            option.initFrom(&box);
            QCOMPARE(box.style()->styleHint(QStyle::SH_ComboBox_Popup, &option, &box), 0);
            box.view()->ensurePolished();
            QVERIFY(box.view()->palette().color(QPalette::Highlight) != theme().accent);
        }
    }

    /// The head that orders a table points to where its values are larger, and not into its words.
    void heads_point_to_what_is_larger() {
        apply_theme(*qApp, false);
        QTableWidget table(1, 1);
        auto& head = *table.horizontalHeader();
        head.setSortIndicatorShown(true);
        table.setHorizontalHeaderLabels({QString()});
        table.resize(200, 80);
        const auto mean_y = [&](int from_right, int to_right) {  // of what is drawn there
            const QImage drawn = head.grab().toImage();
            const int right = head.sectionViewportPosition(0) + head.sectionSize(0);
            double sum = 0;
            int count = 0;
            for (int x = right - from_right; x < right - to_right; ++x)
                for (int y = 2; y < drawn.height() - 3; ++y)
                    if (drawn.pixelColor(x, y) != drawn.pixelColor(5, 5)) sum += y, ++count;
            return count > 0 ? sum / count : -1;
        };
        head.setSortIndicator(0, Qt::DescendingOrder);
        QVERIFY(mean_y(9, 7) > 0 && mean_y(9, 7) < mean_y(6, 4));
        head.setSortIndicator(0, Qt::AscendingOrder);
        QVERIFY(mean_y(9, 7) > mean_y(6, 4) && mean_y(6, 4) > 0);
        QCOMPARE(mean_y(60, 11), -1.0);
    }

    /// Causes with one hatch differ in colour, whatever the theme.
    void causes_are_told_apart() {
        for (const Theme* t : {&Theme::light(), &Theme::dark_theme()})
            for (std::size_t a = 0; a < idle_causes; ++a)
                for (std::size_t b = a + 1; b < idle_causes; ++b) {
                    const auto one = static_cast<IdleCause>(a), other = static_cast<IdleCause>(b);
                    if (cause_hatch(one) < 0 || cause_hatch(one) != cause_hatch(other)) continue;
                    const double distance = science::ciede2000(science::lab(cause_colour(*t, one), science::normal),
                                                               science::lab(cause_colour(*t, other), science::normal));
                    QVERIFY2(distance >= 30, qPrintable(QString("%1 and %2: %3").arg(a).arg(b).arg(distance)));
                }
    }

    /// A hatch goes on from tile to tile, and is like no other.
    void hatches_repeat() {
        const auto alike = [](int a, int b, int shift) {
            for (int x = 0; x < hatch_tile; ++x)
                for (int y = 0; y < hatch_tile; ++y)
                    if (std::abs(hatch_alpha(a, x + 0.5, y + 0.5) - hatch_alpha(b, x + shift + 0.5, y + shift + 0.5)) >
                        1e-9)
                        return false;
            return true;
        };
        for (int a = 0; a < hatch_patterns; ++a) {
            QVERIFY2(alike(a, a, hatch_tile), qPrintable(QString::number(a)));
            for (int b = 0; b < a; ++b) QVERIFY2(!alike(a, b, 0), qPrintable(QString("%1 %2").arg(a).arg(b)));
        }
    }

    /// The hatch of a wait is seen on its ground, whatever lanes are coloured by.
    void marks_of_waits_are_seen() {
        for (const Theme* t : {&Theme::light(), &Theme::dark_theme()})
            for (const auto by : {ColourBy::operation, ColourBy::stage, ColourBy::microbatch, ColourBy::cause})
                for (std::size_t c = 0; c < idle_causes; ++c) {
                    const auto cause = static_cast<IdleCause>(c);
                    const double seen = contrast(cause_ink(*t, cause, by), cause_fill(*t, cause, by));
                    QVERIFY2(seen >= 3, qPrintable(cause_words(cause) + QString(" %1").arg(seen)));
                }
    }

    void contrasts_are_enough() {
        for (const Theme* t : {&Theme::light(), &Theme::dark_theme()}) {
            for (const QColor& back : {t->surface, t->surface_2})
                for (const QColor& text : {t->text, t->text_2, t->accent, t->good, t->warning, t->bad})
                    QVERIFY2(contrast(text, back) >= 4.5, qPrintable(text.name()));
            QVERIFY(contrast(t->on_accent, t->accent) >= 4.5);
            for (const QColor& stage : t->stages) {
                QVERIFY2(contrast(stage, t->surface) >= 3, qPrintable(stage.name()));
                QVERIFY2(contrast(t->text_on(stage), stage) >= 4.5, qPrintable(stage.name()));
            }
        }
    }

    void ticks_read_well() {
        const QString thin{QChar(0x2009)};
        QCOMPARE(tick(0.25, 0.05), "0.25" + thin + "s");
        QCOMPARE(tick(12, 2), "12" + thin + "s");
        QCOMPARE(tick(0.0005, 0.0005), "0.5" + thin + "ms");
        QCOMPARE(nice_step(0.21), 0.5);
        QCOMPARE(nice_step(2), 2.0);
        QCOMPARE(clock_step(0.3), 0.5);
        QCOMPARE(clock_step(11), 15.0);
        QCOMPARE(clock_step(200), 300.0);
        QCOMPARE(clock_step(4000), 7200.0);
        QCOMPARE(clock_step(100'000), 172'800.0);
        QCOMPARE(tick(90, 30), "1" + thin + "min 30" + thin + "s");
        QCOMPARE(tick(1620, 20), "27" + thin + "min");
        QCOMPARE(tick(1780, 20), "29" + thin + "min 40" + thin + "s");
        QCOMPARE(tick(3900, 300), "1" + thin + "h 05" + thin + "min");
        QCOMPARE(tick(100.01, 0.01), "1" + thin + "min 40.01" + thin + "s");
        QCOMPARE(tick(61.996, 0.01), "1" + thin + "min 02.00" + thin + "s");
        QCOMPARE(tick(18.8894, 1e-4), "18.8894" + thin + "s");  // not 18889.4 ms beside an axis in seconds
        QCOMPARE(number_tick(5.5994, 0.00005, 5.6), QStringLiteral("5.59940"));
        QCOMPARE(number_tick(-0.5, 0.5, 1), QChar(0x2212) + QStringLiteral("0.5"));
        QCOMPARE(number_tick(1.25e6, 50'000, 2e6), "1.25" + thin + "M");
        QCOMPARE(number_tick(5000, 1000, 9000), QStringLiteral("5000"));
    }

    /// An axis has one unit, whatever stands on it, and its ticks are round in it.
    void an_axis_has_one_unit() {
        const QString thin{QChar(0x2009)};
        QCOMPARE(duration_beside(0.915, 2.24), "0.915" + thin + "s");
        QCOMPARE(duration_beside(0.915, 0.94), "915" + thin + "ms");
        QCOMPARE(duration_beside(90, 300), "1.50" + thin + "min");
        QCOMPARE(tick_beside(0.5, 0.5, 2.24), "0.5" + thin + "s");
        QCOMPARE(tick_beside(0, 0.2, 0.94), "0" + thin + "ms");
        QCOMPARE(tick_beside(150, 30, 300), "2.5" + thin + "min");
        QCOMPARE(nice_step_beside(70, 300), 120.0);
        QCOMPARE(nice_step_beside(0.07, 0.3), 0.1);
        QCOMPARE(quantity_beside(15.6e6, 125e6, "bit/s"), "15.6" + thin + "Mbit/s");
        QCOMPARE(quantity_beside(1e9, 125e6, "bit/s"), "1000" + thin + "Mbit/s");
        QCOMPARE(unbroken_numbers("planned anew: 1" + thin + "min 40" + thin + "s an iteration"),
                 QString("planned anew: 1\u202fmin\u00a040\u202fs an iteration"));
        QCOMPARE(with_words_before("skip ratio 0.33 instead of 0, run 4: 1.74 times"),
                 QString::fromUtf8("skip ratio\u00A00.33 instead\u00A0of\u00A00, run\u00A04: 1.74 times"));
        QCOMPARE(unbroken_numbers("idles 95.0" + thin + "%, for 3" + thin + "skips and 35.4" + thin + "%"),
                 QString("idles 95.0\u202f%, for 3" + thin + "skips and 35.4\u202f%"));
        QCOMPARE(unbroken("8.13" + thin + "% of 1" + thin + "s"), QString("8.13\u00a0%\u00a0of\u00a01\u00a0s"));
    }
};

QTEST_MAIN(TestTheme)
#include "test_theme.moc"
