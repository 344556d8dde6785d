// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/inspector/form.h"

#include <algorithm>
#include <utility>

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QShortcut>
#include <QSignalBlocker>
#include <QStyle>
#include <QToolButton>

#include "views/theme/elided_edit.h"
#include "views/theme/file_dialogs.h"
#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr int most_label_width = 160, least_label_width = 120, wanted_field_width = 134;

/// "Samples per microbatch" needs no "samples" after it.
bool says_unit(const QString& label, const QString& unit) {
    return unit.size() > 2 ? label.contains(unit, Qt::CaseInsensitive) : label.endsWith(unit, Qt::CaseInsensitive);
}

void mark(QWidget* editor, bool faulty) {
    editor->setProperty("faulty", faulty);
    editor->style()->unpolish(editor);
    editor->style()->polish(editor);
}

/// No text that a value has.
const QString mixed_value = QStringLiteral("\x1fmixed");

QString tip_of(const Info& info) {
    QString tip = QString::fromUtf8(info.doc);
    if (const QString limits = limits_text(info); !limits.isEmpty()) tip += '\n' + limits;
    if (has_unit_in_field(info.unit))
        tip += '\n' + QObject::tr("May be typed as %1, /2 or *1.5; a number alone is in the unit shown")
                          .arg(qstrcmp(info.unit, "s") == 0     ? QObject::tr("20 ms")
                               : qstrcmp(info.unit, "B/s") == 0 ? QObject::tr("1 Gbit/s, 125 MB/s")
                                                                : QObject::tr("16 GB"));
    else if (*info.unit != 0)
        tip += '\n' + QObject::tr("May be typed as 16 G, /2 or *1.5");
    return tip;
}

}  // namespace

FormRows::FormRows(QWidget* parent) : QWidget(parent), rows_(new QFormLayout(this)) {
    rows_->setContentsMargins(0, 0, 0, 0);
    rows_->setHorizontalSpacing(size::gap);
    rows_->setVerticalSpacing(size::unit);
    rows_->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
    rows_->setRowWrapPolicy(QFormLayout::DontWrapRows);
}

/// In a narrow panel fields keep their room, and labels take a second line.
int FormRows::label_width() const {
    return std::clamp(width() - size::gap - wanted_field_width, least_label_width, most_label_width);
}

QSize FormRows::minimumSizeHint() const {
    const QSize least = QWidget::minimumSizeHint();
    return {least.width() - (label_width() - least_label_width), least.height()};
}

void FormRows::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    for (int row = 0; row < rows_->rowCount(); ++row)
        if (auto* item = rows_->itemAt(row, QFormLayout::LabelRole)) item->widget()->setFixedWidth(label_width());
}

QWidget* FormRows::label(const char* key, const Info& info, QWidget* editor) {
    QString text = label_of(key);
    if (const auto unit = QString::fromUtf8(info.unit);
        !unit.isEmpty() && !has_unit_in_field(info.unit) && !says_unit(text, unit))
        text += QStringLiteral(" <span style='color:%1'>%2</span>")
                    .arg(theme().text_2.name(), QString::fromUtf8(info.unit));
    auto* label = new QLabel(text);
    label->setToolTip(tip_of(info));
    label->setMinimumHeight(size::row);
    label->setFixedWidth(label_width());
    label->setWordWrap(true);
    label->setBuddy(editor);
    editor->setAccessibleName(label_of(key));
    editor->setAccessibleDescription(QString::fromUtf8(info.doc));
    editor->setProperty(help_property, tip_of(info));
    editor->setObjectName(QString::fromUtf8(key));
    return label;
}

void FormRows::add_text(const char* key, const Info& info, const QString& value, const QString& placeholder,
                        Commit commit, const QStringList& choices) {
    QLineEdit* line = nullptr;
    QWidget* editor = nullptr;
    if (choices.isEmpty()) {
        auto* elided = new ElidedEdit;
        if (*info.unit != 0)
            elided->in_short = [unit = info.unit](const QString& text) { return short_text(text, unit); };
        editor = line = elided;
    } else {
        auto* box = new QComboBox;
        box->setEditable(true);
        box->setInsertPolicy(QComboBox::NoInsert);
        box->addItems(choices);
        box->setMinimumContentsLength(8);
        box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
        line = box->lineEdit();
        editor = box;
        connect(box, &QComboBox::activated, this, [line] { Q_EMIT line->editingFinished(); });
    }
    line->setAccessibleName(label_of(key));
    // The index first: while it is another's, the box puts that one's text back at times.
    if (auto* box = qobject_cast<QComboBox*>(editor)) box->setCurrentIndex(box->findText(value));
    line->setText(value);
    line->setCursorPosition(0);
    line->setPlaceholderText(placeholder);
    const QString tip = tip_of(info);
    editor->setToolTip(tip);
    connect(line, &QLineEdit::editingFinished, this,
            [this, name = std::string(key), info, line, editor, commit = std::move(commit)] {
                if (!line->isModified() && qobject_cast<QComboBox*>(editor) == nullptr) return;
                line->setModified(false);
                const QString shown = values_.at(name) == mixed_value ? QString{} : values_.at(name);
                QString wrong = commit(in_unit_shown(line->text(), shown, info.unit));
                if (const QString limits = limits_text(info);
                    !wrong.isEmpty() && !limits.isEmpty() && !wrong.contains(limits))
                    wrong += tr("; allowed: %1").arg(limits);
                show_fault(name, wrong);
                // "/2" of 1 is 1 again: the document has not changed, but the text is none of its values.
                if (wrong.isEmpty() && editor == line && values_.at(name) != mixed_value)
                    line->setText(values_.at(name));
            });
    // What was typed is given up for what is there.
    auto* back = new QShortcut(QKeySequence(Qt::Key_Escape), line, nullptr, nullptr, Qt::WidgetShortcut);
    connect(back, &QShortcut::activated, this, [this, name = std::string(key), line] {
        line->setText(values_.at(name) == mixed_value ? QString{} : values_.at(name));
        line->setModified(false);
        show_fault(name, {});
    });
    rows_->addRow(label(key, info, editor), info.file ? with_chooser(key, line) : editor);
    add_fault_line(key);
    editors_[key] = editor;
    values_[key] = value;
    placeholders_[key] = placeholder;
}

void FormRows::add_fault_line(const char* key) {
    auto* fault = new QLabel;
    fault->setObjectName(QString::fromUtf8(key) + "_fault");
    fault->setProperty("role", "small");
    fault->setWordWrap(true);
    fault->setStyleSheet(QStringLiteral("color:%1").arg(theme().bad.name()));
    fault->hide();
    faults_[key] = fault;
    rows_->addRow(fault);
}

/// The line with a button beside it that asks for a file, or for a folder.
QWidget* FormRows::with_chooser(const char* key, QLineEdit* line) {
    auto* both = new QWidget;
    auto* row = new QHBoxLayout(both);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(2);
    auto* button = new QToolButton;
    button->setText(tr("..."));
    button->setObjectName(QString::fromUtf8(key) + "_choose");
    button->setAccessibleName(tr("Choose %1").arg(label_of(key)));
    button->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(button);
    const auto take = [line](const QString& chosen) {
        if (chosen.isEmpty()) return;
        line->setText(chosen);
        line->setModified(true);
        Q_EMIT line->editingFinished();
    };
    connect(menu->addAction(tr("Choose a file...")), &QAction::triggered, this,
            [this, line, take] { take(ask_for_file(this, tr("Choose a file"), line->text())); });
    connect(menu->addAction(tr("Choose a folder...")), &QAction::triggered, this,
            [this, line, take] { take(ask_for_folder(this, tr("Choose a folder"), line->text())); });
    button->setMenu(menu);
    row->addWidget(line);
    row->addWidget(button);
    return both;
}

void FormRows::show_fault(const std::string& key, const QString& what) {
    if (what.isEmpty())
        refused_.erase(key);
    else
        refused_[key] = what;
    say_fault(key);
    Q_EMIT refused(QString::fromStdString(key), what);
}

/// What was typed goes before what is there.
void FormRows::say_fault(const std::string& key) {
    const QString what = is_refused(key) ? refused_.at(key) : wrong_.contains(key) ? wrong_.at(key) : QString{};
    mark(editors_.at(key), !what.isEmpty());
    const auto fault = faults_.find(key);
    if (fault == faults_.end()) return;
    fault->second->setText(what);
    fault->second->setVisible(!what.isEmpty());
}

bool FormRows::is_refused(const std::string& key) const { return refused_.contains(key); }

void FormRows::show_wrong(const std::map<std::string, QString>& wrong) {
    if (wrong == wrong_) return;
    const auto before = std::exchange(wrong_, wrong);
    for (const auto* words : {&before, &std::as_const(wrong_)})
        for (const auto& [key, what] : *words)
            if (editors_.contains(key)) say_fault(key);
}

QString FormRows::shown_value(const std::string& key) const {
    const auto found = values_.find(key);
    return found == values_.end() || found->second == mixed_value ? QString{} : found->second;
}

void FormRows::add_choice(const char* key, const Info& info, const QStringList& names, const QString& value,
                          Commit commit) {
    auto* box = new QComboBox;
    box->addItems(names);
    box->setMinimumContentsLength(8);
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->setCurrentText(value);
    box->setToolTip(tip_of(info));
    connect(box, &QComboBox::textActivated, this, [commit = std::move(commit)](const QString& text) { commit(text); });
    rows_->addRow(label(key, info, box), box);
    add_fault_line(key);
    editors_[key] = box;
}

void FormRows::add_switch(const char* key, const Info& info, bool value, std::function<void(bool)> commit) {
    auto* box = new QCheckBox;
    box->setChecked(value);
    box->setToolTip(tip_of(info));
    connect(box, &QCheckBox::clicked, this, [commit = std::move(commit)](bool on) { commit(on); });
    rows_->addRow(label(key, info, box), box);
    add_fault_line(key);
    editors_[key] = box;
}

void FormRows::show_mixed(const char* key) {
    QWidget* editor = FormRows::editor(key);
    if (editor == nullptr || is_refused(key)) return;
    values_[key] = mixed_value;
    const QSignalBlocker quiet(editor);
    auto* line = qobject_cast<QLineEdit*>(editor);
    if (auto* box = qobject_cast<QComboBox*>(editor)) {
        line = box->lineEdit();
        box->setPlaceholderText(tr("mixed"));
        box->setCurrentIndex(-1);
    }
    if (auto* box = qobject_cast<QCheckBox*>(editor)) box->setCheckState(Qt::PartiallyChecked);
    if (line == nullptr || line->isModified()) return;
    const QSignalBlocker quiet_line(line);
    line->clear();
    line->setPlaceholderText(tr("mixed"));
}

void FormRows::refresh(const char* key, const QString& value) {
    QWidget* editor = FormRows::editor(key);
    if (values_[key] == mixed_value) {
        auto* line = qobject_cast<QLineEdit*>(editor);
        if (auto* box = qobject_cast<QComboBox*>(editor)) line = box->lineEdit();
        if (line != nullptr) line->setPlaceholderText(placeholders_[key]);
    }
    // A refused text stays to be corrected until its own value changes elsewhere.
    if (is_refused(key) && values_[key] == value) return;
    values_[key] = value;
    if (is_refused(key)) show_fault(key, {});
    if (auto* box = qobject_cast<QComboBox*>(editor)) {
        if (box->isEditable() && box->lineEdit()->isModified()) return;
        const QSignalBlocker quiet(box);
        box->setCurrentIndex(box->findText(value));
        box->setCurrentText(value);
        if (box->isEditable()) box->lineEdit()->setModified(false);
    } else if (auto* line = qobject_cast<QLineEdit*>(editor)) {
        if ((line->hasFocus() && line->isModified()) || line->text() == value) return;
        const QSignalBlocker quiet(line);
        line->setText(value);
        line->setCursorPosition(0);
    }
}

void FormRows::refresh(const char* key, bool value) {
    auto* box = qobject_cast<QCheckBox*>(editor(key));
    if (box == nullptr) return;
    box->setTristate(false);
    box->setChecked(value);
}

void FormRows::set_placeholder(const char* key, const QString& words) {
    auto* line = qobject_cast<QLineEdit*>(editor(key));
    if (line == nullptr) return;
    placeholders_[key] = words;
    if (values_[key] != mixed_value) line->setPlaceholderText(words);
}

QLabel* FormRows::add_value(const QString& name, const QString& tip) {
    auto* value = new QLabel;
    value->setWordWrap(true);
    value->setTextInteractionFlags(Qt::TextSelectableByMouse);
    rows_->addRow(title(name, tip, value), value);
    return value;
}

QLabel* FormRows::title(const QString& name, const QString& tip, QWidget* of) {
    auto* label = new QLabel(name);
    label->setMinimumHeight(size::row);
    label->setFixedWidth(label_width());
    label->setBuddy(of);
    label->setToolTip(tip);
    of->setToolTip(tip);
    of->setAccessibleName(name);
    return label;
}

void FormRows::add_row_above(const std::string& key, const QString& name, const QString& tip, QWidget* own) {
    own->setProperty(help_property, tip);
    rows_->insertRow(std::max(0, row_of(key)), title(name, tip, own), own);
}

void FormRows::set_row_visible(QWidget* value, bool on) {
    value->setVisible(on);
    if (auto* title = rows_->labelForField(value)) title->setVisible(on);
}

int FormRows::row_of(const std::string& key) const {
    int row = -1;
    QFormLayout::ItemRole role{};
    QWidget* at = editor(key);
    for (; at != nullptr && at != this && row < 0; at = at->parentWidget()) rows_->getWidgetPosition(at, &row, &role);
    return row;
}

void FormRows::add_before(const std::string& key, QWidget* own) {
    constexpr int short_number = 56;
    const int row = row_of(key);
    if (row < 0) return;
    QWidget* field = editor(key);
    own->setProperty(help_property, field->property(help_property));
    auto* both = new QWidget;
    auto* across = new QHBoxLayout(both);
    across->setContentsMargins(0, 0, 0, 0);
    across->setSpacing(size::gap);
    rows_->removeWidget(field);
    across->addWidget(own, 1);
    across->addWidget(field);
    field->setFixedWidth(short_number);
    rows_->setWidget(row, QFormLayout::FieldRole, both);
}

void FormRows::replace_row(const std::string& key, QWidget* own) {
    const int row = row_of(key);
    if (row < 0) return;
    take_place_of(key, own);
    rows_->removeRow(row);
    rows_->insertRow(row, own);
}

void FormRows::take_place_of(const std::string& key, QWidget* own) {
    const QWidget* before = editor(key);
    own->setProperty(help_property, before->property(help_property));
    own->setAccessibleName(before->accessibleName());
    own->setAccessibleDescription(before->accessibleDescription());
    editors_[key] = own;
}

void FormRows::add_note(QWidget* note, const std::string& below) {
    const int row = row_of(below);
    row < 0 ? rows_->addRow(note) : rows_->insertRow(row + 1, note);
}

QWidget* FormRows::editor(const std::string& key) const {
    const auto it = editors_.find(key);
    return it == editors_.end() ? nullptr : it->second;
}

}  // namespace skippipe
