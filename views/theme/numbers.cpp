// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/theme/numbers.h"

#include <algorithm>
#include <cmath>

#include <QRegularExpression>
#include <utility>

#include <QLocale>
#include <QObject>
#include <QStringList>

#include "core/base/format.h"

namespace skippipe {
namespace {
const QString thin{QChar{0x2009}};
/// "1 h 05 min", "27 min 30 s": whole seconds, parts that are 0 left out.
QString clock_words(double seconds) {
    const auto whole = static_cast<qlonglong>(std::llround(std::abs(seconds)));
    const std::pair<qlonglong, const char*> parts[] = {
        {whole / 86400, "d"}, {whole / 3600 % 24, "h"}, {whole / 60 % 60, "min"}, {whole % 60, "s"}};
    QStringList words;
    for (const auto& [count, unit] : parts)
        if (count > 0)
            words << QStringLiteral("%1").arg(count, words.isEmpty() ? 1 : 2, 10, QLatin1Char('0')) + thin + unit;
    return (seconds < 0 ? QString{QChar{0x2212}} : QString{}) + words.join(' ');
}

/// The prefix of a number of that size, with its factor.
std::pair<double, const char*> prefix_for(double value) {
    static constexpr std::pair<double, const char*> prefixes[] = {{1e18, "E"}, {1e15, "P"}, {1e12, "T"},
                                                                  {1e9, "G"},  {1e6, "M"},  {1e3, "k"}};
    for (const auto& prefix : prefixes)
        if (value >= prefix.first) return prefix;
    return {1, ""};
}

/// In which times up to that are written, in seconds, and its name.
std::pair<double, const char*> unit_for(double largest_s) {
    if (largest_s >= 2 * 3600) return {3600, "h"};
    if (largest_s >= 120) return {60, "min"};
    if (largest_s >= 1 || !(largest_s > 0)) return {1, "s"};
    return largest_s >= 1e-3 ? std::pair{1e-3, "ms"} : std::pair{1e-6, "µs"};
}

}  // namespace

QString three_digits(double value) { return QString::fromStdString(format_number(value)); }

QString whole_number(double value) {
    return QLocale(QLocale::English, QLocale::UnitedStates)
        .toString(static_cast<qlonglong>(std::llround(value)))
        .replace(',', thin);
}

QString quantity(double value, const QString& unit) {
    return QString::fromStdString(format_si(value, unit.toStdString()));
}

QString duration(double seconds) { return QString::fromStdString(format_seconds(seconds)); }

QString percent(double share) { return QString::fromStdString(format_percent(share)); }

QString whole_percent(double share) {
    if (share > 0 && share < 0.005) return QStringLiteral("<") + thin + QLatin1Char('1') + thin + QLatin1Char('%');
    return QString::number(std::lround(100 * share)) + thin + QLatin1Char('%');
}

QString at_most_percent(double gap) {
    constexpr double rounding = 1e-6;
    const double percent = 100 * gap;
    const double steps = percent < 10 - rounding ? 10 : 1;  // of one percent
    const double above = std::max(0.0, std::ceil(percent * steps - rounding) / steps);
    return QString::number(above, 'f', steps > 1 && above > 0 && above < 10 ? 1 : 0) + thin + QLatin1Char('%');
}

QString change(double share) {
    return QString::fromStdString(format_change(share)).replace('-', QChar{0x2212});  // a minus, no hyphen
}

QString told_change(double share) {
    constexpr double least_told = 0.001;
    constexpr double nothing = 1e-9;
    if (std::abs(share) >= least_told) return change(share);
    if (std::abs(share) < nothing) return QObject::tr("no change");
    return QObject::tr("no change (below %1)").arg(QStringLiteral("0.1") + thin + QLatin1Char('%'));
}

QString change_in_points(double share) {
    const QString sign = share < 0 ? QString{QChar{0x2212}} : QStringLiteral("+");
    const double points = 100 * std::abs(share);
    return QObject::tr("%1%2 pp").arg(sign, QString::number(points, 'f', points < 1 ? 2 : 1));
}

QString chance_words(const std::optional<double>& p) {
    if (!p) return {};
    return *p < 0.001 ? QObject::tr("< 0.001") : QString::number(*p, 'f', 3);
}

QString tick(double seconds, double step) {
    const int decimals = std::clamp(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 0, 9);
    if (step >= 1 && std::abs(seconds) >= 60) return clock_words(seconds);
    if (step >= 60) return duration(seconds);
    if (std::abs(seconds) >= 60) {  // "1 min 40.01 s", as it is "1 min 40 s" in larger steps
        const double unit = std::pow(10, decimals), whole = std::round(std::abs(seconds) * unit) / unit;
        const double minutes_s = std::floor(whole / 60) * 60;
        return clock_words(std::copysign(minutes_s, seconds)) + ' ' +
               QStringLiteral("%1").arg(whole - minutes_s, decimals + 3, 'f', decimals, QLatin1Char('0')) + thin + 's';
    }
    if (step >= 1e-3 || std::abs(seconds) >= 1)
        return QString::number(seconds, 'f', decimals) + thin + QLatin1Char('s');
    if (step >= 1e-6) return QString::number(seconds * 1e3, 'f', std::max(0, decimals - 3)) + thin + "ms";
    return QString::number(seconds * 1e6, 'f', std::max(0, decimals - 6)) + thin + QString::fromUtf8("µs");
}

double rounded_deviation(double deviation) {
    if (!(deviation > 0)) return deviation;
    const double unit = std::pow(10, std::floor(std::log10(deviation)));
    const double steps = deviation < 2 * unit ? 10 : 1;
    return std::round(deviation / unit * steps) / steps * unit;
}

QString without_zeros(QString words) {
    static const QRegularExpression zeros(QStringLiteral("(\\.\\d*?)0+(?!\\d)"));
    const auto found = zeros.match(words);
    if (!found.hasMatch()) return words;
    const QString kept = found.captured(1) == QStringLiteral(".") ? QString{} : found.captured(1);
    return words.replace(found.capturedStart(), found.capturedLength(), kept);
}

QString duration_beside(double seconds, double largest_s) {
    const auto [unit_s, name] = unit_for(largest_s);
    return three_digits(seconds / unit_s) + thin + QString::fromUtf8(name);
}

QString quantity_beside(double value, double beside, const QString& unit) {
    const auto [factor, prefix] = prefix_for(beside);
    return three_digits(value / factor) + thin + prefix + unit;
}

QString tick_beside(double seconds, double step_s, double largest_s) {
    const auto [unit_s, name] = unit_for(largest_s);
    return number_tick(seconds / unit_s, step_s / unit_s, 1) + thin + QString::fromUtf8(name);
}

double nice_step_beside(double least_s, double largest_s) {
    const double unit_s = unit_for(largest_s).first;
    return nice_step(least_s / unit_s) * unit_s;
}

QString unbroken(QString words) { return words.replace(thin, QChar{0x00A0}).replace(QLatin1Char(' '), QChar{0x00A0}); }

QString unbroken_numbers(QString words) {
    static const QRegularExpression parts(
        QStringLiteral("(\\d)[ \\x{2009}](%|(?:ns|us|µs|ms|s|min|h|d|B|kB|MB|GB)\\b)"));
    static const QRegularExpression whole(QStringLiteral("(\\d\\x{202F}(?:min|h|d))[ \\x{2009}](\\d)"));
    return words.replace(parts, QStringLiteral("\\1\u202F\\2")).replace(whole, QStringLiteral("\\1\u00A0\\2"));
}

QString with_words_before(const QString& words) {
    static const QRegularExpression number(QStringLiteral("(\\p{L}) (?=\\d)"));
    static const QRegularExpression of(QStringLiteral("(\\p{L}) (?=(?:of|to|by|at)\\x{00A0})"));
    return unbroken_numbers(words)
        .replace(number, QStringLiteral("\\1\u00A0"))
        .replace(of, QStringLiteral("\\1\u00A0"));
}

QString number_tick(double value, double step, double largest) {
    const auto [unit, name] = largest >= 1e4 ? prefix_for(largest) : std::pair{1.0, ""};
    const QString prefix = *name == 0 ? QString{} : thin + QLatin1String(name);
    const double digits = std::ceil(-std::log10(step / unit) - 1e-9);
    const double rounded = std::abs(value) < step / 2 ? 0 : value / unit;
    if (rounded == 0) return QStringLiteral("0");
    return QString::number(rounded, 'f', static_cast<int>(std::clamp(digits, 0.0, 12.0))).replace('-', QChar{0x2212}) +
           prefix;
}

double nice_step(double least) {
    if (!(least > 0) || !std::isfinite(least)) return 1;
    const double base = std::pow(10.0, std::floor(std::log10(least)));
    for (double factor : {1.0, 2.0, 5.0, 10.0})
        if (base * factor >= least * (1 - 1e-9)) return base * factor;
    return base * 10;
}

double clock_step(double least) {
    if (!(least > 5)) return nice_step(least);
    for (const double step : {10., 15., 30., 60., 120., 300., 600., 900., 1800., 3600., 7200., 10800., 21600., 43200.})
        if (step >= least * (1 - 1e-9)) return step;
    return 86400 * std::max(1.0, nice_step(least / 86400));
}

}  // namespace skippipe
