// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>
#include <limits>

#include "core/base/format.h"

using namespace skippipe;

namespace {
/// Thin spaces as underscores, so that expectations are readable.
QString plain(const std::string& text) { return QString::fromStdString(text).replace(QChar(0x2009), QLatin1Char('_')); }
}  // namespace

class TestFormat : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void numbers_have_three_significant_digits() {
        QCOMPARE(plain(format_number(0)), QStringLiteral("0"));
        QCOMPARE(plain(format_number(52.6)), QStringLiteral("52.6"));
        QCOMPARE(plain(format_number(0.012345)), QStringLiteral("0.0123"));
        QCOMPARE(plain(format_number(9.996)), QStringLiteral("10.0"));
        QCOMPARE(plain(format_number(99.96)), QStringLiteral("100"));
        QCOMPARE(plain(format_number(0.1)), QStringLiteral("0.100"));
        QCOMPARE(plain(format_number(1)), QStringLiteral("1.00"));
        QCOMPARE(plain(format_number(-1234.4)), QStringLiteral("-1234"));
        QCOMPARE(plain(format_number(std::numeric_limits<double>::quiet_NaN())), QString(QChar(0x2013)));
        QCOMPARE(plain(format_number(std::numeric_limits<double>::infinity())), QString(QChar(0x221E)));
    }
    void si_prefixes() {
        QCOMPARE(plain(format_si(1234, "B")), QStringLiteral("1.23_kB"));
        QCOMPARE(plain(format_si(999.6, "B")), QStringLiteral("1.00_kB"));
        QCOMPARE(plain(format_si(999.4, "B")), QStringLiteral("999_B"));
        QCOMPARE(plain(format_si(33554432, "B")), QStringLiteral("33.6_MB"));
        QCOMPARE(plain(format_si(2.5e9, "B/s")), QStringLiteral("2.50_GB/s"));
        QCOMPARE(plain(format_si(0.00085, "s")), QStringLiteral("850_") + QChar(0xB5) + QStringLiteral("s"));
        QCOMPARE(plain(format_si(0, "B")), QStringLiteral("0_B"));
        QCOMPARE(plain(format_si(-4200, "")), QStringLiteral("-4.20_k"));
        QCOMPARE(plain(format_si(3e19, "B")), QStringLiteral("30000_PB"));
    }
    void durations() {
        QCOMPARE(plain(format_seconds(52.6)), QStringLiteral("52.6_s"));
        QCOMPARE(plain(format_seconds(59.94)), QStringLiteral("59.9_s"));
        QCOMPARE(plain(format_seconds(59.96)), QStringLiteral("1_min 00_s"));
        QCOMPARE(plain(format_seconds(72)), QStringLiteral("1_min 12_s"));
        QCOMPARE(plain(format_seconds(3599.4)), QStringLiteral("59_min 59_s"));
        QCOMPARE(plain(format_seconds(3599.6)), QStringLiteral("1_h 00_min"));
        QCOMPARE(plain(format_seconds(3 * 3600 + 5 * 60 + 10)), QStringLiteral("3_h 05_min"));
        QCOMPARE(plain(format_seconds(52 * 3600)), QStringLiteral("2_d 04_h"));
        QCOMPARE(plain(format_seconds(0.0123)), QStringLiteral("12.3_ms"));
        QCOMPARE(plain(format_seconds(-72)), QStringLiteral("-1_min 12_s"));
        QCOMPARE(plain(format_seconds(0)), QStringLiteral("0_s"));
        QCOMPARE(plain(format_seconds(-4.16e-17)), QStringLiteral("0_s"));  // of two sums of the same
        QCOMPARE(plain(format_seconds(4.16e-10)), QStringLiteral("0.416_ns"));
    }
    void percent_and_change() {
        QCOMPARE(plain(format_percent(0.312)), QStringLiteral("31.2_%"));
        QCOMPARE(plain(format_change(0.125)), QStringLiteral("+12.5_%"));
        QCOMPARE(plain(format_change(-0.04)), QStringLiteral("-4.00_%"));
        QCOMPARE(plain(format_change(0.49)), QStringLiteral("+49.0_%"));
        QCOMPARE(plain(format_change(0.5)), QString::fromUtf8("1.50_×"));
        QCOMPARE(plain(format_change(-0.6)), QStringLiteral("-60.0_%"));
        QCOMPARE(plain(format_change(82.86)), QString::fromUtf8("83.9_×"));
    }
    void small_shares_are_no_row_of_zeros() {
        QCOMPARE(plain(format_percent(0)), QStringLiteral("0_%"));
        QCOMPARE(plain(format_percent(1e-12)), QStringLiteral("0_%"));
        QCOMPARE(plain(format_percent(-1e-12)), QStringLiteral("0_%"));
        QCOMPARE(plain(format_percent(2e-5)), QStringLiteral("< 0.01_%"));
        QCOMPARE(plain(format_percent(-2e-5)), QStringLiteral("> -0.01_%"));
        QCOMPARE(plain(format_percent(1.234e-4)), QStringLiteral("0.0123_%"));
        QCOMPARE(plain(format_change(2e-5)), QStringLiteral("0_%"));
        QCOMPARE(plain(format_change(-2e-4)), QStringLiteral("-0.0200_%"));
        QCOMPARE(plain(format_percent(std::numeric_limits<double>::quiet_NaN())),
                 QString(QChar(0x2013)) + QStringLiteral("_%"));
    }
};

QTEST_APPLESS_MAIN(TestFormat)
#include "test_format.moc"
