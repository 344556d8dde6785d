// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/first_steps.h"

#include <algorithm>
#include <set>
#include <utility>

#include <QEvent>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QVBoxLayout>

#include "core/experiment/regions.h"
#include "views/document/document.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"
#include "views/theme/words.h"

namespace skippipe {
namespace {
constexpr int most_wide = 580;
}  // namespace

NextStep next_step(const Experiment& experiment) {
    using Does = NextStep::Does;
    const auto& t = experiment.topology;
    if (!t.links.empty() || !t.hop_matrix_s.empty()) return {};
    const auto is_empty = [&](const Region& region) {
        return std::none_of(t.nodes.begin(), t.nodes.end(), [&](const Node& n) { return n.region == region.id; });
    };
    if (const auto empty = std::find_if(t.regions.begin(), t.regions.end(), is_empty); empty != t.regions.end())
        return {QObject::tr("%1 has no nodes yet. N adds one, or drag hardware into it")
                    .arg(QString::fromStdString(empty->id)),
                QObject::tr("Add three nodes"), Does::fills_region, empty->id};
    if (t.nodes.empty()) return {};
    if (t.nodes.size() == 1)
        return {QObject::tr("Step 1 of 3: more nodes. Double-click, N, or drag hardware from the left"),
                QObject::tr("Add a node"),
                Does::adds_node,
                {}};
    std::set<std::string> regions;
    for (const auto& node : t.nodes) regions.insert(node.region);
    if (regions.size() == 1 && !regions.begin()->empty()) return {};  // a switch joins them
    if (const auto apart = unlinked_regions(experiment.topology); apart && !regions.contains({}))
        return {QObject::tr("Step 2 of 3: link the regions, from the ring beside a name to another"),
                t.regions.size() > 2  // as many as the button links
                    ? QObject::tr("Link the regions")
                    : QObject::tr("Link %1 and %2")
                          .arg(QString::fromStdString(apart->first), QString::fromStdString(apart->second)),
                Does::links,
                {}};
    return {QObject::tr("Step 2 of 3: link them. Drag from a node's rim, or Ctrl+A, then L"),
            QObject::tr("Link all"),
            Does::links,
            {}};
}

NextStep last_step(const Experiment& experiment) {
    const auto& t = experiment.topology;
    const bool is_alone = t.regions.size() == 1 && t.hop_matrix_s.empty();
    return {is_alone ? QObject::tr("One region is enough for a plan: link another, from the ring beside its name, or "
                                   "check the settings and launch")
                     : QObject::tr("Step 3 of 3: check the stages and the skip ratio, then launch"),
            QObject::tr("Launch"),
            NextStep::Does::launches,
            {}};
}

FirstSteps::FirstSteps(QWidget& canvas)
    : QWidget(&canvas),
      canvas_(canvas),
      next_words_(new QLabel),
      next_button_(new QPushButton(tr("Add a node"))),
      settings_(new QPushButton(tr("Settings"))),
      close_(new QToolButton),
      broken_heading_(words_label({}, "heading")),
      broken_words_(words_label({}, "secondary")),
      steps_(make_steps()),
      next_(make_next()),
      broken_(make_broken()) {
    setObjectName("first_steps");
    auto* column = seamless_column(this);
    column->addWidget(steps_);
    column->addWidget(next_);
    column->addWidget(broken_);
    canvas.installEventFilter(this);
}

QWidget* FirstSteps::make_steps() const {
    struct Step {
        QString button, words;
        void (FirstSteps::*wanted)();
    };
    const Step steps[] = {
        {tr("Add a region of three"), tr("nodes; or N for a node, R for an empty region, or drag hardware in"),
         &FirstSteps::region_wanted},
        {tr("Link two regions"), tr("adds those that are missing; or drag from the ring beside a region's name"),
         &FirstSteps::linked_regions_wanted},
        {tr("Check the settings"), tr("stages and skip ratio, at the right; the plan below follows, then Launch"),
         &FirstSteps::settings_wanted}};
    auto* all = new QWidget;
    auto* rows = new QGridLayout(all);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setHorizontalSpacing(size::gap);
    rows->setVerticalSpacing(size::gap);
    rows->addWidget(words_label(tr("Three steps to a first plan"), "heading"), 0, 0, 1, 3);
    int row = 1;
    for (const auto& step : steps) {
        auto* number = new QLabel(QString::number(row));
        number->setProperty("role", "secondary");
        auto* button = new QPushButton(step.button);
        button->setObjectName(QStringLiteral("first_step_%1").arg(row));
        button->setToolTip(step.words);
        if (row == 1) button->setProperty("role", "accent");
        connect(button, &QPushButton::clicked, this, step.wanted);
        rows->addWidget(number, row, 0);
        rows->addWidget(button, row, 1);
        rows->addWidget(words_label(step.words, "secondary"), row++, 2);
    }
    rows->addWidget(words_label(tr("Or begin with Quick start, at the left, and change it"), "secondary"), row, 0, 1,
                    3);
    rows->setColumnStretch(2, 1);
    return all;
}

QWidget* FirstSteps::make_next() {
    auto* all = new QWidget;
    all->setProperty("role", "surface");  // nodes may stand below it
    all->setAttribute(Qt::WA_StyledBackground);
    auto* row = new QHBoxLayout(all);
    row->setContentsMargins(size::unit, size::unit, size::unit, size::unit);
    next_words_->setProperty("role", "secondary");
    next_words_->setWordWrap(true);
    next_button_->setObjectName("next_step");
    next_button_->setProperty("role", "accent");
    row->addWidget(next_words_, 1);
    close_->setObjectName("no_steps");
    close_->setText(QStringLiteral("×"));
    close_->setToolTip(tr("No more steps for this experiment"));
    close_->setAccessibleName(tr("No more steps"));
    connect(close_, &QToolButton::clicked, this, &FirstSteps::ended);
    settings_->setObjectName("show_settings");
    settings_->setToolTip(tr("Shows the stages and the skip ratio at the right, whatever is selected"));
    connect(settings_, &QPushButton::clicked, this, &FirstSteps::settings_wanted);
    row->addWidget(settings_);
    row->addWidget(next_button_);
    row->addWidget(close_);
    connect(next_button_, &QPushButton::clicked, this, &FirstSteps::do_next);
    return all;
}

QWidget* FirstSteps::make_broken() {
    auto* all = new QWidget;
    auto* column = new QVBoxLayout(all);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(size::gap);
    broken_words_->setObjectName("broken_file");
    auto* again = new QPushButton(tr("Open again"));
    again->setObjectName("open_again");
    again->setProperty("role", "accent");
    connect(again, &QPushButton::clicked, this, &FirstSteps::open_again_wanted);
    column->addWidget(broken_heading_);
    column->addWidget(broken_words_);
    column->addWidget(again, 0, Qt::AlignLeft);
    return all;
}

/// The first error of the file, by the place in its text where it has one.
void FirstSteps::show_broken(const Document& document) {
    const auto& faults = document.faults();
    const auto first = std::find_if(faults.begin(), faults.end(),
                                    [](const Fault& fault) { return fault.severity == Fault::Severity::error; });
    broken_heading_->setText(
        tr("Nothing of %1 can be drawn yet").arg(QString::fromStdString(document.file().filename().string())));
    if (first == faults.end()) return broken_words_->clear();
    const QString what = without_keys(QString::fromStdString(first->what));
    // Of a text that is no JSON, where it stands says more than of what it is.
    const QString place = what.startsWith(QStringLiteral("line ")) ? QString{} : place_words(first->pointer);
    QStringList lines{!place.isEmpty() && what.startsWith(place) ? what
                      : place.isEmpty() || what.contains(place)  ? capitalised(what)
                                                                 : tr("%1: %2").arg(place, what)};
    if (!first->remedy.empty()) lines << capitalised(without_keys(QString::fromStdString(first->remedy)));
    lines << tr("Or draw another network here: the file stays as it is until you save");
    broken_words_->setText(lines.join('\n'));
}

void FirstSteps::do_next() {
    const NextStep next = now_;  // another, once this one is done
    switch (next.does) {
        case NextStep::Does::adds_node: return Q_EMIT node_wanted();
        case NextStep::Does::fills_region: return Q_EMIT nodes_wanted(next.region);
        case NextStep::Does::links: return Q_EMIT links_wanted();
        case NextStep::Does::launches: return Q_EMIT launch_wanted();
    }
}

void FirstSteps::begin(const Document& document) {
    const auto& t = document.experiment().topology;
    has_steps_ = document.file().empty() && t.nodes.empty() && t.regions.empty();
    follow(document);
}

void FirstSteps::set_can_launch(bool can, const Document& document) {
    if (std::exchange(can_launch_, can) != can) follow(document);
}

void FirstSteps::end() {
    has_steps_ = false;
    next_->hide();
    now_ = {};
    if (steps_->isHidden() && broken_->isHidden()) hide();
}

int FirstSteps::taken_below() const {
    return isHidden() || next_->isHidden() ? 0 : std::max(0, canvas_.height() - geometry().top());
}

void FirstSteps::follow(const Document& document) {
    const auto& t = document.experiment().topology;
    const bool is_empty = t.nodes.empty() && t.regions.empty(), is_broken = is_empty && document.file_has_faults();
    now_ = has_steps_ ? next_step(document.experiment()) : NextStep{};
    // What cannot be launched has its reason elsewhere, with what mends it.
    if (has_steps_ && !is_empty && now_.words.isEmpty() && can_launch_ && !has_errors(document.faults()))
        now_ = last_step(document.experiment());
    steps_->setVisible(is_empty && !is_broken);
    broken_->setVisible(is_broken);
    if (is_broken) show_broken(document);
    const bool has_next = !now_.words.isEmpty();
    next_->setVisible(has_next);
    if (has_next) {
        next_words_->setText(now_.words);
        next_button_->setText(now_.button);
        settings_->setVisible(now_.does == NextStep::Does::launches);
    }
    setVisible(is_empty || has_next);
    place();
}

bool FirstSteps::event(QEvent* event) {
    const bool done = QWidget::event(event);
    // A canvas that scrolls takes what lies on it along.
    if (event->type() == QEvent::LayoutRequest || event->type() == QEvent::Move) place();
    return done;
}

bool FirstSteps::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() == QEvent::Resize || event->type() == QEvent::StyleChange) place();
    return QWidget::eventFilter(watched, event);
}

/// In the middle of what is empty; else at the lower edge, out of the way.
void FirstSteps::place() {
    if (isHidden()) return;
    layout()->activate();
    const int line = QFontMetrics(next_words_->font()).horizontalAdvance(next_words_->text()) +
                     next_button_->sizeHint().width() + close_->sizeHint().width() + 4 * size::gap +
                     (settings_->isVisibleTo(this) ? settings_->sizeHint().width() + size::gap : 0);
    const bool is_next = next_->isVisibleTo(this);
    const int wide = std::min(is_next ? line : most_wide, canvas_.width() - 2 * size::gap);
    const int high = layout()->hasHeightForWidth() ? layout()->heightForWidth(wide) : sizeHint().height();
    QRect box(0, 0, wide, std::min(high, canvas_.height() - 2 * size::gap));
    box.moveCenter(canvas_.rect().center());
    if (is_next) box.moveBottom(canvas_.height() - size::gap);
    setGeometry(box);
}

}  // namespace skippipe
