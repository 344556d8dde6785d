// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/inspector/field_text.h"

#include <algorithm>
#include <map>
#include <string_view>

namespace skippipe {
namespace {

constexpr std::pair<const char*, int> prefixes[] = {{"P", 15},      {"T", 12},      {"G", 9},  {"M", 6},
                                                    {"k", 3},       {"K", 3},       {"m", -3}, {"u", -6},
                                                    {"\u00B5", -6}, {"\u03BC", -6}, {"n", -9}};

/// Characters of a field: what is longer with a prefix is clearer without.
constexpr qsizetype most_scaled = 16;

QString with_unit(double value, const Info& info) {
    const QString number = QString::number(value, 'g', 9).remove('+');
    return *info.unit != 0 ? number + QChar(0x2009) + QString::fromUtf8(info.unit) : number;
}

/// Where "/ 2" or "* 1.5" at the end of a text begins; -1: nowhere.
qsizetype factor_at(const QString& text) {
    const qsizetype at = std::max({text.lastIndexOf('/'), text.lastIndexOf('*'), text.lastIndexOf(QChar(0x00D7))});
    return at >= 0 && read_factor(text.mid(at)) ? at : -1;
}

/// Units are said beside the label; "seconds_per_sample_per_block" needs no "s" in its name.
QString without_unit(QString key) {
    for (const char* tail : {"_bytes_per_s", "_seconds", "_s"})
        if (key.endsWith(QLatin1String(tail))) return key.chopped(static_cast<qsizetype>(qstrlen(tail)));
    return key;
}

}  // namespace

QString label_of(const char* key) {
    // Where the key says it in the wrong order.
    static const std::map<std::string_view, const char*> words{
        {"plan_blocks", "Planner chooses blocks"},
        {"microbatch_samples", "Samples per microbatch"},
        {"microbatch_sizes", "Samples, microbatch by microbatch"},
        {"memory_microbatches", "Microbatches in memory"},
        {"memory_bytes", "Memory"},
        {"up_bytes_per_s", "Uplink"},
        {"down_bytes_per_s", "Downlink"},
        {"seeds", "Number of seeds"},
        {"at_s", "Network time"},
        {"at_iteration", "Iteration, from 0"},
        {"probability_per_iteration", "Chance an iteration"},
        {"rejoin_after_s", "Lasts for"},
    };
    if (const auto known = words.find(key); known != words.end()) return QObject::tr(known->second);
    QString text = without_unit(QString::fromUtf8(key)).replace('_', ' ');
    if (!text.isEmpty()) text[0] = text[0].toUpper();
    return text;
}

QString place_words(const std::string& pointer) {
    QStringList words;
    bool is_named = false;  // an element that is called by its own name
    for (QString part : QString::fromStdString(pointer).split('/', Qt::SkipEmptyParts)) {
        bool is_number = false;
        const int number = part.toInt(&is_number);
        if (is_number && !words.isEmpty())
            words.last() += QStringLiteral(" %1").arg(number + 1);
        else if (is_named)
            words.last() = part.replace("~1", "/").replace("~0", "~");
        else
            words << label_of(part.toUtf8().constData());
        is_named = part == "nodes" || part == "links" || part == "regions";
    }
    if (words.size() > 1 && !words.front().contains(' ')) words.removeFirst();  // the part of the document it is in
    for (qsizetype i = 1; i < words.size(); ++i) words[i] = words[i].toLower();
    return words.join(", ");
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

bool says_bytes(const char* unit) { return qstrcmp(unit, "B") == 0 || qstrcmp(unit, "B/s") == 0; }

QString number_text(double value, const char* unit) {
    const auto digits = [](double number) {
        char buffer[40];
        const auto end = std::to_chars(buffer, buffer + sizeof buffer, number).ptr;
        return QString::fromLatin1(buffer, end - buffer);
    };
    if (!says_bytes(unit)) return digits(value);
    const QString thin{QChar(0x2009)}, base = QString::fromUtf8(unit);
    for (const auto& [prefix, power] : prefixes) {
        const double scale = std::pow(10.0, power);
        if (power <= 0 || std::abs(value) < scale) continue;
        const QString text = digits(value / scale) + thin + QString::fromUtf8(prefix) + base;
        if (text.size() <= most_scaled && read_number(text, unit) == value) return text;
    }
    return digits(value) + thin + base;
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
