// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/command_palette.h"

#include <algorithm>

#include <QKeyEvent>
#include <QPainter>
#include <QTimer>
#include <QVBoxLayout>

#include "views/theme/aside_delegate.h"
#include "views/theme/theme.h"

namespace skippipe {
namespace {
constexpr int palette_width = 520, palette_rows = 10;
constexpr std::size_t most_found = 200;
}  // namespace

std::vector<std::size_t> find_entries(const std::vector<PaletteEntry>& entries, const QString& text) {
    const QStringList wanted = text.split(' ', Qt::SkipEmptyParts);
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < entries.size(); ++i) {
        const QString all = entries[i].where + ' ' + entries[i].words, joined = QString(all).remove(' ');
        // "layout" finds "Lay out", too.
        if (std::all_of(wanted.begin(), wanted.end(), [&](const QString& word) {
                return all.contains(word, Qt::CaseInsensitive) || joined.contains(word, Qt::CaseInsensitive);
            }))
            found.push_back(i);
    }
    const auto rank = [&, wanted = text.trimmed(), joined = QString(text).remove(' ')](std::size_t i) {
        const QString words = entries[i].words;
        const auto at =
            std::max(words.indexOf(wanted, 0, Qt::CaseInsensitive),
                     QString(words).remove(' ').startsWith(joined, Qt::CaseInsensitive) ? qsizetype{0} : -1);
        return wanted.isEmpty() ? entries[i].likely : at == 0 ? 0 : at > 0 ? 1 : 2;
    };
    std::stable_sort(found.begin(), found.end(), [&](std::size_t a, std::size_t b) { return rank(a) < rank(b); });
    return found;
}

CommandPalette::CommandPalette(std::vector<PaletteEntry> entries, const QString& hint, QWidget* parent)
    : QDialog(parent, Qt::Popup), entries_(std::move(entries)), line_(new QLineEdit), list_(new QListWidget) {
    setObjectName("command_palette");
    setAttribute(Qt::WA_DeleteOnClose);
    setAccessibleName(tr("Find an action or a node"));
    line_->setPlaceholderText(hint);
    line_->setAccessibleName(tr("What to find"));
    line_->installEventFilter(this);
    list_->setAccessibleName(tr("Found"));
    list_->setItemDelegate(new AsideDelegate(size::row, this));
    list_->setFocusPolicy(Qt::NoFocus);
    list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(size::gap, size::gap, size::gap, size::gap);
    column->setSpacing(size::unit);
    column->addWidget(line_);
    column->addWidget(list_);
    connect(line_, &QLineEdit::textChanged, this, &CommandPalette::show_found);
    connect(list_, &QListWidget::itemClicked, this, &CommandPalette::run);
    show_found();
    line_->setFocus();
}

void CommandPalette::show_found() {
    list_->clear();
    for (const std::size_t i : find_entries(entries_, line_->text())) {
        if (static_cast<std::size_t>(list_->count()) == most_found) break;
        const auto& entry = entries_[i];
        auto* item = new QListWidgetItem(entry.words, list_);
        item->setData(AsideDelegate::place, entry.where);
        item->setData(AsideDelegate::aside, entry.keys);
        item->setData(Qt::AccessibleDescriptionRole, QStringList{entry.where, entry.keys}.join(' '));
        item->setData(Qt::UserRole, static_cast<qulonglong>(i));
    }
    if (list_->count() == 0) {
        auto* none = new QListWidgetItem(tr("Nothing here is called that"), list_);
        none->setFlags(Qt::NoItemFlags);
    }
    list_->setCurrentRow(0);
    // As high as what was found.
    const int rows = std::min(list_->count(), palette_rows);
    list_->setFixedHeight(rows * std::max(0, list_->sizeHintForRow(0)) + 2 * list_->frameWidth());
    adjustSize();
    resize(palette_width, sizeHint().height());
}

/// A frame parts it from what lies behind.
void CommandPalette::paintEvent(QPaintEvent* event) {
    QDialog::paintEvent(event);
    QPainter painter(this);
    painter.setPen(QPen(mix(theme().line, theme().text_2, 0.6), 1));
    painter.drawRect(rect().adjusted(0, 0, -1, -1));
}

void CommandPalette::run() {
    const auto* item = list_->currentItem();
    if (item == nullptr || !item->flags().testFlag(Qt::ItemIsEnabled)) return;
    const auto chosen = entries_[static_cast<std::size_t>(item->data(Qt::UserRole).toULongLong())].run;
    // Once this is gone: what is done may open a window of its own.
    QTimer::singleShot(0, parent(), chosen);
    close();
}

bool CommandPalette::eventFilter(QObject* object, QEvent* event) {
    if (event->type() != QEvent::KeyPress) return QDialog::eventFilter(object, event);
    const int key = static_cast<QKeyEvent*>(event)->key();
    const int step = key == Qt::Key_Down ? 1 : key == Qt::Key_Up ? -1 : 0;
    if (step != 0 && list_->count() > 0) {
        list_->setCurrentRow((list_->currentRow() + step + list_->count()) % list_->count());
        return true;
    }
    if (key == Qt::Key_Return || key == Qt::Key_Enter) {
        run();
        return true;
    }
    return QDialog::eventFilter(object, event);
}

}  // namespace skippipe
