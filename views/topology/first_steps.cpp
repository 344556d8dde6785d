// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/first_steps.h"

#include <algorithm>
#include <set>

#include <QEvent>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QVBoxLayout>

#include "core/experiment/regions.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"

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

FirstSteps::FirstSteps(QWidget& canvas)
    : QWidget(&canvas),
      canvas_(canvas),
      next_words_(new QLabel),
      next_button_(new QPushButton(tr("Add a node"))),
      steps_(make_steps()),
      next_(make_next()) {
    setObjectName("first_steps");
    auto* column = seamless_column(this);
    column->addWidget(steps_);
    column->addWidget(next_);
    canvas.installEventFilter(this);
}

QWidget* FirstSteps::make_steps() const {
    struct Step {
        QString button, words;
        void (FirstSteps::*wanted)();
    };
    const Step steps[] = {
        {tr("Add a region"), tr("of three nodes; or N for a node, R for a region, or drag hardware in"),
         &FirstSteps::region_wanted},
        {tr("Link two regions"), tr("adds those that are missing; or drag from the ring beside a region's name"),
         &FirstSteps::linked_regions_wanted},
        {tr("Check the stages"), tr("and the skip ratio, at the right; the plan below follows, then Launch"),
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
    row->addWidget(next_button_);
    connect(next_button_, &QPushButton::clicked, this, &FirstSteps::do_next);
    return all;
}

void FirstSteps::do_next() {
    const NextStep next = now_;  // another, once this one is done
    switch (next.does) {
        case NextStep::Does::adds_node: return Q_EMIT node_wanted();
        case NextStep::Does::fills_region: return Q_EMIT nodes_wanted(next.region);
        case NextStep::Does::links: return Q_EMIT links_wanted();
    }
}

void FirstSteps::follow(const Experiment& experiment) {
    const auto& t = experiment.topology;
    const bool is_empty = t.nodes.empty() && t.regions.empty();
    now_ = next_step(experiment);
    steps_->setVisible(is_empty);
    const bool has_next = !now_.words.isEmpty();
    next_->setVisible(has_next);
    if (has_next) {
        next_words_->setText(now_.words);
        next_button_->setText(now_.button);
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
                     next_button_->sizeHint().width() + 3 * size::gap;
    const int wide = std::min(steps_->isVisibleTo(this) ? most_wide : line, canvas_.width() - 2 * size::gap);
    const int high = layout()->hasHeightForWidth() ? layout()->heightForWidth(wide) : sizeHint().height();
    QRect box(0, 0, wide, std::min(high, canvas_.height() - 2 * size::gap));
    box.moveCenter(canvas_.rect().center());
    if (!steps_->isVisibleTo(this)) box.moveBottom(canvas_.height() - size::gap);
    setGeometry(box);
}

}  // namespace skippipe
