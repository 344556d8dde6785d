// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/theme/widgets.h"

#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QMenu>
#include <QMouseEvent>
#include <QTableView>
#include <QVBoxLayout>
#include <QWidgetAction>

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

void wrap_rows(QTableView& table) {
    table.setWordWrap(true);
    table.setTextElideMode(Qt::ElideNone);
    table.verticalHeader()->setMinimumSectionSize(size::row);
    table.verticalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    // A column's width decides how many lines its words take.
    QObject::connect(table.horizontalHeader(), &QHeaderView::sectionResized, &table, &QTableView::resizeRowsToContents);
}

QLabel* words_label(const QString& text, const char* role) {
    auto* label = new QLabel(text);
    label->setProperty("role", role);
    label->setWordWrap(true);
    return label;
}

namespace {

/// Ticks what was clicked, or chosen by Enter, and keeps the menu.
class OpenMenu final : public QObject {
public:
    using QObject::QObject;
    bool eventFilter(QObject* watched, QEvent* event) override {
        auto* menu = qobject_cast<QMenu*>(watched);
        QAction* chosen = nullptr;
        if (event->type() == QEvent::MouseButtonRelease)
            chosen = menu->actionAt(static_cast<QMouseEvent*>(event)->position().toPoint());
        if (event->type() == QEvent::KeyPress) {
            const int key = static_cast<QKeyEvent*>(event)->key();
            if (key == Qt::Key_Return || key == Qt::Key_Enter || key == Qt::Key_Space) chosen = menu->activeAction();
        }
        if (chosen == nullptr || !chosen->isCheckable() || !chosen->isEnabled())
            return QObject::eventFilter(watched, event);
        chosen->trigger();
        return true;
    }
};

}  // namespace

void stay_open(QMenu& menu) { menu.installEventFilter(new OpenMenu(&menu)); }

void add_heading(QMenu* menu, const QString& words) {
    if (!menu->isEmpty()) menu->addSeparator();
    auto* label = words_label(words, "small");
    label->setWordWrap(false);
    label->setContentsMargins(size::wide_gap, size::unit, size::wide_gap, size::unit);
    auto* action = new QWidgetAction(menu);
    action->setDefaultWidget(label);
    action->setEnabled(false);
    menu->addAction(action);
}

QVBoxLayout* seamless_column(QWidget* parent) {
    auto* column = new QVBoxLayout(parent);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    return column;
}

QHBoxLayout* head_row() {
    auto* row = new QHBoxLayout;
    row->setContentsMargins(size::wide_gap, size::unit, size::wide_gap, size::unit);
    row->setSpacing(size::gap);
    return row;
}

}  // namespace skippipe
