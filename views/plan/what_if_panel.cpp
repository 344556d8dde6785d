// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/plan/what_if_panel.h"

#include <sys/resource.h>

#include <algorithm>
#include <optional>

#include <QHBoxLayout>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include "views/document/document.h"
#include "views/document/selection_model.h"
#include "views/theme/numbers.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {

constexpr double hardly = 1.01;  ///< times as long: no more than searches differ by

/// What is searched for in full next: the wanted one first; nothing: all are.
std::optional<std::size_t> next_of(const std::vector<WhatIfAnswer>& answers, int wanted) {
    const auto is_open = [&](std::size_t place) { return place < answers.size() && !answers[place].is_whole; };
    if (wanted >= 0 && is_open(static_cast<std::size_t>(wanted))) return static_cast<std::size_t>(wanted);
    for (std::size_t place = 0; place < answers.size(); ++place)
        if (is_open(place)) return place;
    return std::nullopt;
}

bool same_question(const WhatIfQuestion& a, const WhatIfQuestion& b) {
    return a.words == b.words && a.now == b.now && a.values == b.values;
}

QString time_words(const WhatIfAnswer& answer, double most_s) {
    const QString time = iteration_words(answer.seconds, most_s);
    return answer.is_whole ? time : QObject::tr("at most %1").arg(time);
}

}  // namespace

WhatIfPanel::WhatIfPanel(Document& document, SelectionModel& selection, const PlannerRegistry& planners,
                         QWidget* parent)
    : QWidget(parent),
      document_(document),
      selection_(selection),
      planners_(planners),
      box_(new QComboBox),
      words_(words_label({}, "secondary")),
      use_(new QPushButton(tr("Use"))),
      curve_(new WhatIfCurve),
      note_(new EmptyNote(tr("The iteration time over a quantity appears here once there is a plan"))),
      head_(new QWidget) {
    for (auto* pool : {&pool_, &patient_}) pool->setMaxThreadCount(1);
    setProperty("role", "surface");
    setAttribute(Qt::WA_StyledBackground);
    box_->setObjectName("what_if_questions");
    box_->setAccessibleName(tr("What would be another"));
    box_->setToolTip(tr("Of the experiment, and of the node, link or region that is selected"));
    box_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    use_->setObjectName("what_if_use");
    use_->setToolTip(tr("Puts the chosen value into the experiment"));
    auto* row = head_row();
    row->addWidget(box_);
    row->addWidget(words_, 1);
    row->addWidget(use_);
    auto* column = seamless_column(this);
    head_->setLayout(row);
    column->addWidget(head_);
    column->addWidget(curve_, 1);
    column->addWidget(note_, 1);
    connect(&document, &Document::changed, this, &WhatIfPanel::follow);
    connect(&selection, &SelectionModel::changed, this, &WhatIfPanel::follow);
    connect(box_, &QComboBox::activated, this, &WhatIfPanel::ask);
    connect(curve_, &WhatIfCurve::chosen_changed, this, [this](int place) {
        *wanted_ = place;
        say();
    });
    connect(use_, &QPushButton::clicked, this, [this] {
        const int at = curve_->chosen(), which = box_->currentIndex();
        if (at < 0 || which < 0 || which >= static_cast<int>(all_.size())) return;
        const WhatIfQuestion question = all_[static_cast<std::size_t>(which)];
        document_.edit(question.words,
                       [&](Experiment& e) { question.set(e, question.values[static_cast<std::size_t>(at)]); });
    });
    follow();
}

WhatIfPanel::~WhatIfPanel() {
    stop_.request_stop();
    pool_.waitForDone();
    patient_.waitForDone();
}

void WhatIfPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    follow();
}

/// What was found stays.
void WhatIfPanel::hideEvent(QHideEvent* event) {
    QWidget::hideEvent(event);
    stop();
}

void WhatIfPanel::show_plan(std::shared_ptr<const PlanOutcome> plan, HeldMicrobatches held, bool is_current) {
    const bool is_new = plan_ != plan || awaits_ == is_current;
    awaits_ = !is_current;
    plan_ = std::move(plan);
    held_ = std::move(held);
    const auto asked = what_if_questions(document_.experiment(), selection_.now(), held_);
    if (is_new || !std::equal(asked.begin(), asked.end(), all_.begin(), all_.end(), same_question)) follow();
}

/// Who looks elsewhere asks nothing.
void WhatIfPanel::follow() {
    if (!isVisible()) return stop();
    const QString before = box_->currentText();
    all_ = what_if_questions(document_.experiment(), selection_.now(), held_);
    const QSignalBlocker quiet(box_);
    box_->clear();
    for (const auto& question : all_) box_->addItem(question.words);
    if (!all_.empty() &&
        selection_.now().nodes.size() + selection_.now().links.size() + selection_.now().regions.size() == 0) {
        box_->addItem(tr("More: select a node, link or region"));
        box_->setItemData(box_->count() - 1, 0, Qt::UserRole - 1);  // it is no question: nobody can choose it
    }
    // What was asked about a thing is asked about the next that is selected.
    const int same = box_->findText(before);
    box_->setCurrentIndex(same >= 0 ? same : all_.size() > 1 ? 1 : 0);
    ask();
}

void WhatIfPanel::stop() {
    stop_.request_stop();
    ++serial_;
    busy_ = false;
}

/// What is asked already, of the same plan or of what has none yet, goes on.
void WhatIfPanel::ask() {
    const int which = box_->currentIndex();
    const Planner* planner = planners_.find(document_.experiment().pipeline.planner);
    if (awaits_ || which < 0 || planner == nullptr || has_errors(document_.faults())) {
        stop();
        answers_.clear();
        curve_->show_curve(awaits_ && which >= 0 ? all_[static_cast<std::size_t>(which)] : WhatIfQuestion{}, {});
        return say();
    }
    const WhatIfQuestion& question = all_[static_cast<std::size_t>(which)];
    Experiment key = plan_key(document_.experiment());
    const bool is_asked =
        !answers_.empty() && plan_ == asked_of_ && key == asked_in_ && same_question(question, asked_);
    if (is_asked && busy_) return;
    stop();
    if (!is_asked) answers_.assign(question.values.size(), {});
    asked_ = question;
    asked_of_ = plan_;
    asked_in_ = std::move(key);
    curve_->show_curve(asked_, answers_);
    *wanted_ = curve_->chosen();
    search();
    say();
}

/// For what has no answer by a short search, then for what has none by a whole one.
void WhatIfPanel::search() {
    busy_ = !std::all_of(answers_.begin(), answers_.end(), [](const auto& answer) { return answer.is_whole; });
    if (!busy_) return;
    stop_ = std::stop_source{};
    const Experiment& e = document_.experiment();
    const WhatIfSearch by{e, planners_.find(e.pipeline.planner), asked_, plan_, stop_.get_token()};
    pool_.start([this, by, answers = answers_, serial = serial_]() mutable {
        for (std::size_t i = 0; i < answers.size() && !by.stop.stop_requested(); ++i)
            if (!answers[i].is_planned()) tell(i, by.in_short(by.question.values[i]), by.stop, serial);
        QMetaObject::invokeMethod(
            this, [this, by, serial] { search_on(by, serial); }, Qt::QueuedConnection);
    });
}

void WhatIfPanel::tell(std::size_t place, const WhatIfAnswer& answer, const std::stop_token& stop, int serial) {
    if (stop.stop_requested()) return;
    QMetaObject::invokeMethod(
        this, [this, place, answer, serial] { take(place, answer, serial); }, Qt::QueuedConnection);
}

/// All values have an answer by then. The whole searches take minutes: whoever works here goes first.
void WhatIfPanel::search_on(const WhatIfSearch& by, int serial) {
    if (serial != serial_ || !busy_) return;
    patient_.start([this, by, answers = answers_, wanted = wanted_, serial]() mutable {
        constexpr int gives_way = 15;
        setpriority(PRIO_PROCESS, 0, gives_way);  // of this thread
        for (auto next = next_of(answers, *wanted); next && !by.stop.stop_requested();
             next = next_of(answers, *wanted)) {
            answers[*next] = by.in_full(by.question.values[*next], answers[*next]);
            tell(*next, answers[*next], by.stop, serial);
        }
    });
}

void WhatIfPanel::take(std::size_t place, const WhatIfAnswer& answer, int serial) {
    if (serial != serial_) return;
    answers_[place] = answer;
    busy_ = !std::all_of(answers_.begin(), answers_.end(), [](const auto& one) { return one.is_whole; });
    curve_->show_curve(asked_, answers_);
    say();
}

bool WhatIfPanel::is_busy() const {
    return busy_ &&
           !std::all_of(answers_.begin(), answers_.end(), [](const auto& answer) { return answer.is_planned(); });
}

/// What all values come to, where nobody has chosen one.
QString WhatIfPanel::spread_words() const {
    const WhatIfAnswer *least = nullptr, *most = nullptr;
    std::size_t whole = 0;
    for (const auto& answer : answers_) {
        whole += answer.is_whole ? 1 : 0;
        if (!answer.has_plan()) continue;
        if (least == nullptr || answer.seconds < least->seconds) least = &answer;
        if (most == nullptr || answer.seconds > most->seconds) most = &answer;
    }
    if (least == nullptr) return busy_ ? tr("No value has a plan by a short search") : tr("No value has a plan");
    if (curve_->is_level() && whole == answers_.size())
        return tr("Makes no difference: %1").arg(iteration_words(most->seconds, curve_->most_s()));
    if (curve_->is_level())
        return tr("Makes no difference so far: at most %1; %2 of %3 searched in full")
            .arg(iteration_words(most->seconds, curve_->most_s()))
            .arg(whole)
            .arg(answers_.size());
    const QString spread =
        (least->is_whole && most->is_whole ? tr("%1 to %2") : tr("%1 to %2 at most"))
            .arg(iteration_words(least->seconds, curve_->most_s()), iteration_words(most->seconds, curve_->most_s()));
    if (whole < answers_.size()) return tr("%1; %2 of %3 searched in full").arg(spread).arg(whole).arg(answers_.size());
    return (most->seconds <= least->seconds * hardly ? tr("Hardly matters: %1; choose a value")
                                                     : tr("%1; choose a value"))
        .arg(spread);
}

void WhatIfPanel::say() {
    const int which = box_->currentIndex(), at = curve_->chosen();
    const bool has = which >= 0 && at >= 0 && at < static_cast<int>(answers_.size());
    use_->setEnabled(has);
    const bool is_empty = answers_.empty() && !(awaits_ && plan_);
    note_->show_words(awaits_ ? tr("The iteration time over a quantity appears here as soon as the search for the plan "
                                   "has ended")
                              : tr("The iteration time over a quantity appears here once there is a plan"));
    note_->setVisible(is_empty);
    for (auto* part : {head_, static_cast<QWidget*>(curve_)}) part->setVisible(!is_empty);
    if (answers_.empty()) return words_->setText(tr("Asked anew as soon as the new plan is there"));
    const auto planned =
        std::count_if(answers_.begin(), answers_.end(), [](const auto& answer) { return answer.is_planned(); });
    if (!has)
        return words_->setText(is_busy() ? tr("%1 of %2 values planned").arg(planned).arg(answers_.size())
                                         : spread_words());
    const auto& question = all_[static_cast<std::size_t>(which)];
    const auto& answer = answers_[static_cast<std::size_t>(at)];
    const QString value = value_text(question, question.values[static_cast<std::size_t>(at)]);
    const auto now = std::find(question.values.begin(), question.values.end(), question.now);
    const double now_s =
        now == question.values.end() ? 0 : answers_[static_cast<std::size_t>(now - question.values.begin())].seconds;
    words_->setText(!answer.is_planned() ? tr("%1: not planned yet").arg(value)
                    : !answer.has_plan() ? answer.why.isEmpty() ? tr("%1: there is no plan").arg(value)
                                                                : tr("%1: no plan, %2").arg(value, answer.why)
                    : now_s > 0 && now_s != answer.seconds
                        ? tr("%1: %2, %3 against now")
                              .arg(value, time_words(answer, curve_->most_s()), told_change(answer.seconds / now_s - 1))
                        : tr("%1: %2").arg(value, time_words(answer, curve_->most_s())));
}

}  // namespace skippipe
