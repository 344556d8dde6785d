// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/compared_runs.h"

#include <algorithm>
#include <set>

#include <QObject>
#include <QStringList>

namespace skippipe {
namespace {

constexpr qsizetype most_differences = 3;

/// A parameter of the experiments themselves: its name, and each run's value, of skip ratios what was trained with.
struct ComparedValue {
    QString name;
    QStringList values;
    bool is_failures = false;
};
std::vector<ComparedValue> values_of(const ComparedRuns& all) {
    std::vector<ComparedValue> found;
    for (const auto& parameter : all.parameters) {
        if (parameter.pointer == "/name" || parameter.pointer == "/description") continue;
        ComparedValue row{in_sentence(parameter.name), parameter.values, parameter.pointer == "/failures"};
        if (parameter.pointer == "/pipeline/skip_ratio")
            for (qsizetype i = 0; i < row.values.size(); ++i)
                row.values[i] = QString::number(skip_ratio_of(*all.runs[static_cast<std::size_t>(i)]));
        found.push_back(std::move(row));
    }
    return found;
}

QString value_of(const ComparedValue& row, std::size_t run) { return row.values[static_cast<qsizetype>(run)]; }

QString listed(const QStringList& all) {
    const auto more = all.size() - most_differences;
    return all.mid(0, most_differences).join(", ") + (more > 0 ? QObject::tr(" and %1 more").arg(more) : QString{});
}

QString one_instead(const ComparedValue& row, const QString& own, const QString& its) {
    return row.is_failures && own == QObject::tr("none") ? QObject::tr("no failures instead of \"%1\"").arg(its)
                                                         : QObject::tr("%1 %2 instead of %3").arg(row.name, own, its);
}

}  // namespace

QString instead_words(const ComparedRuns& all, std::size_t one, std::size_t other) {
    QStringList named;
    for (const auto& row : values_of(all))
        if (value_of(row, one) != value_of(row, other))
            named << one_instead(row, value_of(row, one), value_of(row, other));
    return listed(named);
}

QString own_words(const ComparedRuns& all, std::size_t one, std::size_t other) {
    QStringList named;
    for (const auto& row : values_of(all))
        if (const QString own = value_of(row, one); own != value_of(row, other))
            named << (row.is_failures && own == QObject::tr("none") ? QObject::tr("no failures")
                                                                    : QObject::tr("%1 %2").arg(row.name, own));
    return listed(named);
}

QString shared_words(const ComparedRuns& all, const std::vector<std::size_t>& some) {
    QStringList named;
    for (const auto& row : values_of(all)) {
        std::set<QString> theirs, others;
        for (std::size_t i = 0; i < all.runs.size(); ++i)
            (std::find(some.begin(), some.end(), i) != some.end() ? theirs : others).insert(value_of(row, i));
        if (theirs.size() != 1 || others.empty() || others.contains(*theirs.begin())) continue;
        named << one_instead(row, *theirs.begin(), QStringList(others.begin(), others.end()).join(QObject::tr(" or ")));
    }
    return listed(named);
}

}  // namespace skippipe
