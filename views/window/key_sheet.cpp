// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/key_sheet.h"

#include <algorithm>
#include <functional>

#include <QAction>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeySequenceEdit>
#include <QLineEdit>
#include <QLabel>
#include <QPushButton>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {

constexpr int keys_column = 2;

/// Takes the keys that are pressed, and hands them on with the row.
class KeysDelegate : public QStyledItemDelegate {
public:
    KeysDelegate(QObject* parent, std::function<void(int, const QKeySequence&)> take)
        : QStyledItemDelegate(parent), take_(std::move(take)) {}

    QWidget* createEditor(QWidget* parent, const QStyleOptionViewItem&, const QModelIndex&) const override {
        auto* edit = new QKeySequenceEdit(parent);
        connect(edit, &QKeySequenceEdit::editingFinished, this, [this, edit] {
            Q_EMIT const_cast<KeysDelegate*>(this)->commitData(edit);
            Q_EMIT const_cast<KeysDelegate*>(this)->closeEditor(edit);
        });
        return edit;
    }
    void setEditorData(QWidget*, const QModelIndex&) const override {}
    void setModelData(QWidget* editor, QAbstractItemModel*, const QModelIndex& index) const override {
        const auto keys = static_cast<QKeySequenceEdit*>(editor)->keySequence();
        if (!keys.isEmpty()) take_(index.row(), keys);
    }

private:
    std::function<void(int, const QKeySequence&)> take_;
};

}  // namespace

KeySheet::KeySheet(KeyBindings& bindings, QWidget* parent)
    : QDialog(parent),
      bindings_(bindings),
      table_(new QTableWidget(0, 3)),
      search_(new QLineEdit),
      told_(words_label(tr("Double-click keys to choose others, Del takes an action's keys away"), "secondary")) {
    setWindowTitle(tr("Keys"));
    resize(720, 640);
    table_->setHorizontalHeaderLabels({tr("Where"), tr("What"), tr("Keys")});
    make_plain(*table_, tr("Keys"));
    table_->setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed);
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setItemDelegateForColumn(
        keys_column, new KeysDelegate(this, [this](int row, const QKeySequence& keys) { take(row, keys); }));
    table_->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    table_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    table_->horizontalHeader()->setSectionResizeMode(1, QHeaderView::Stretch);
    auto* reset = new QPushButton(tr("Reset all"));
    reset->setObjectName("reset_keys");
    reset->setToolTip(tr("Every action gets the keys that the program gives it"));
    reset->setAutoDefault(false);
    connect(reset, &QPushButton::clicked, this, [this] {
        bindings_.reset();
        fill();
        told_->setText(tr("All keys are the usual ones"));
    });
    auto* row = head_row();
    row->addWidget(told_, 1);
    row->addWidget(reset);
    search_->setObjectName("find_keys");
    search_->setPlaceholderText(tr("Find an action or keys"));
    search_->setAccessibleName(search_->placeholderText());
    search_->setClearButtonEnabled(true);
    connect(search_, &QLineEdit::textChanged, this, &KeySheet::show_found);
    auto* search_row = head_row();
    search_row->addWidget(search_);
    auto* column = seamless_column(this);
    column->addLayout(search_row);
    column->addLayout(row);
    column->addWidget(table_);
    search_->setFocus();
    auto* none = new QAction(tr("No keys"), table_);
    none->setShortcut(Qt::Key_Delete);
    none->setShortcutContext(Qt::WidgetShortcut);
    connect(none, &QAction::triggered, this, [this] { take(table_->currentRow(), {}); });
    table_->addAction(none);
    for (const auto& binding : bindings_.all()) {
        if (binding.action == nullptr) continue;
        actions_.push_back(binding.action);
        put_row(table_->rowCount(), binding.action->property("group").toString(),
                QString(binding.action->text()).remove('&'), {});
        table_->item(table_->rowCount() - 1, keys_column)
            ->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | Qt::ItemIsEditable);
    }
    fill();
    auto* close = new QAction(this);
    close->setShortcut(Qt::Key_Escape);
    connect(close, &QAction::triggered, this, &QDialog::close);
    addAction(close);
}

void KeySheet::add_fixed(const QString& where, const QString& what, const QString& keys) {
    put_row(fixed_++, where, what, keys);
}

void KeySheet::put_row(int row, const QString& where, const QString& what, const QString& keys) {
    table_->insertRow(row);
    const QString cells[] = {where, what, keys};
    for (int i = 0; i < 3; ++i) {
        auto* item = new QTableWidgetItem(cells[i]);
        item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable);
        table_->setItem(row, i, item);
    }
    if (!search_->text().isEmpty()) show_found(search_->text());
}

void KeySheet::fill() {
    for (std::size_t i = 0; i < actions_.size(); ++i) {
        if (actions_[i] == nullptr) continue;
        auto* item = table_->item(fixed_ + static_cast<int>(i), keys_column);
        item->setText(actions_[i]->shortcut().toString(QKeySequence::NativeText));
        QFont font = table_->font();
        font.setBold(bindings_.is_changed(actions_[i]));
        item->setFont(font);
    }
    show_found(search_->text());
}

/// Rows that have each of the words typed, in any column.
void KeySheet::show_found(const QString& typed) {
    const QStringList words = typed.split(' ', Qt::SkipEmptyParts);
    for (int row = 0; row < table_->rowCount(); ++row) {
        QString text;
        for (int i = 0; i < table_->columnCount(); ++i) text += table_->item(row, i)->text() + ' ';
        const bool has_all = std::all_of(words.begin(), words.end(),
                                         [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
        table_->setRowHidden(row, !has_all);
    }
}

void KeySheet::take(int row, const QKeySequence& keys) {
    if (row < fixed_) return told_->setText(tr("These keys belong to the view and stay as they are"));
    QAction* action = actions_[static_cast<std::size_t>(row - fixed_)];
    if (action == nullptr) return;
    const QString why = bindings_.set(action, keys);
    const QString name = QString(action->text()).remove('&');
    told_->setText(!why.isEmpty()   ? why
                   : keys.isEmpty() ? tr("%1 has no keys now").arg(name)
                                    : tr("%1: %2").arg(name, keys.toString(QKeySequence::NativeText)));
    fill();
}

}  // namespace skippipe
