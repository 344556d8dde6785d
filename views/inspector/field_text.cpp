// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/inspector/field_text.h"

#include <algorithm>

namespace skippipe {
namespace {

constexpr std::pair<const char*, int> prefixes[] = {{"P", 15}, {"T", 12},      {"G", 9},  {"M", 6},
                                                    {"k", 3},  {"K", 3},       {"m", -3}, {"\u00B5", -6},
                                                    {"u", -6}, {"\u03BC", -6}, {"n", -9}};

/// Characters of a field: what is longer with a prefix is clearer without.
constexpr qsizetype most_scaled = 18;

bool is_bandwidth(const char* unit) { return qstrcmp(unit, "B/s") == 0; }

/// The unit in which people read what has `unit` in files, and how many of it one of that is.
std::pair<QString, double> read_in(const char* unit) {
    return is_bandwidth(unit) ? std::pair(QStringLiteral("bit/s"), 8.0) : std::pair(QString::fromUtf8(unit), 1.0);
}

/// A limit as it is read: with an SI prefix before a unit that has them, else in groups of three digits.
QString with_unit(double value, const Info& info) {
    const auto [unit, factor] = read_in(info.unit);
    const double said = value * factor;
    if (has_unit_in_field(info.unit) && unit != QLatin1String("s") && said >= 1000)
        return without_zeros(quantity(said, unit));
    constexpr double most_grouped = 1e12;
    QString number = said == std::floor(said) && std::abs(said) < most_grouped ? whole_number(said) : digits_of(said);
    return unit.isEmpty() ? number : number + QChar(0x2009) + unit;
}

/// In all digits that a decimal text keeps: 23.4 ms are a thousandth of 23.4 s, though not to the last bit.
bool is_same(double a, double b) { return QString::number(a, 'g', 15) == QString::number(b, 'g', 15); }

/// Where "/ 2" or "* 1.5" at the end of a text begins; -1: nowhere.
qsizetype factor_at(const QString& text) {
    const qsizetype at = std::max({text.lastIndexOf('/'), text.lastIndexOf('*'), text.lastIndexOf(QChar(0x00D7))});
    return at >= 0 && read_factor(text.mid(at)) ? at : -1;
}

}  // namespace

QString read_unit(const char* unit) { return read_in(unit).first; }

QString digits_of(double value) {
    constexpr double most_plain = 1e16;
    char buffer[40];
    const bool is_plain = value == std::floor(value) && std::abs(value) < most_plain;
    const auto end = is_plain ? std::to_chars(buffer, buffer + sizeof buffer, value, std::chars_format::fixed).ptr
                              : std::to_chars(buffer, buffer + sizeof buffer, value).ptr;
    return QString::fromLatin1(buffer, end - buffer).remove('+');
}

std::optional<double> read_factor(const QString& text) {
    const QString trimmed = text.trimmed();
    if (trimmed.isEmpty() || !QStringLiteral("/*\u00D7").contains(trimmed[0])) return {};
    const auto number = read_number(trimmed.mid(1), "");
    if (!number || *number == 0) return {};
    return trimmed[0] == '/' ? 1 / *number : *number;
}

std::optional<double> read_number(const QString& text, const char* unit_utf8) {
    if (const auto at = factor_at(text); at >= 0) {
        const auto number = read_number(text.left(at), unit_utf8);
        return number ? std::optional(*number * *read_factor(text.mid(at))) : std::nullopt;
    }
    const QString trimmed = text.trimmed(), unit = QString::fromUtf8(unit_utf8);
    const std::string ascii = trimmed.toLatin1().toStdString();
    double number = 0;
    const auto result = std::from_chars(ascii.data(), ascii.data() + ascii.size(), number);
    if (ascii.empty() || result.ec != std::errc{} || !std::isfinite(number)) return {};
    QString rest = trimmed.mid(static_cast<qsizetype>(result.ptr - ascii.data())).trimmed();
    double factor = 1;
    if (!unit.isEmpty() && rest.endsWith(unit)) {
        rest.chop(unit.size());
    } else if (unit == QLatin1String("B/s")) {
        for (const char* bits : {"bit/s", "bps", "b/s"})
            if (rest.endsWith(QLatin1String(bits))) {
                rest.chop(static_cast<qsizetype>(qstrlen(bits)));
                factor = 0.125;
                break;
            }
    }
    if (rest = rest.trimmed(); rest.isEmpty()) return number * factor;
    for (const auto& [prefix, power] : prefixes)
        if (rest == QString::fromUtf8(prefix) && (power > 0 || !unit.isEmpty()))
            return power > 0 ? number * std::pow(10.0, power) * factor : number / std::pow(10.0, -power) * factor;
    return {};
}

bool has_unit_in_field(const char* unit) {
    return qstrcmp(unit, "B") == 0 || qstrcmp(unit, "B/s") == 0 || qstrcmp(unit, "s") == 0;
}

QString number_text(double value, const char* unit) {
    if (!has_unit_in_field(unit)) return digits_of(value);
    const auto [base, factor] = read_in(unit);
    const QString thin{QChar(0x2009)};
    const double said = value * factor;
    const bool is_time = base == QLatin1String("s");
    for (const auto& [prefix, power] : prefixes) {
        if (is_time != (power < 0) || std::abs(said) < std::pow(10.0, power)) continue;
        if (is_time && std::abs(said) >= 1) break;
        // 0.058 s are 58 ms, though a thousand times 0.058 is not 58 to the bit.
        const double scaled = power > 0 ? said / std::pow(10.0, power)
                                        : QString::number(said * std::pow(10.0, -power), 'g', 15).toDouble();
        const QString text = digits_of(scaled) + thin + QString::fromUtf8(prefix) + base;
        if (text.size() <= most_scaled && is_same(read_number(text, unit).value_or(-value), value)) return text;
    }
    return digits_of(said) + thin + base;  // eight times a number is exact
}

QString in_unit_shown(const QString& typed, const QString& shown, const char* unit) {
    bool is_bare = false;
    static_cast<void>(typed.trimmed().toDouble(&is_bare));
    if (!is_bare || !has_unit_in_field(unit) || shown.contains(',')) return typed;
    const auto space = shown.indexOf(QChar(0x2009));
    return typed.trimmed() + ' ' + (space < 0 ? read_unit(unit) : shown.mid(space + 1));
}

QString short_text(const QString& text, const char* unit) {
    if (!is_bandwidth(unit)) return text;
    const auto value = read_number(text, unit);
    return value && *value > 0 ? without_zeros(quantity(8 * *value, QStringLiteral("bit/s"))) : text;
}

QString limits_text(const Info& info) {
    const bool low = std::isfinite(info.min), high = std::isfinite(info.max);
    if (low && high)
        return info.above_min
                   ? QObject::tr("more than %1, at most %2").arg(with_unit(info.min, info), with_unit(info.max, info))
                   : QObject::tr("%1 to %2").arg(with_unit(info.min, info), with_unit(info.max, info));
    if (low)
        return info.above_min ? QObject::tr("more than %1").arg(with_unit(info.min, info))
                              : QObject::tr("at least %1").arg(with_unit(info.min, info));
    return high ? QObject::tr("at most %1").arg(with_unit(info.max, info)) : QString{};
}

QString limit_fault(double value, const Info& info) {
    const bool low = info.above_min ? value <= info.min : value < info.min;
    return low || value > info.max ? QObject::tr("Must be %1").arg(limits_text(info)) : QString{};
}

}  // namespace skippipe
