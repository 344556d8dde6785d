// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/sweep_look.h"

#include <algorithm>

#include <QObject>

#include "core/analysis/compare.h"
#include "core/base/statistics.h"
#include "views/theme/numbers.h"
#include "views/theme/words.h"

namespace skippipe {
namespace {

/// "2.31 s ± 0.02 s": mean and, over seeds, standard deviation.
template <class Words>
void add_figure(SweepColumn& column, const std::vector<double>& values, const Words& words) {
    const auto middle = mean_or_none(values);
    column.values.push_back(middle);
    if (!middle)
        column.words << QString{};
    else
        column.words << (values.size() < 2 ? words(*middle, *middle)
                                           : mean_and_deviation(*middle, standard_deviation(values), words));
}

SweepColumn field_column(const std::string& field, const std::vector<SweepRow>& rows, std::size_t place) {
    std::string pointer = '/' + field;
    std::replace(pointer.begin(), pointer.end(), '.', '/');
    SweepColumn column{place_words(pointer), false, {}, {}, {}};
    const bool numbers =
        std::all_of(rows.begin(), rows.end(), [&](const SweepRow& row) { return row.settings[place].is_number(); });
    for (const auto& row : rows) {
        const auto& value = row.settings[place];
        const QString words = value.is_number_float() ? without_zeros(three_digits(value.get<double>()))
                                                      : QString::fromStdString(setting_text(value));
        column.words << (row.is_full_pipeline && field == skip_ratio_field ? QString::fromUtf8(without_it) : words);
        if (!numbers && !column.choices.contains(words)) column.choices << words;
        column.values.emplace_back(numbers ? value.get<double>() : static_cast<double>(column.choices.indexOf(words)));
    }
    return column;
}

const SweepColumn* figure(const std::vector<SweepColumn>& columns, std::size_t place) {
    for (const auto& column : columns)
        if (column.is_figure && place-- == 0) return &column;
    return nullptr;
}

}  // namespace

const SweepColumn* SweepLook::iteration() const { return figure(columns, 0); }
const SweepColumn* SweepLook::loss() const { return figure(columns, 1); }
const SweepColumn* SweepLook::money() const { return figure(columns, 2); }

SweepLook look_of(const std::vector<std::string>& fields, const std::vector<SweepRow>& rows) {
    SweepLook look;
    for (std::size_t i = 0; i < fields.size(); ++i) look.columns.push_back(field_column(fields[i], rows, i));
    SweepColumn iteration{QObject::tr("Iteration"), true, {}, {}, {}}, loss{QObject::tr("Loss"), true, {}, {}, {}},
        money{QObject::tr("Money"), true, {}, {}, {}};
    for (const auto& row : rows) {
        add_figure(iteration, row.iteration_s,
                   [](double s, double mean) { return s == mean ? duration(s) : duration_beside(s, mean); });
        add_figure(loss, row.losses, [](double v, double) { return three_digits(v); });
        add_figure(money, row.money, [](double v, double) { return three_digits(v); });
        look.done << QObject::tr("%1 of %2").arg(row.done).arg(row.points);
        look.runs.push_back(row.runs);
        look.taken.push_back(row.taken);
    }
    const bool has_money =
        std::any_of(money.values.begin(), money.values.end(), [](const auto& value) { return value.has_value(); });
    look.columns.push_back(std::move(iteration));
    look.columns.push_back(std::move(loss));
    if (has_money) look.columns.push_back(std::move(money));
    look.is_front = sweep_front(rows);
    const auto told = std::count_if(rows.begin(), rows.end(), [](const SweepRow& row) { return row.done > 0; });
    if (told < 2) look.is_front.assign(rows.size(), false);  // nothing to trade against
    return look;
}

}  // namespace skippipe
