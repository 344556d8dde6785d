// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/inspector/inspector.h"

#include <algorithm>
#include <cmath>

#include <QApplication>
#include <QComboBox>
#include <QLineEdit>
#include <QPointer>
#include <QPushButton>
#include <QScrollBar>
#include <QSignalBlocker>
#include <QSlider>
#include <QToolButton>

#include "core/base/format.h"
#include "core/experiment/counts.h"
#include "core/experiment/model_size.h"
#include "core/experiment/presets.h"
#include "views/inspector/applying.h"
#include "views/inspector/form.h"
#include "views/inspector/prose_edit.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"
#include "views/theme/words.h"
#include "views/topology/failure_edits.h"

namespace skippipe {
namespace {

/// The field of what is shown that a JSON pointer speaks of: of its own part, else of any that has such a field.
struct FoundField {
    FormRows* form = nullptr;  ///< null: there is none
    std::string key;
    bool is_part = false;
};

FoundField field_of(const QString& pointer, const QWidget& shown) {
    QStringList names;
    for (const auto& name : pointer.split('/', Qt::SkipEmptyParts)) {
        bool is_number = false;
        name.toInt(&is_number);
        if (!is_number) names << name;
    }
    if (names.isEmpty()) return {};
    FoundField field{nullptr, names.takeLast().toStdString(), false};
    const QString part = names.isEmpty() ? QStringLiteral("experiment") : names.last();
    for (auto* form : shown.findChildren<FormRows*>()) {
        const bool is_part = form->objectName() == part;
        if (form->editor(field.key) != nullptr && (field.form == nullptr || is_part))
            field.form = form, field.is_part = is_part;
    }
    return field;
}

/// The same node, link, region or failure, or nothing of these.
bool same_thing(const Selection& a, const Selection& b) {
    return a.nodes == b.nodes && a.regions == b.regions && a.links == b.links && a.failure == b.failure;
}

struct KeysOf {
    std::set<std::string> keys;
    template <class Value>
    void operator()(const char* key, const Value&, const Info&) {
        keys.insert(key);
    }
};

}  // namespace

Inspector::Inspector(Document& document, SelectionModel& selection, FailureEditor& failures,
                     const PlannerRegistry& planners, QWidget* parent)
    : QScrollArea(parent),
      document_(document),
      selection_(selection),
      failures_(failures),
      planners_(planners),
      help_(new QLabel(this)) {
    help_->setObjectName("field_help");
    help_->setProperty("role", "small");
    help_->setWordWrap(true);
    help_->setAlignment(Qt::AlignLeft | Qt::AlignTop);
    help_->setContentsMargins(size::wide_gap, size::gap, size::wide_gap, size::gap);
    help_->hide();
    connect(qApp, &QApplication::focusChanged, this, [this](const QWidget*, const QWidget* now) { show_help(now); });
    setWidgetResizable(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFrameShape(QFrame::NoFrame);
    setAccessibleName(tr("Properties"));
    connect(&selection, &SelectionModel::changed, this, &Inspector::follow);
    connect(&document, &Document::changed, this, &Inspector::follow);
    // What was typed into another document, or into this one before it was opened again, is gone with it.
    connect(&document, &Document::replaced, this, &Inspector::rebuild);
    rebuild();
    connect(&document, &Document::faults_changed, this, &Inspector::mark_faults);
}

Inspector::~Inspector() {
    disconnect(qApp, nullptr, this, nullptr);  // fields that go lose the keys
}

QString Inspector::key_of_selection() const {
    const Selection& s = selection_.now();
    if (s.failure && *s.failure < document_.experiment().failures.size()) {
        const auto& failure = document_.experiment().failures[*s.failure];
        return QStringLiteral("failure/%1/%2/%3")
            .arg(*s.failure)
            .arg(static_cast<int>(failure.kind))
            .arg(static_cast<int>(trigger_of(failure)));
    }
    const auto things = s.nodes.size() + s.links.size() + s.regions.size();
    QString key = things == 0 ? QStringLiteral("experiment/%1").arg(document_.experiment().failures.size()) +
                                    applying_key(document_.experiment(), document_.faults())
                  : things > 1 ? QStringLiteral("many")
                               : QString{};
    const QString facts = (s.stage ? QStringLiteral("/stage %1").arg(*s.stage) : QString{}) +
                          (s.microbatch ? QStringLiteral("/microbatch %1").arg(*s.microbatch) : QString{});
    if (things == 0 && !facts.isEmpty()) return "facts" + facts;
    if (things > 1) {
        for (const auto& id : s.nodes) key += "/n:" + QString::fromStdString(id);
        for (const auto& id : s.regions) key += "/r:" + QString::fromStdString(id);
        for (const auto& link : s.links) key += "/l:" + QString::fromStdString(link.from + "->" + link.to);
    }
    if (things == 1 && !s.nodes.empty()) key = "node/" + QString::fromStdString(*s.nodes.begin());
    if (!s.nodes.empty()) key += '/' + applying_key(document_.experiment(), document_.faults());
    if (things == 1 && !s.regions.empty()) key = "region/" + QString::fromStdString(*s.regions.begin());
    if (things == 1 && !s.links.empty())
        key = "link/" + QString::fromStdString(s.links.begin()->from + "->" + s.links.begin()->to);
    return things > 0 ? key + facts : key;
}

void Inspector::follow() {
    if (const QString key = key_of_selection(); key != shown_) rebuild();
}

void Inspector::rebuild() {
    document_.clear_refused();  // the texts go with their fields
    const QWidget* old_focus = widget() != nullptr && QApplication::focusWidget() != nullptr &&
                                       widget()->isAncestorOf(QApplication::focusWidget())
                                   ? QApplication::focusWidget()
                                   : nullptr;
    const int scrolled = verticalScrollBar()->value();
    const QString kept = shown_.section('/', 0, 0), field = old_focus != nullptr ? old_focus->objectName() : QString{};
    // An editor may be what led here: it goes when its event is over.
    if (auto* old = takeWidget()) old->deleteLater();
    sections_.clear();
    auto* content = new QWidget;
    column_ = new QVBoxLayout(content);
    column_->setContentsMargins(size::wide_gap, size::gap, size::wide_gap, size::wide_gap);
    column_->setSpacing(size::gap);
    shown_ = key_of_selection();
    const Selection& s = selection_.now();
    if (!shown_.startsWith("failure/")) show_facts(s);
    if (shown_.startsWith("many"))
        show_many();
    else if (shown_.startsWith("node/"))
        show_node(*s.nodes.begin());
    else if (shown_.startsWith("link/"))
        show_link(*s.links.begin());
    else if (shown_.startsWith("region/"))
        show_region(*s.regions.begin());
    else if (shown_.startsWith("failure/"))
        show_failure(*s.failure);
    else if (!shown_.startsWith("facts"))
        show_experiment();
    if (!shown_.startsWith("experiment")) add_way_to_settings();
    column_->addStretch();
    setWidget(content);
    mark_faults();
    if (shown_.section('/', 0, 0) == kept) {
        content->adjustSize();
        verticalScrollBar()->setValue(scrolled);
    }
    // Who works by keys stays in the field whose value changed what is shown.
    if (!field.isEmpty() && shown_.section('/', 0, 0) == kept)
        if (auto* again = content->findChild<QWidget*>(field)) again->setFocus();
}

std::set<std::string> Inspector::hidden(FormPart part, std::set<std::string> besides) const {
    besides.merge(hidden_fields(part, document_.experiment(), document_.faults()));
    return besides;
}

void Inspector::show_stages(std::map<std::string, ServedStage> stages) {
    if (stages == stages_) return;
    stages_ = std::move(stages);
    Q_EMIT stages_shown();
}

QString PlanIdle::words(const std::string& node) const {
    const auto found = idle_s.find(node);
    if (found == idle_s.end() || !(iteration_s > 0)) return {};
    return QObject::tr("%1, %2").arg(percent(found->second / iteration_s), duration(found->second));
}

void Inspector::show_idle(PlanIdle idle) {
    if (idle == idle_) return;
    idle_ = std::move(idle);
    Q_EMIT idle_shown();
}

/// Of a field alone: what else has the keys speaks for itself.
void Inspector::show_help(const QWidget* focused) {
    const bool is_ours = focused != nullptr && widget() != nullptr && widget()->isAncestorOf(focused);
    QString words;
    for (const QWidget* at = focused; is_ours && at != widget() && words.isEmpty(); at = at->parentWidget())
        words = at->property(FormRows::help_property).toString();
    help_->setText(words);
    place_help();
    if (words.isEmpty()) return;
    // Once the strip has taken its room, and a section that opened with the field has its own.
    QMetaObject::invokeMethod(
        this,
        [this, field = QPointer(const_cast<QWidget*>(focused))] {
            if (field != nullptr && field->hasFocus() && widget()->isAncestorOf(field)) reveal(*field);
        },
        Qt::QueuedConnection);
}

void Inspector::reveal(const QWidget& field) {
    if (widget()->layout() != nullptr) widget()->layout()->activate();
    QCoreApplication::sendPostedEvents(this, QEvent::LayoutRequest);
    const QRect box(field.mapTo(widget(), QPoint()), field.size());
    ensureVisible(box.left(), box.top(), 0, size::gap);
    ensureVisible(box.left(), box.bottom(), 0, size::gap);
}

void Inspector::place_help() {
    const bool has = !help_->text().isEmpty();
    const int high = has ? help_->heightForWidth(width()) : 0;
    setViewportMargins(0, 0, 0, high);
    help_->setGeometry(0, height() - high, width(), high);
    help_->setVisible(has);
}

void Inspector::resizeEvent(QResizeEvent* event) {
    QScrollArea::resizeEvent(event);
    place_help();
    if (auto* prose = findChild<ProseEdit*>()) prose->set_lines_at_rest(lines_of_description());
}

void Inspector::show_field(const QString& pointer) {
    const FoundField field = field_of(pointer, *widget());
    if (field.form == nullptr) return;
    auto* editor = field.form->editor(field.key);
    open_sections_of(editor);
    editor->setFocus();
}

void Inspector::open_sections_of(const QWidget* field) {
    for (const QWidget* at = field; at != widget(); at = at->parentWidget())
        if (const auto found = sections_.find(at); found != sections_.end()) found->second->setChecked(true);
}

/// Errors stand under the fields they are of, whose sections open when they come.
void Inspector::mark_faults() {
    if (widget() == nullptr) return;  // the form is being made anew, and marked then
    std::map<FormRows*, std::map<std::string, QString>> wrong;
    for (auto* form : widget()->findChildren<FormRows*>()) wrong[form];
    std::set<std::string> marked;
    for (const auto& fault : document_.faults()) {
        const Selection subject = subject_of(fault.pointer, document_.experiment());
        if (fault.severity != Fault::Severity::error || !same_thing(subject, selection_.now())) continue;
        const FoundField field = field_of(QString::fromStdString(fault.pointer), *widget());
        if (field.form == nullptr || (!field.is_part && same_thing(subject, {}))) continue;
        const QString what = without_keys(QString::fromStdString(fault.what)),
                      value = field.form->shown_value(field.key);
        QString& words = wrong[field.form][field.key];
        if (!words.isEmpty()) continue;
        words = !document_.is_of_file(fault) ? capitalised(what)
                : value.isEmpty()            ? tr("In the file: %1").arg(what)
                                             : tr("In the file: %1. Shown is %2").arg(what, value);
        marked.insert(fault.pointer);
        if (!marked_.contains(fault.pointer)) open_sections_of(field.form->editor(field.key));
    }
    for (const auto& [form, words] : wrong) form->show_wrong(words);
    marked_ = std::move(marked);
}

void Inspector::enter() {
    if (auto* first = widget()->findChild<QComboBox*>()) return first->setFocus();
    if (auto* first = widget()->findChild<QLineEdit*>()) first->setFocus();
}

QToolButton* Inspector::section(const QString& name, QWidget* content, bool open) {
    if (const auto before = open_.find(name); before != open_.end()) open = before->second;
    auto* button = new QToolButton;
    button->setText(name);
    button->setCheckable(true);
    button->setChecked(open);
    button->setArrowType(open ? Qt::DownArrow : Qt::RightArrow);
    button->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    button->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    button->setStyleSheet("QToolButton{font-weight:600;padding:2px 0;margin-left:-7px;background:transparent;}");
    content->setVisible(open);
    connect(button, &QToolButton::toggled, content, [this, name, button, content](bool on) {
        open_[name] = on;
        content->setVisible(on);
        button->setArrowType(on ? Qt::DownArrow : Qt::RightArrow);
    });
    column_->addWidget(button);
    column_->addWidget(content);
    sections_[content] = button;
    return button;
}

void Inspector::show_experiment() {
    column_->addWidget(words_label(tr("Experiment"), "heading"));
    auto* experiment = new Form<Experiment>(document_, "experiment", [](auto& e) { return &e; }, {"name"});
    experiment->replace_row("description", description());
    column_->addWidget(experiment);
    show_pipeline();
    show_constraints();
    show_model();
    section(tr("Training"),
            new Form<Training>(
                document_, "training", [](auto& e) { return &e.training; }, hidden(FormPart::training)),
            false);
    if (document_.experiment().execution.compute != Compute::cost)  // else nothing is read
        section(tr("Data"),
                new Form<DataSpec>(
                    document_, "data", [](auto& e) { return &e.data; }, hidden(FormPart::data)),
                false);
    show_costs();
    if (has_switch(document_.experiment()))
        section(tr("Inside a region"),
                new Form<WithinRegion>(document_, "within_region", [](auto& e) { return &e.topology.within_region; }),
                false);
    section(tr("Execution"),
            new Form<Execution>(
                document_, "execution", [](auto& e) { return &e.execution; }, hidden(FormPart::execution)),
            false);
    section(tr("Prices"), new Form<Prices>(document_, "prices", [](auto& e) { return &e.prices; }), false);
    show_failures();
}

/// A high panel has room for what is cut off in a low one.
int Inspector::lines_of_description() const {
    constexpr int high = 900, in_a_high_one = 8, in_a_low_one = 3;
    return height() >= high ? in_a_high_one : in_a_low_one;
}

QWidget* Inspector::description() {
    auto* prose = new ProseEdit;
    prose->set_lines_at_rest(lines_of_description());
    prose->setObjectName("description");
    prose->setPlaceholderText(tr("What it asks, for people"));
    const auto follow = [this, prose] { prose->show_text(QString::fromStdString(document_.experiment().description)); };
    connect(&document_, &Document::changed, prose, follow);
    connect(prose, &ProseEdit::entered, this, [this](const QString& text) {
        document_.edit(tr("Description"), [&](Experiment& e) { e.description = text.toStdString(); });
    });
    follow();
    return prose;
}

/// What most experiments set; the rest folded below, with how much of it is set.
void Inspector::show_pipeline() {
    const auto planners = [this](const Experiment&) {
        QStringList names;
        for (const auto& planner : planners_.all()) names << QString::fromStdString(planner->name());
        return names;
    };
    const auto locate = [](auto& e) { return &e.pipeline; };
    auto* pipeline = new Form<Pipeline>(document_, "pipeline", locate, hidden(FormPart::pipeline, seldom_fields()),
                                        {{"planner", planners}});
    auto* words = words_label({}, "small");
    words->setObjectName("skip_words");
    const auto say = [this, words] { words->setText(skip_words(document_.experiment().pipeline, planners_)); };
    connect(&document_, &Document::changed, words, say);
    say();
    pipeline->add_before("skip_ratio", skip_slider());
    pipeline->add_note(words, "skip_ratio");
    if (auto* box = qobject_cast<QComboBox*>(pipeline->editor("planner")))
        for (const auto& planner : planners_.all())
            box->setItemData(box->findText(QString::fromStdString(planner->name())),
                             QString::fromStdString(planner->description()), Qt::ToolTipRole);
    section(tr("Pipeline"), pipeline);
    KeysOf often;
    describe(often, document_.experiment().pipeline);
    for (const auto& key : seldom_fields()) often.keys.erase(key);
    auto* seldom = new Form<Pipeline>(document_, "pipeline", locate, hidden(FormPart::pipeline, often.keys));
    auto* button = section(tr("More of the pipeline"), seldom, false);
    const auto count = [this, button] {
        const int set = seldom_set(document_.experiment().pipeline);
        button->setText(set > 0 ? tr("More of the pipeline, %1 set").arg(set) : tr("More of the pipeline"));
    };
    connect(&document_, &Document::changed, button, count);
    count();
}

/// Each rule with what it means as it is set.
void Inspector::show_constraints() {
    auto* form = new Form<Constraints>(
        document_, "constraints", [](auto& e) { return &e.pipeline.constraints; }, hidden(FormPart::constraints));
    for (const char* key : {"uniform_execution", "bounded_disorder", "memory"}) {
        auto* words = words_label({}, "small");
        words->setObjectName(QString::fromUtf8(key) + "_words");
        const auto say = [this, words, key] { words->setText(constraint_words(key, document_.experiment())); };
        connect(&document_, &Document::changed, words, say);
        say();
        form->add_note(words, key);
    }
    section(tr("Rules for planners"), form, false)
        ->setToolTip(tr("What a plan has to keep. CC2, CC3 and TC1 are their names in the SkipPipe paper"));
}

/// A step is a stage that each microbatch skips: every place of it is a path length.
QWidget* Inspector::skip_slider() {
    auto* slider = new QSlider(Qt::Horizontal);
    slider->setObjectName("skip_slider");
    slider->setAccessibleName(tr("Stages that each microbatch skips"));
    slider->setPageStep(1);
    slider->setMinimumHeight(size::row);
    const auto follow = [this, slider] {
        const Pipeline& p = document_.experiment().pipeline;
        const QSignalBlocker quiet(slider);
        slider->setRange(0, std::max(0, p.stages - 2));
        slider->setValue(p.stages - path_length(p.stages, p.skip_ratio));
    };
    connect(&document_, &Document::changed, slider, follow);
    connect(slider, &QSlider::valueChanged, this, [this](int skipped) {
        document_.edit(
            tr("Skip ratio"),
            [skipped](Experiment& e) {
                e.pipeline.skip_ratio = std::round(1e3 * skipped / std::max(1, e.pipeline.stages)) / 1e3;
            },
            "pipeline/skip_ratio");
    });
    follow();
    return slider;
}

void Inspector::show_costs() {
    auto* form = new Form<Costs>(
        document_, "costs", [](auto& e) { return &e.costs; }, hidden(FormPart::costs));
    auto* words = words_label({}, "small");
    words->setObjectName("all_reduce_words");
    const auto say = [this, words] { words->setText(all_reduce_words(document_.experiment())); };
    connect(&document_, &Document::changed, words, say);
    say();
    form->add_note(words, "all_reduce");
    section(tr("Costs"), form, false);
}

void Inspector::show_model() {
    auto* form = new Form<ModelSpec>(document_, "model", [](auto& e) { return &e.model; });
    auto* presets = new QComboBox;
    presets->setObjectName("model_preset");
    presets->setAccessibleName(tr("Model by LLaMA's dimensions"));
    presets->addItem(tr("Own dimensions"));
    for (const auto& preset : model_presets()) {
        presets->addItem(QString::fromStdString(preset.name));
        presets->setItemData(presets->count() - 1, QString::fromStdString(preset.description), Qt::ToolTipRole);
    }
    auto* words = words_label({}, "small");
    words->setObjectName("model_words");
    const auto follow = [this, presets, words] {
        const auto& model = document_.experiment().model;
        const auto& all = model_presets();
        const auto same =
            std::find_if(all.begin(), all.end(), [&](const ModelPreset& preset) { return preset.model == model; });
        presets->setCurrentIndex(same == all.end() ? 0 : 1 + static_cast<int>(same - all.begin()));
        words->setText(tr("%1 parameters; %2 of weights, gradients and AdamW state a copy")
                           .arg(QString::fromStdString(format_si(model_parameters(model), "")),
                                QString::fromStdString(format_si(16 * model_parameters(model), "B"))));
    };
    connect(&document_, &Document::changed, words, follow);
    connect(presets, &QComboBox::activated, this, [this, follow](int index) {
        if (index > 0)
            document_.edit(tr("Choose a model"), [index](Experiment& e) {
                e.model = model_presets()[static_cast<std::size_t>(index - 1)].model;
            });
        follow();
    });
    follow();
    auto* both = new QWidget;
    auto* column = new QVBoxLayout(both);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(presets);
    column->addWidget(form);
    form->add_note(words);
    section(tr("Model"), both, false);
}

}  // namespace skippipe
