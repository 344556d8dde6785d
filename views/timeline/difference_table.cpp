// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/timeline/difference_table.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <QHeaderView>
#include <QVBoxLayout>

#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"
#include "views/theme/words.h"

namespace skippipe {
namespace {

constexpr int two_lines = 42;
constexpr std::size_t most_rows = 50;
constexpr double least_share = 1e-6;  ///< of the iteration, below which a difference is rounding

QString span_name(const PlanDifference& one, const TimelineData& data) {
    const auto name = [&](int lane) {
        return lane >= 0 && static_cast<std::size_t>(lane) < data.lanes().size()
                   ? QString::fromStdString(data.lanes()[static_cast<std::size_t>(lane)].name)
                   : QObject::tr("a node outside");
    };
    const auto kind = to_string(one.done.kind);
    QString words = capitalised(QString::fromUtf8(kind.data(), static_cast<qsizetype>(kind.size())).replace('-', ' '));
    if (one.done.microbatch >= 0) words += ' ' + QString::number(one.done.microbatch);
    return is_on_line(one.done.kind) ? QObject::tr("%1, %2 to %3").arg(words, name(one.lane), name(one.done.to_node))
                                     : QObject::tr("%1 on %2").arg(words, name(one.lane));
}

/// With its sign; a minus, not a hyphen.
QString signed_duration(double seconds) {
    return (seconds < 0 ? QStringLiteral("−") : QStringLiteral("+")) + duration(std::abs(seconds));
}

/// The node whose work took longest beyond its plan: where waits of others begin.
QString slowest_words(const std::vector<PlanDifference>& all, const TimelineData& data, double least_s) {
    std::map<int, double> longer_s;
    for (const auto& one : all)
        if (is_compute(one.done.kind)) longer_s[one.lane] += one.longer_s;
    const auto most = std::max_element(longer_s.begin(), longer_s.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most == longer_s.end() || most->second < least_s) return {};
    return QObject::tr(". Work took longest beyond its plan on %1: %2")
        .arg(QString::fromStdString(data.lanes()[static_cast<std::size_t>(most->first)].name),
             signed_duration(most->second));
}

}  // namespace

QString difference_words(const PlanDifference& one) {
    const auto than = [](double seconds, const QString& more, const QString& less) {
        return (seconds > 0 ? more : less).arg(duration(std::abs(seconds)));
    };
    if (std::abs(one.longer_s) >= std::abs(one.longer_wait_s) && std::abs(one.longer_s) >= std::abs(one.later_input_s))
        return than(one.longer_s, QObject::tr("took %1 longer"), QObject::tr("took %1 less"));
    if (std::abs(one.longer_wait_s) >= std::abs(one.later_input_s))
        return is_on_line(one.done.kind)
                   ? than(one.longer_wait_s, QObject::tr("queued %1 longer"), QObject::tr("queued %1 less"))
                   : than(one.longer_wait_s, QObject::tr("waited %1 longer"), QObject::tr("waited %1 less"));
    return than(one.later_input_s, QObject::tr("its input came %1 later"), QObject::tr("its input came %1 earlier"));
}

DifferenceTable::DifferenceTable(QWidget* parent)
    : QWidget(parent), disturbances_(words_label({}, "heading")), summary_(new QLabel), table_(new QTableWidget(0, 2)) {
    auto* column = seamless_column(this);
    disturbances_->setContentsMargins(size::gap, size::gap, size::gap, 0);
    disturbances_->setObjectName("disturbances");
    disturbances_->setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Maximum);
    disturbances_->hide();
    column->addWidget(disturbances_);
    summary_->setWordWrap(true);
    summary_->setMargin(size::gap);
    summary_->setObjectName("difference_summary");
    summary_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    make_plain(*table_, tr("Largest differences from the plan"));
    table_->verticalHeader()->setDefaultSectionSize(two_lines);
    table_->setHorizontalHeaderLabels({tr("What, and why"), tr("Adds")});
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setSelectionMode(QAbstractItemView::SingleSelection);
    table_->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    table_->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    table_->horizontalHeader()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
    column->addWidget(summary_);
    column->addWidget(table_, 1);
    const auto choose = [this](int row) {
        if (const auto* item = table_->item(row, 0)) Q_EMIT chosen(item->data(Qt::UserRole).toLongLong());
    };
    connect(table_, &QTableWidget::cellClicked, this, choose);
    connect(table_, &QTableWidget::cellActivated, this, choose);
}

void DifferenceTable::set_disturbances(const QString& words) {
    disturbances_->setText(words);
    disturbances_->setVisible(!words.isEmpty());
}

void DifferenceTable::show_nothing(const QString& why) {
    summary_->setText(why);
    table_->hide();
}

void DifferenceTable::show_iteration(const TimelineData& planned, const TimelineData& done,
                                     const IterationTime& iteration) {
    auto all = plan_differences(planned, done, iteration);
    const double least_s = least_share * std::max(iteration.length_s, 1e-12);
    const auto compared = all.size();
    std::erase_if(all, [&](const PlanDifference& one) { return std::abs(one.own_s()) < least_s; });
    if (all.empty())
        return show_nothing(
            compared == 0 ? tr("Iteration %1 is not read yet, or has nothing of its plan").arg(iteration.iteration + 1)
                          : tr("Iteration %1 went as planned: %2 operations and transfers at their times")
                                .arg(iteration.iteration + 1)
                                .arg(whole_number(static_cast<double>(compared))));
    const double later_s = std::max_element(all.begin(), all.end(), [](const auto& a, const auto& b) {
                               return a.later_s() < b.later_s();
                           })->later_s();
    summary_->setText(tr("Iteration %1: %2 of %3 operations and transfers differ; the latest ends %4 against the plan")
                          .arg(iteration.iteration + 1)
                          .arg(whole_number(static_cast<double>(all.size())))
                          .arg(whole_number(static_cast<double>(compared)))
                          .arg(signed_duration(later_s)) +
                      slowest_words(all, done, least_s));
    table_->show();
    table_->setRowCount(static_cast<int>(std::min(all.size(), most_rows)));
    for (int row = 0; row < table_->rowCount(); ++row) {
        const PlanDifference& one = all[static_cast<std::size_t>(row)];
        auto* what = new QTableWidgetItem(span_name(one, done) + '\n' + difference_words(one));
        auto* adds = new QTableWidgetItem(signed_duration(one.own_s()));
        adds->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
        adds->setForeground(one.own_s() > 0 ? theme().bad : theme().good);
        what->setData(Qt::UserRole, static_cast<qlonglong>(one.done.row));
        const QString tip = tr("%1\nplanned %2 to %3, done %4 to %5 (from the iteration's start)\n"
                               "input %6, waiting %7, taking %8")
                                .arg(what->text(), duration(one.planned_start_s), duration(one.planned_end_s),
                                     duration(one.start_s), duration(one.end_s), signed_duration(one.later_input_s),
                                     signed_duration(one.longer_wait_s), signed_duration(one.longer_s));
        for (auto* item : {what, adds}) item->setToolTip(tip);
        table_->setItem(row, 0, what);
        table_->setItem(row, 1, adds);
    }
}

}  // namespace skippipe
