// SPDX-License-Identifier: GPL-3.0-or-later
// Axes of a report's charts.
#include <QTest>

#include <cmath>
#include <string>

#include "core/analysis/chart_svg.h"

using namespace skippipe;

namespace {

std::string chart_of(double low, double high, double first_x = 1, double last_x = 2) {
    return chart_svg({{"run 1", 0, {{first_x, low}, {last_x, high}}}}, {});
}

/// How many ticks of both axes are named.
std::ptrdiff_t words_in(const std::string& svg) {
    std::ptrdiff_t count = 0;
    for (auto at = svg.find("<text"); at != std::string::npos; at = svg.find("<text", at + 1)) ++count;
    return count;
}

}  // namespace

class TestChartSvg : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void axes_have_ticks_at_round_values() {
        const auto svg = chart_of(2, 3);
        for (const char* tick : {">2<", ">2.2<", ">3<"}) QVERIFY2(svg.find(tick) != std::string::npos, svg.c_str());
    }

    /// A step that is less than a value's last digit would never come to the axis' end.
    void values_that_differ_by_rounding_have_an_axis() {
        const double loss = 5.5754912;
        for (const double next : {loss, std::nextafter(loss, 6.0), std::nextafter(std::nextafter(loss, 6.0), 6.0)}) {
            const auto svg = chart_of(loss, next);
            QVERIFY2(words_in(svg) > 6 && words_in(svg) < 30, svg.c_str());
            QVERIFY(svg.find(">5.6<") != std::string::npos);
        }
        const double flops = 1e17;  // 1 more is lost
        for (const double next : {flops, std::nextafter(flops, 2e17)}) {
            const auto svg = chart_of(1, 2, flops, next);
            QVERIFY2(words_in(svg) > 6 && words_in(svg) < 30 && svg.find("nan") == std::string::npos, svg.c_str());
        }
    }
};

QTEST_APPLESS_MAIN(TestChartSvg)
#include "test_chart_svg.moc"
