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
        rows_.push_back({binding.action->property("group").toString(),
                         QString(binding.action->text()).remove('&'),
                         {},
                         binding.action,
                         false});
    }
    fill();
    auto* close = new QAction(this);
    close->setShortcut(Qt::Key_Escape);
    connect(close, &QAction::triggered, this, &QDialog::close);
    addAction(close);
}

void KeySheet::add_fixed(const QString& where, const QString& what, const QString& keys) {
    const auto first_action = std::find_if(rows_.begin(), rows_.end(), [](const Row& row) { return !row.is_fixed; });
    rows_.insert(first_action, {where, what, keys, nullptr, true});
    fill();
}

/// One section for each place, in the order in which they come; what views handle themselves is first in its own.
void KeySheet::fill() {
    std::vector<QString> places;
    for (const auto& row : rows_)
        if (std::find(places.begin(), places.end(), row.where) == places.end()) places.push_back(row.where);
    const auto place_of = [&](const Row& row) { return std::find(places.begin(), places.end(), row.where); };
    std::vector<Row> shown = rows_;
    std::stable_sort(shown.begin(), shown.end(), [&](const Row& a, const Row& b) { return place_of(a) < place_of(b); });
    table_->setRowCount(static_cast<int>(shown.size()));
    shown_ = std::move(shown);
    for (std::size_t i = 0; i < shown_.size(); ++i) put_row(static_cast<int>(i), shown_[i]);
    show_found(search_->text());
}

void KeySheet::put_row(int place, const Row& row) {
    const bool is_gone = !row.is_fixed && row.action == nullptr;
    const QString keys = row.is_fixed ? row.keys
                         : is_gone    ? QString{}
                                      : row.action->shortcut().toString(QKeySequence::NativeText);
    const QString cells[] = {{}, row.what, keys};
    for (int i = 0; i < 3; ++i) {
        if (table_->item(place, i) == nullptr) table_->setItem(place, i, new QTableWidgetItem);
        auto* item = table_->item(place, i);
        item->setText(cells[i]);
        const bool takes_keys = i == keys_column && !row.is_fixed;
        item->setFlags(Qt::ItemIsEnabled | Qt::ItemIsSelectable | (takes_keys ? Qt::ItemIsEditable : Qt::NoItemFlags));
        QFont font = table_->font();
        font.setBold(i == 0 || (takes_keys && !is_gone && bindings_.is_changed(row.action)));
        item->setFont(font);
    }
}

void KeySheet::go_to(const QString& where) {
    for (int row = 0; row < table_->rowCount(); ++row)
        if (shown_[static_cast<std::size_t>(row)].where == where)
            return table_->scrollToItem(table_->item(row, 0), QAbstractItemView::PositionAtTop);
}

/// Rows that have each of the words typed, in any column; of each place the first that is shown is headed by it.
void KeySheet::show_found(const QString& typed) {
    const QStringList words = typed.split(' ', Qt::SkipEmptyParts);
    QString last;
    for (int row = 0; row < table_->rowCount(); ++row) {
        const QString& where = shown_[static_cast<std::size_t>(row)].where;
        const QString text = where + ' ' + table_->item(row, 1)->text() + ' ' + table_->item(row, keys_column)->text();
        const bool has_all = std::all_of(words.begin(), words.end(),
                                         [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
        table_->setRowHidden(row, !has_all);
        table_->item(row, 0)->setText(has_all && where != last ? where : QString{});
        if (has_all) last = where;
    }
}

void KeySheet::take(int row, const QKeySequence& keys) {
    if (row < 0) return;
    const Row& taken = shown_[static_cast<std::size_t>(row)];
    if (taken.is_fixed) return told_->setText(tr("These keys belong to the view and stay as they are"));
    QAction* action = taken.action;
    if (action == nullptr) return;
    const QString why = bindings_.set(action, keys);
    const QString name = QString(action->text()).remove('&');
    told_->setText(!why.isEmpty()   ? why
                   : keys.isEmpty() ? tr("%1 has no keys now").arg(name)
                                    : tr("%1: %2").arg(name, keys.toString(QKeySequence::NativeText)));
    fill();
}

}  // namespace skippipe
