// SPDX-License-Identifier: GPL-3.0-or-later
// Parameters of many nodes or links as one.
#include <algorithm>
#include <map>
#include <optional>
#include <type_traits>

#include <QLocale>
#include <QObject>
#include <QSet>

#include "core/experiment/described.h"
#include "views/inspector/field_text.h"
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
    QString whose = element.kind == QStringLiteral("nodes")   ? QObject::tr("%1 nodes").arg(count)
                    : element.kind == QStringLiteral("links") ? QObject::tr("%1 links").arg(count)
                                                              : QObject::tr("%1 regions").arg(count);
    if (element.field.isEmpty()) return whose;
    QString field = place_words(pointer).section(QStringLiteral(", "), -1);
    if (!field.isEmpty()) field[0] = field[0].toUpper();
    return QObject::tr("%1 of %2").arg(field, whose);
}

/// The unit of each field by its key, where the field says it itself: seconds and bytes.
class Units {
public:
    Units() {
        Experiment defaults;
        describe(*this, defaults);
    }
    template <class T>
    void operator()(const char* key, T&, const Info& info = {}) {
        visit<T>();
        if (has_unit_in_field(info.unit)) units_[key] = info.unit;
    }
    const char* of(const std::string& pointer) const {
        const auto found = units_.find(pointer.substr(pointer.rfind('/') + 1));
        return found == units_.end() ? "" : found->second;
    }

private:
    template <class T>
    void visit() {
        if constexpr (Described<T>) {
            T part{};
            describe(*this, part);
        } else if constexpr (requires { typename T::value_type; }) {
            if constexpr (!std::is_same_v<typename T::value_type, char>) visit<typename T::value_type>();
        }
    }
    std::map<std::string, const char*> units_;
};

std::optional<double> as_number(const QString& value) {
    bool is_number = false;
    const double number = QLocale::c().toDouble(value, &is_number);
    return is_number ? std::optional(number) : std::nullopt;
}

/// "7 ms".
QString with_unit(const QString& value, const char* unit) {
    const auto number = *unit != 0 ? as_number(value) : std::nullopt;
    return number ? number_text(*number, unit) : value;
}

/// "4 ms to 8 ms" of numbers, else the words that there are; whole elements are there or not.
QString together(const QStringList& values, const QString& none, bool whole, const char* unit) {
    QSet<QString> different(values.begin(), values.end());
    if (different.size() == 1 && !(whole && values.front() != none)) return with_unit(values.front(), unit);
    const auto missing = values.count(none);
    if (whole) return QObject::tr("%1 of them").arg(values.size() - missing);
    QString least, most;
    double low = 0, high = 0;
    for (const QString& value : values) {
        if (value == none) continue;
        const auto number = as_number(value);
        if (!number) {
            different.remove(none);
            QStringList words(different.begin(), different.end());
            words.sort();
            return words.size() > most_named ? QObject::tr("%1 different").arg(words.size()) : words.join(", ");
        }
        if (least.isEmpty() || *number < low) least = with_unit(value, unit), low = *number;
        if (most.isEmpty() || *number > high) most = with_unit(value, unit), high = *number;
    }
    const QString range = low == high ? least : QObject::tr("%1 to %2").arg(least, most);
    return missing > 0 ? QObject::tr("%1, %2 without").arg(range).arg(missing) : range;
}

}  // namespace

std::vector<Parameter> folded(const std::vector<Parameter>& parameters) {
    static const Units units;
    const QString none = QObject::tr("none");
    std::map<std::pair<QString, QString>, std::vector<const Parameter*>> alike;
    for (const auto& parameter : parameters)
        if (const auto element = element_of(parameter.pointer))
            alike[{element->kind, element->field}].push_back(&parameter);
    std::vector<Parameter> rows;
    for (const auto& parameter : parameters) {
        const auto element = element_of(parameter.pointer);
        const auto* all = element ? &alike[{element->kind, element->field}] : nullptr;
        const char* unit = units.of(parameter.pointer);
        if (all == nullptr || all->size() < folds_from) {
            rows.push_back(parameter);
            for (auto& value : rows.back().values) value = with_unit(value, unit);
            continue;
        }
        if (all->front() != &parameter) continue;  // told with the first of them
        Parameter row{parameter.pointer, of_many(*element, parameter.pointer, all->size()), {}, {}};
        for (qsizetype run = 0; run < parameter.values.size(); ++run) {
            QStringList values, lines;
            for (const auto* one : *all) {
                values << one->values[run];
                lines << QStringLiteral("%1: %2").arg(one->name.section(QStringLiteral(", "), 0, 0),
                                                      element->field.isEmpty() && one->values[run] != none
                                                          ? QObject::tr("there")
                                                          : with_unit(one->values[run], unit));
            }
            row.values << together(values, none, element->field.isEmpty(), unit);
            row.details << lines.join('\n');
        }
        rows.push_back(std::move(row));
    }
    return rows;
}

}  // namespace skippipe
