// SPDX-License-Identifier: GPL-3.0-or-later
// Which columns the list of runs has: at first those that fit, more at a head's menu, parameters among them.
#include <algorithm>
#include <memory>
#include <utility>

#include <QApplication>
#include <QHeaderView>
#include <QMenu>
#include <nlohmann/json.hpp>

#include "core/experiment/io.h"
#include "views/runs/parameters.h"
#include "views/runs/run_list.h"
#include "views/theme/below_delegate.h"
#include "views/theme/words.h"

namespace skippipe {
namespace {

constexpr int parameter_width = 92, least_loss_list = 368, least_state_list = 440;
constexpr int least_name_width = 64;
/// Which of two runs is better, and of what they are, without scrolling sideways.
constexpr int shown_first[] = {RunTable::eye,  RunTable::number,         RunTable::state,
                               RunTable::name, RunTable::iteration_time, RunTable::validation_loss};

QString value_words(const nlohmann::ordered_json& experiment, const std::string& pointer) {
    const nlohmann::ordered_json::json_pointer place(pointer);
    if (!experiment.contains(place)) return {};
    const auto& value = experiment.at(place);
    return QString::fromStdString(value.is_string() ? value.get<std::string>() : value.dump());
}

/// Of the experiment itself, not of one of its nodes or links.
bool has_column(const std::string& pointer) {
    return !pointer.starts_with("/topology/") && pointer != "/name" && pointer != "/description";
}

}  // namespace

void RunList::offer_columns() {
    auto* header = view_->horizontalHeader();
    for (int column = 0; column < RunTable::columns; ++column)
        view_->setColumnHidden(
            column, std::find(std::begin(shown_first), std::end(shown_first), column) == std::end(shown_first));
    connect(header, &QHeaderView::sectionResized, this, [this] {
        widths_chosen_ = widths_chosen_ || QApplication::mouseButtons().testFlag(Qt::LeftButton);
        row_fit_.start();
    });
    header->setContextMenuPolicy(Qt::CustomContextMenu);
    header->setSectionsMovable(true);
    connect(header, &QWidget::customContextMenuRequested, this, [this, header](QPoint place) {
        auto* menu = new QMenu(view_);
        menu->setObjectName("columns");
        menu->setAttribute(Qt::WA_DeleteOnClose);
        for (int column = RunTable::state; column < RunTable::columns; ++column) {
            auto* action = menu->addAction(view_->model()->headerData(column, Qt::Horizontal).toString());
            action->setCheckable(true);
            action->setChecked(!view_->isColumnHidden(column));
            connect(action, &QAction::toggled, view_, [this, column](bool on) {
                columns_chosen_ = true;
                view_->setColumnHidden(column, !on);
                fit_columns();
            });
        }
        offer_parameters(*menu);
        menu->popup(header->mapToGlobal(place));
    });
}

/// What a run is called has what the other columns leave, until somebody draws an edge.
void RunList::fit_columns() {
    auto& header = *view_->horizontalHeader();
    if (widths_chosen_) return;
    // Where there is little room, what a run is called and what came of it stay; until somebody chooses columns.
    if (!columns_chosen_)
        for (const auto& [column, least] :
             {std::pair{RunTable::state, least_state_list}, {RunTable::validation_loss, least_loss_list}})
            view_->setColumnHidden(column, view_->viewport()->width() < least);
    int left = view_->viewport()->width();
    for (int column = 0; column < view_->model()->columnCount(); ++column)
        if (column != RunTable::name && !view_->isColumnHidden(column)) left -= view_->columnWidth(column);
    header.resizeSection(RunTable::name, std::max(left, least_name_width));
}

/// Rows are higher where what tells runs apart would be cut.
void RunList::fit_rows() {
    const QFontMetrics font(small_font());
    const int room = names_->room_across();
    if (std::exchange(words_room_, room) != room) whole_words_.clear();
    int height = BelowDelegate::row;
    for (int row = 0; row < filter_.rowCount() && height == BelowDelegate::row; ++row) {
        const auto words = filter_.index(row, RunTable::name).data(RunTable::told_role).toString();
        if (whole_words_.contains(words)) continue;
        if (font.horizontalAdvance(words) > room)
            height = BelowDelegate::tall_row;
        else
            whole_words_.insert(words);
    }
    if (auto* rows = view_->verticalHeader(); rows->defaultSectionSize() != height) rows->setDefaultSectionSize(height);
}

/// Those that differ between the selected runs, and those that have a column.
void RunList::offer_parameters(QMenu& menu) {
    std::vector<std::shared_ptr<const RunData>> kept;
    std::vector<const RunData*> runs;
    for (const RunId id : selected())
        if (auto data = feed_.data(id)) {
            runs.push_back(data.get());
            kept.push_back(std::move(data));
        }
    QStringList pointers = parameter_columns();
    for (const auto& parameter : differing(runs))
        if (const auto pointer = QString::fromStdString(parameter.pointer);
            has_column(parameter.pointer) && !pointers.contains(pointer))
            pointers << pointer;
    if (pointers.isEmpty()) return;
    auto* more = menu.addMenu(tr("Parameters"));
    more->setObjectName("parameter_columns");
    for (const QString& pointer : pointers) {
        auto* action = more->addAction(place_words(pointer.toStdString()));
        action->setCheckable(true);
        action->setChecked(parameter_columns().contains(pointer));
        connect(action, &QAction::toggled, this, [this, pointer](bool on) {
            QStringList now = parameter_columns();
            if (on)
                now << pointer;
            else
                now.removeAll(pointer);
            set_parameter_columns(now);
            Q_EMIT columns_changed();
        });
    }
}

QStringList RunList::parameter_columns() const {
    QStringList pointers;
    for (const auto& parameter : table_.parameters()) pointers << QString::fromStdString(parameter.pointer);
    return pointers;
}

void RunList::set_parameter_columns(const QStringList& pointers) {
    std::vector<RunTable::Parameter> parameters;
    for (const QString& pointer : pointers) {
        const std::string text = pointer.toStdString();
        if (!text.starts_with('/') || !has_column(text)) continue;
        const auto old = std::find_if(table_.parameters().begin(), table_.parameters().end(),
                                      [&](const auto& one) { return one.pointer == text; });
        parameters.push_back(old != table_.parameters().end() ? *old : RunTable::Parameter{text, {}});
    }
    table_.set_parameters(std::move(parameters));
    for (int column = RunTable::columns; column < table_.columnCount(); ++column)
        view_->setColumnWidth(column, parameter_width);
    fit_columns();
    read_parameters();
}

/// Of runs whose experiments were not read for these columns yet, on the record's thread.
void RunList::read_parameters() {
    if (table_.parameters().empty() || reads_parameters_) return;
    auto wanted = std::make_shared<std::vector<RunId>>();
    for (const auto& run : table_.runs())
        if (std::any_of(table_.parameters().begin(), table_.parameters().end(),
                        [&](const auto& one) { return !one.values.contains(run.id); }))
            wanted->push_back(run.id);
    if (wanted->empty()) return;
    reads_parameters_ = true;
    auto found = std::make_shared<std::vector<RunTable::Parameter>>(table_.parameters());
    feed_.ask(
        [wanted, found](Reader& reader) {
            for (const RunId id : *wanted) {
                Faults faults;
                const auto experiment = parse_json(reader.experiment_json(id), faults);
                for (auto& one : *found) one.values[id] = value_words(experiment, one.pointer);
            }
        },
        [this, found, alive = std::weak_ptr<int>(alive_)](const QString&) {
            if (alive.expired()) return;
            reads_parameters_ = false;
            auto now = table_.parameters();
            for (auto& one : now)
                for (auto& read : *found)
                    if (read.pointer == one.pointer) one.values.merge(read.values);
            table_.set_parameters(std::move(now));
        });
}

}  // namespace skippipe
