// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/problem_list.h"

#include <algorithm>

#include <QPainter>

#include "views/theme/theme.h"
#include "views/theme/words.h"

namespace skippipe {
namespace {

/// "Stages: " of "/pipeline/stages".
QString subject_words(const std::string& pointer) {
    const QString words = place_words(pointer);
    return words.isEmpty() ? words : words + ": ";
}

constexpr std::size_t most_unused_apart = 3;

/// Nodes that hold a stage and get no microbatch: no fault, but seldom meant. Many are told in one.
Faults unused_nodes(const PlanOutcome& plan) {
    std::string names;
    std::vector<int> visits(plan.problem.node_ids.size());
    for (const auto& path : plan.plan.paths)
        for (const int node : path.nodes) ++visits[static_cast<std::size_t>(node)];
    Faults notes;
    for (std::size_t stage = 0; stage < plan.plan.stages.size(); ++stage)
        for (const int node : plan.plan.stages[stage]) {
            if (visits[static_cast<std::size_t>(node)] > 0) continue;
            const std::string& name = plan.problem.node_ids[static_cast<std::size_t>(node)];
            Fault note;
            note.severity = Fault::Severity::warning;
            note.pointer = "/topology/nodes/" + std::to_string(node);
            note.what = name + " executes nothing";
            note.why = "the plan sends no microbatch through it, and stage " + std::to_string(stage) +
                       " all-reduces over it all the same";
            note.remedy = "Faster links to it, more microbatches, or a smaller stage would change that";
            notes.push_back(note);
            names += (names.empty() ? "" : ", ") + name;
        }
    if (notes.size() <= most_unused_apart) return notes;
    Fault all = notes.front();
    all.pointer = "/topology/nodes";
    all.what = std::to_string(notes.size()) + " nodes execute nothing: " + names;
    all.why = "the plan sends no microbatch through them, and their stages all-reduce over them all the same";
    all.remedy = "Faster links to them, more microbatches, or smaller stages would change that";
    return {all};
}

}  // namespace

ProblemList::ProblemList(const Document& document, const PlanService& plans, QWidget* parent)
    : QListWidget(parent), document_(document), plans_(plans) {
    setObjectName("problems");
    setAccessibleName(tr("Problems"));
    setWordWrap(true);
    setSpacing(2);
    const auto choose = [this](QListWidgetItem* item) {
        const QString pointer = item->data(Qt::UserRole).toString();
        Q_EMIT chosen(subject_of(pointer.toStdString(), document_.experiment()), pointer);
    };
    connect(this, &QListWidget::itemActivated, this, choose);
    connect(this, &QListWidget::itemClicked, this, choose);
}

Faults ProblemList::faults() const {
    Faults faults = document_.refusals();
    faults.insert(faults.end(), document_.faults().begin(), document_.faults().end());
    const auto outcome = plans_.outcome();
    if (outcome && !outcome->has_plan && !plans_.is_busy())
        for (const auto& fault : outcome->faults)
            if (std::find(faults.begin(), faults.end(), fault) == faults.end()) faults.push_back(fault);
    if (outcome && outcome->has_plan && !plans_.is_outdated()) {
        const auto unused = unused_nodes(*outcome);
        faults.insert(faults.end(), unused.begin(), unused.end());
    }
    return faults;
}

void ProblemList::paintEvent(QPaintEvent* event) {
    QListWidget::paintEvent(event);
    if (count() > 0) return;
    QPainter painter(viewport());
    painter.setPen(theme().text_2);
    painter.drawText(viewport()->rect().adjusted(size::gap, size::gap, -size::gap, -size::gap),
                     Qt::AlignTop | Qt::AlignLeft, tr("No problems"));
}

void ProblemList::show_faults(const Faults& faults) {
    clear();
    for (const auto& fault : faults) {
        const bool error = fault.severity == Fault::Severity::error;
        const QString subject = subject_words(fault.pointer);
        QString text = subject + QString::fromStdString(fault.what);
        if (!fault.why.empty()) text += "; " + QString::fromStdString(fault.why);
        if (!fault.remedy.empty()) text += ". " + QString::fromStdString(fault.remedy);
        auto* item = new QListWidgetItem(text, this);
        item->setForeground(error ? theme().bad : theme().warning);
        item->setToolTip(subject.isEmpty() ? (error ? tr("Error") : tr("Warning"))
                                           : (error ? tr("Error in %1") : tr("Warning of %1")).arg(subject.chopped(2)));
        item->setData(Qt::UserRole, QString::fromStdString(fault.pointer));
    }
}

}  // namespace skippipe
