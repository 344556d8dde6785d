// SPDX-License-Identifier: GPL-3.0-or-later
// Parameters of many nodes or links as one.
#include <algorithm>
#include <map>
#include <optional>

#include <QLocale>
#include <QObject>
#include <QSet>

#include "views/runs/parameters.h"
#include "views/theme/words.h"

namespace skippipe {
namespace {

constexpr std::size_t folds_from = 3;
constexpr qsizetype most_named = 3;

/// "/topology/nodes/n3/memory_microbatches" is one element's: its kind and its field (none: the element
/// as a whole); nothing of other pointers.
struct Element {
    QString kind, field;
};
std::optional<Element> element_of(const std::string& pointer) {
    const QString text = QString::fromStdString(pointer);
    for (const QString& kind : {QStringLiteral("nodes"), QStringLiteral("links"), QStringLiteral("regions")}) {
        const QString start = QStringLiteral("/topology/%1/").arg(kind);
        if (!text.startsWith(start)) continue;
        const QString rest = text.mid(start.size());
        const QString field = rest.section('/', 1);  // an id that differs is an element that others lack
        return Element{kind, field == QStringLiteral("id") ? QString{} : field};
    }
    return std::nullopt;
}

QString of_many(const Element& element, const std::string& pointer, std::size_t count) {
    const QString whose = element.kind == QStringLiteral("nodes")   ? QObject::tr("%1 nodes").arg(count)
                          : element.kind == QStringLiteral("links") ? QObject::tr("%1 links").arg(count)
                                                                    : QObject::tr("%1 regions").arg(count);
    if (element.field.isEmpty()) return whose;
    QString field = place_words(pointer).section(QStringLiteral(", "), -1);
    if (!field.isEmpty()) field[0] = field[0].toUpper();
    return QObject::tr("%1 of %2").arg(field, whose);
}

/// "0.004 to 0.008" of numbers, else the words that there are; whole elements are there or not.
QString together(const QStringList& values, const QString& none, bool whole) {
    QSet<QString> different(values.begin(), values.end());
    if (different.size() == 1 && !(whole && values.front() != none)) return values.front();
    const auto missing = values.count(none);
    if (whole) return QObject::tr("%1 of them").arg(values.size() - missing);
    QString least, most;
    double low = 0, high = 0;
    for (const QString& value : values) {
        if (value == none) continue;
        bool is_number = false;
        const double number = QLocale::c().toDouble(value, &is_number);
        if (!is_number) {
            different.remove(none);
            QStringList words(different.begin(), different.end());
            words.sort();
            return words.size() > most_named ? QObject::tr("%1 different").arg(words.size()) : words.join(", ");
        }
        if (least.isEmpty() || number < low) least = value, low = number;
        if (most.isEmpty() || number > high) most = value, high = number;
    }
    const QString range = low == high ? least : QObject::tr("%1 to %2").arg(least, most);
    return missing > 0 ? QObject::tr("%1, %2 without").arg(range).arg(missing) : range;
}

}  // namespace

std::vector<Parameter> folded(const std::vector<Parameter>& parameters) {
    const QString none = QObject::tr("none");
    std::map<std::pair<QString, QString>, std::vector<const Parameter*>> alike;
    for (const auto& parameter : parameters)
        if (const auto element = element_of(parameter.pointer))
            alike[{element->kind, element->field}].push_back(&parameter);
    std::vector<Parameter> rows;
    for (const auto& parameter : parameters) {
        const auto element = element_of(parameter.pointer);
        const auto* all = element ? &alike[{element->kind, element->field}] : nullptr;
        if (all == nullptr || all->size() < folds_from) {
            rows.push_back(parameter);
            continue;
        }
        if (all->front() != &parameter) continue;  // told with the first of them
        Parameter row{parameter.pointer, of_many(*element, parameter.pointer, all->size()), {}, {}};
        for (qsizetype run = 0; run < parameter.values.size(); ++run) {
            QStringList values, lines;
            for (const auto* one : *all) {
                values << one->values[run];
                lines << QStringLiteral("%1: %2").arg(
                    one->name.section(QStringLiteral(", "), 0, 0),
                    element->field.isEmpty() && one->values[run] != none ? QObject::tr("there") : one->values[run]);
            }
            row.values << together(values, none, element->field.isEmpty());
            row.details << lines.join('\n');
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace skippipe
