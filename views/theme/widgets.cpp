// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/theme/widgets.h"

#include <QHeaderView>
#include <QLabel>
#include <QTableView>

#include "views/theme/theme.h"

namespace skippipe {

void make_plain(QTableView& table, const QString& name) {
    table.setAccessibleName(name);
    table.setEditTriggers(QAbstractItemView::NoEditTriggers);
    table.setShowGrid(false);
    table.verticalHeader()->hide();
    table.verticalHeader()->setDefaultSectionSize(size::row);
}

void make_figures(QTableView& table, const QString& name) {
    make_plain(table, name);
    table.horizontalHeader()->hide();
    table.setSelectionMode(QAbstractItemView::NoSelection);
    table.setFocusPolicy(Qt::NoFocus);
    table.setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
}

QLabel* words_label(const QString& text, const char* role) {
    auto* label = new QLabel(text);
    label->setProperty("role", role);
    label->setWordWrap(true);
    return label;
}

}  // namespace skippipe
