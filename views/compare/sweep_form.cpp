// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/sweep_form.h"

#include <algorithm>

#include <QCompleter>
#include <QHBoxLayout>
#include <QSignalBlocker>
#include <QStyle>

#include "views/theme/theme.h"
#include "views/theme/widgets.h"
#include "views/theme/words.h"

namespace skippipe {
namespace {

constexpr int axis_field_width = 280, setup_number_width = 76, most_values_width = 520, most_seeds = 1000,
              most_parallel = 64, most_draw_seed = 1'000'000;
enum How { every_combination, random_draws };

/// "Skip ratio (pipeline.skip_ratio)": what it is called here, and in files and commands.
QString field_words(const QString& field) {
    const QString pointer = '/' + QString(field).replace('.', '/');
    return QStringLiteral("%1 (%2)").arg(place_words(pointer.toStdString()), field);
}

}  // namespace

SweepForm::SweepForm(QWidget* parent)
    : QWidget(parent),
      subject_(words_label({}, "heading")),
      heads_(new QWidget),
      lines_(new QVBoxLayout),
      add_(new QPushButton(tr("Add field"))),
      how_(new QComboBox),
      draws_(number(tr("Random draws"), "sweep_draws", 1, static_cast<int>(most_sweep_points), 10)),
      draw_seed_(number(tr("Seed of the draws"), "sweep_draw_seed", 0, most_draw_seed, 1)),
      seeds_(number(tr("Seeds of each combination"), "sweep_seeds", 1, most_seeds, 1)),
      parallel_(number(tr("Runs at a time"), "sweep_parallel", 1, most_parallel, 1)),
      iterations_(number(tr("Iterations of each run"), "sweep_iterations", 0, 1'000'000'000, 0)),
      draw_label_(new QLabel(tr("seed"))) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(size::gap, size::gap, size::gap, size::unit);
    column->setSpacing(size::gap);
    lines_->setSpacing(size::unit);
    subject_->setObjectName("sweep_subject");
    column->addWidget(subject_);
    heads_->setObjectName("sweep_heads");
    auto* heads = new QHBoxLayout(heads_);
    heads->setContentsMargins(0, 0, 0, 0);
    heads->setSpacing(size::gap);
    auto* field_head = words_label(tr("Field to vary"), "secondary");
    field_head->setFixedWidth(axis_field_width);
    heads->addWidget(field_head);
    heads->addWidget(words_label(tr("Its values, with commas between them"), "secondary"), 1);
    column->addWidget(heads_);
    column->addLayout(lines_);
    iterations_->setSpecialValueText(tr("as drawn"));
    how_->addItems({tr("Every combination"), tr("Random draws")});
    how_->setAccessibleName(tr("How values are combined"));
    how_->setObjectName("sweep_how");
    add_->setObjectName("sweep_add_field");
    auto* row = new QHBoxLayout;
    row->setSpacing(size::gap);
    const auto words = [](const QString& text) {
        auto* label = new QLabel(text);
        label->setProperty("role", "secondary");
        return label;
    };
    heads_->hide();
    draw_label_->setProperty("role", "secondary");
    row->addWidget(add_);
    row->addWidget(how_);
    row->addWidget(draws_);
    row->addWidget(draw_label_);
    row->addWidget(draw_seed_);
    row->addStretch();
    column->addLayout(row);
    auto* second = new QHBoxLayout;
    second->setSpacing(size::gap);
    const std::pair<QString, QSpinBox*> numbers[] = {
        {tr("Seeds"), seeds_}, {tr("Iterations"), iterations_}, {tr("At a time"), parallel_}};
    for (const auto& [text, box] : numbers) {
        second->addWidget(words(text));
        second->addWidget(box);
    }
    second->addStretch();
    column->addLayout(second);
    connect(add_, &QPushButton::clicked, this, [this] { add_axis({}, {}); });
    connect(how_, &QComboBox::currentIndexChanged, this, [this] {
        follow_how();
        Q_EMIT changed();
    });
    follow_how();
}

QSpinBox* SweepForm::number(const QString& name, const char* object, int least, int most, int value) const {
    auto* box = new QSpinBox;
    box->setRange(least, most);
    box->setValue(value);
    box->setAccessibleName(name);
    box->setToolTip(name);
    box->setObjectName(object);
    box->setMinimumWidth(setup_number_width);
    box->setButtonSymbols(QAbstractSpinBox::NoButtons);
    connect(box, &QSpinBox::valueChanged, this, &SweepForm::changed);
    return box;
}

void SweepForm::follow_how() {
    for (QWidget* widget : std::initializer_list<QWidget*>{draws_, draw_label_, draw_seed_})
        widget->setVisible(how_->currentIndex() == random_draws);
}

void SweepForm::set_subject(const QString& name) { subject_->setText(tr("Varies %1, the draft in Design").arg(name)); }

void SweepForm::set_fields(const std::vector<std::string>& fields) {
    QStringList names;
    for (const auto& field : fields) names << QString::fromStdString(field);
    if (names == fields_) return;
    fields_ = names;
    for (auto& axis : axes_) {
        const QSignalBlocker quiet(axis.field);
        show_field(axis, field_of(axis));
    }
}

void SweepForm::show_field(Axis& axis, const QString& field) const {
    axis.field->clear();
    for (const QString& one : fields_) axis.field->addItem(field_words(one), one);
    axis.field->setEditText(fields_.contains(field) ? field_words(field) : field);
}

QString SweepForm::field_of(const Axis& axis) {
    const int chosen = axis.field->findText(axis.field->currentText());
    return chosen >= 0 ? axis.field->itemData(chosen).toString() : axis.field->currentText().trimmed();
}

void SweepForm::add_axis(const QString& field, const QString& values) {
    const auto same = std::find_if(axes_.begin(), axes_.end(),
                                   [&](const Axis& axis) { return !field.isEmpty() && field_of(axis) == field; });
    if (same != axes_.end()) return same->values->setText(values);
    Axis axis{new QWidget, new QComboBox, new QLineEdit, new QToolButton};
    auto* row = new QHBoxLayout(axis.line);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(size::gap);
    axis.field->setEditable(true);
    axis.field->setInsertPolicy(QComboBox::NoInsert);
    axis.field->completer()->setFilterMode(Qt::MatchContains);
    axis.field->completer()->setCompletionMode(QCompleter::PopupCompletion);
    show_field(axis, field);
    axis.field->lineEdit()->setPlaceholderText(tr("Field, as pipeline.planner"));
    axis.field->setAccessibleName(tr("Field that varies"));
    axis.field->setToolTip(
        tr("Any field of the document, by its name in files. Failure rates: add a failure with a rate in Design; then "
           "failures.0.rate_per_hour is one"));
    axis.field->setObjectName("sweep_field");
    axis.field->setFixedWidth(axis_field_width);
    axis.values->setText(values);
    axis.values->setPlaceholderText(tr("Values, as 0, 0.25, 0.33; a range for draws, as 0..0.5 or log:1e-4..1e-2"));
    axis.values->setAccessibleName(tr("Its values"));
    axis.values->setObjectName("sweep_values");
    axis.remove->setText(QString::fromUtf8("×"));
    axis.remove->setToolTip(tr("Leave this field as it is drawn"));
    axis.remove->setAccessibleName(tr("Leave this field as it is drawn"));
    row->addWidget(axis.field);
    axis.values->setMaximumWidth(most_values_width);
    row->addWidget(axis.values, 1);
    row->addWidget(axis.remove);
    row->addStretch();
    lines_->addWidget(axis.line);
    axes_.push_back(axis);
    heads_->show();
    connect(axis.field, &QComboBox::editTextChanged, this, &SweepForm::changed);
    connect(axis.values, &QLineEdit::textChanged, this, &SweepForm::changed);
    connect(axis.remove, &QToolButton::clicked, this, [this, line = axis.line] { drop_axis(line); });
    if (field.isEmpty()) axis.field->setFocus();
    Q_EMIT changed();
}

std::vector<std::pair<QString, QSpinBox*>> SweepForm::numbers() const {
    return {{"seeds", seeds_},
            {"draws", draws_},
            {"draw_seed", draw_seed_},
            {"iterations", iterations_},
            {"parallel", parallel_}};
}

QStringList SweepForm::choices() const {
    QStringList words{QStringLiteral("how=%1").arg(how_->currentIndex())};
    for (const auto& [name, box] : numbers()) words << QStringLiteral("%1=%2").arg(name).arg(box->value());
    for (const auto& axis : axes_)
        if (const QString field = field_of(axis); !field.isEmpty())
            words << QStringLiteral("vary=%1=%2").arg(field, axis.values->text());
    return words;
}

void SweepForm::restore(const QStringList& choices) {
    if (choices.isEmpty()) return;
    while (!axes_.empty()) drop_axis(axes_.front().line);
    for (const QString& one : choices) {
        const QString name = one.section('=', 0, 0), value = one.section('=', 1);
        if (name == QStringLiteral("vary")) add_axis(value.section('=', 0, 0), value.section('=', 1));
        if (name == QStringLiteral("how")) how_->setCurrentIndex(value.toInt() == random_draws ? random_draws : 0);
        for (const auto& [own, box] : numbers())
            if (own == name) box->setValue(value.toInt());
    }
}

void SweepForm::vary_skip_ratio() {
    const QString field = QStringLiteral("pipeline.skip_ratio");
    const bool varies =
        std::any_of(axes_.begin(), axes_.end(), [&](const Axis& axis) { return field_of(axis) == field; });
    if (!varies) add_axis(field, QStringLiteral("0, 0.33"));
}

void SweepForm::show_fault(const QString& field, const QString& words) {
    for (const auto& axis : axes_) {
        QString own = field_of(axis);  // which may be typed as a pointer: "/pipeline/skip_ratio"
        own = own.mid(own.startsWith('/') ? 1 : 0).replace('/', '.');
        const bool faulty = !field.isEmpty() && own == field;
        axis.values->setToolTip(faulty ? words : QString{});
        if (axis.values->property("faulty").toBool() == faulty) continue;
        axis.values->setProperty("faulty", faulty);
        axis.values->style()->unpolish(axis.values);
        axis.values->style()->polish(axis.values);
    }
}

void SweepForm::drop_axis(QWidget* line) {
    std::erase_if(axes_, [line](const Axis& one) { return one.line == line; });
    line->deleteLater();
    heads_->setVisible(!axes_.empty());
    Q_EMIT changed();
}

SweepSetup SweepForm::setup() const {
    SweepSetup setup;
    for (const auto& axis : axes_) {
        const QString field = field_of(axis), values = axis.values->text().trimmed();
        if (!field.isEmpty() && !values.isEmpty()) setup.axes.push_back((field + '=' + values).toStdString());
    }
    setup.seeds = seeds_->value();
    setup.draws = how_->currentIndex() == random_draws ? draws_->value() : 0;
    setup.draw_seed = static_cast<std::uint64_t>(draw_seed_->value());
    setup.iterations = iterations_->value();
    setup.parallel = parallel_->value();
    return setup;
}

}  // namespace skippipe
