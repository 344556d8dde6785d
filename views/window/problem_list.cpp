// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/problem_list.h"

#include <algorithm>
#include <cstdlib>
#include <limits>

#include <QEvent>
#include <QPainter>
#include <QResizeEvent>
#include <QStyledItemDelegate>

#include "views/theme/theme.h"
#include "views/theme/words.h"

namespace skippipe {
namespace {

/// "Stages" of "/pipeline/stages"; nodes by their names, but for those of a broken file, where numbers are the file's.
QString subject_words(const std::string& pointer, const Document& document) {
    const auto parts = QString::fromStdString(pointer).split('/');
    bool is_number = false;
    const auto& nodes = document.experiment().topology.nodes;
    if (document.file_has_faults() || parts.size() < 4 || parts[1] != "topology" || parts[2] != "nodes")
        return place_words(pointer);
    const qulonglong node = parts[3].toULongLong(&is_number);
    if (!is_number || node >= nodes.size() || nodes[node].id.find('/') != std::string::npos)
        return place_words(pointer);
    auto named = parts;
    named[3] = QString::fromStdString(nodes[node].id);
    return place_words(named.join('/').toStdString());
}

constexpr int below_role = Qt::UserRole + 1;

/// What is wrong, and below it, paler, what to do and why; as many lines as either needs.
class FaultDelegate final : public QStyledItemDelegate {
public:
    explicit FaultDelegate(QListView& view) : QStyledItemDelegate(&view), view_(view) {}

    QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex& index) const override {
        const int width = view_.viewport()->width();
        const QRect room(side, 0, width - 2 * side, std::numeric_limits<short>::max());
        const int head = heights(view_.fontMetrics(), room, index.data().toString());
        return {width, 2 * size::unit + head + heights(QFontMetrics(small_font()), room, below(index)) + foot(index)};
    }

    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        view_.style()->drawPrimitive(QStyle::PE_PanelItemViewItem, &option, painter, &view_);
        QRect room = option.rect.adjusted(side, size::unit, -side, -size::unit);
        painter->save();
        painter->setPen(index.data(Qt::ForegroundRole).value<QBrush>().color());
        QRect used;
        painter->drawText(room, Qt::TextWordWrap, index.data().toString(), &used);
        room.setTop(used.bottom() + 1);
        painter->setPen(theme().text_2);
        painter->setFont(small_font());
        painter->drawText(room, Qt::TextWordWrap, below(index));
        painter->restore();
    }

    /// What has room below the words of the row at hand; null: nothing.
    const QWidget* foot_widget = nullptr;

private:
    int foot(const QModelIndex& index) const {
        const bool has = foot_widget != nullptr && !foot_widget->isHidden() && index == view_.currentIndex();
        return has ? foot_widget->sizeHint().height() : 0;
    }
    static constexpr int side = size::gap;  ///< pixels beside the words
    static QString below(const QModelIndex& index) { return index.data(below_role).toString(); }
    static int heights(const QFontMetrics& font, const QRect& room, const QString& words) {
        return words.isEmpty() ? 0 : font.boundingRect(room, Qt::TextWordWrap, words).height();
    }
    QListView& view_;
};

constexpr std::size_t most_unused_apart = 3, most_unused_named = 5;

/// "a, b, c, d, e and 102 more"
std::string some_of(const std::vector<std::string>& names) {
    std::string words;
    for (std::size_t i = 0; i < std::min(names.size(), most_unused_named); ++i)
        words += (i == 0 ? "" : ", ") + names[i];
    if (names.size() <= most_unused_named) return words;
    return words + " and " + std::to_string(names.size() - most_unused_named) + " more";
}

constexpr const char* before_stage = "the plan sends no microbatch through it, and stage ";

/// A node that executes nothing: one of a stage, or one that no stage has.
Fault unused_node(int node, const std::string& name, std::optional<std::size_t> stage) {
    Fault note;
    note.severity = Fault::Severity::warning;
    note.pointer = "/topology/nodes/" + std::to_string(node);
    note.what = name + " executes nothing";
    note.why = stage ? before_stage + std::to_string(*stage) + " all-reduces over it all the same"
                     : "the plan that was found leaves it out";
    note.remedy = stage ? "Faster links to it, more microbatches, or a smaller stage would change that"
                        : "Faster links to it, or more microbatches, would change that";
    return note;
}

}  // namespace

Faults unused_nodes(const PlanOutcome& plan) {
    std::vector<std::string> names;
    std::vector<int> visits(plan.problem.node_ids.size());
    for (const auto& path : plan.plan.paths)
        for (const int node : path.nodes) ++visits[static_cast<std::size_t>(node)];
    std::vector<std::optional<std::size_t>> serves(visits.size());
    for (std::size_t stage = 0; stage < plan.plan.stages.size(); ++stage)
        for (const int node : plan.plan.stages[stage]) serves[static_cast<std::size_t>(node)] = stage;
    Faults notes;
    bool any_serves = false;
    for (std::size_t node = 0; node < visits.size(); ++node) {
        if (visits[node] > 0) continue;
        const std::string& name = plan.problem.node_ids[node];
        notes.push_back(unused_node(static_cast<int>(node), name, serves[node]));
        names.push_back(name);
        any_serves = any_serves || serves[node];
    }
    if (notes.size() <= most_unused_apart) return notes;
    Fault all = notes.front();
    all.pointer = "/topology/nodes";
    all.what = std::to_string(notes.size()) + " nodes execute nothing: " + some_of(names);
    all.why = any_serves
                  ? "the plan sends no microbatch through them, and their stages all-reduce over them all the same"
                  : "the plan that was found leaves them out";
    all.remedy = "Faster links to them, more microbatches, or smaller stages would change that";
    return {all};
}

std::optional<int> idle_stage(const Fault& fault) {
    const std::string before = before_stage;
    if (fault.severity != Fault::Severity::warning || !fault.why.starts_with(before)) return std::nullopt;
    return std::atoi(fault.why.c_str() + before.size());
}

QString fault_place(const Fault& fault, const Document& document) { return subject_words(fault.pointer, document); }

QString fault_words(const Fault& fault, const Document& document) {
    const QString subject = fault_place(fault, document), what = without_keys(QString::fromStdString(fault.what));
    if (!subject.isEmpty() && what.startsWith(subject)) return what;  // a name stays as it is written
    if (subject.isEmpty() || what.contains(subject)) return capitalised(what);
    return QObject::tr("%1: %2").arg(subject, what);
}

ProblemList::ProblemList(const Document& document, const PlanService& plans, QWidget* parent)
    : QListWidget(parent), document_(document), plans_(plans) {
    setObjectName("problems");
    setAccessibleName(tr("Problems"));
    setItemDelegate(new FaultDelegate(*this));
    setResizeMode(QListView::Adjust);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    const auto choose = [this](QListWidgetItem* item) {
        const QString pointer = item->data(Qt::UserRole).toString();
        Q_EMIT chosen(subject_of(pointer.toStdString(), document_.experiment()), pointer);
    };
    connect(this, &QListWidget::itemActivated, this, choose);
    connect(this, &QListWidget::itemClicked, this, choose);
}

void ProblemList::set_foot(QWidget* foot) {
    foot_ = foot;
    static_cast<FaultDelegate*>(itemDelegate())->foot_widget = foot;
    foot->setParent(viewport());
    foot->installEventFilter(this);
    connect(this, &QListWidget::currentRowChanged, this, &ProblemList::make_room);
    make_room();
}

/// Its height may be another.
void ProblemList::make_room() {
    scheduleDelayedItemsLayout();
    place_foot();
}

void ProblemList::place_foot() {
    if (foot_ == nullptr) return;
    const QRect row = currentItem() == nullptr ? QRect{} : visualItemRect(currentItem());
    const int high = foot_->sizeHint().height();
    foot_->setGeometry(row.isValid() ? QRect(row.left(), row.bottom() + 1 - high, row.width(), high)
                                     : QRect(0, -high, viewport()->width(), high));
}

/// As the rows are laid out and scrolled.
void ProblemList::updateGeometries() {
    QListWidget::updateGeometries();
    place_foot();
}

void ProblemList::resizeEvent(QResizeEvent* event) {
    QListWidget::resizeEvent(event);
    make_room();
}

bool ProblemList::eventFilter(QObject* watched, QEvent* event) {
    const auto type = event->type();
    if (watched == foot_ &&
        (type == QEvent::LayoutRequest || type == QEvent::ShowToParent || type == QEvent::HideToParent))
        make_room();
    return QListWidget::eventFilter(watched, event);
}

Faults ProblemList::faults() const {
    Faults faults = document_.refusals();
    faults.insert(faults.end(), document_.faults().begin(), document_.faults().end());
    const auto outcome = plans_.outcome();
    if (outcome && !outcome->has_plan && !plans_.is_busy())
        for (const auto& fault : outcome->faults) {
            if (std::find(faults.begin(), faults.end(), fault) != faults.end()) continue;
            // That groups are not joined was a warning before there was no plan for it: it is told once.
            if (fault.pointer == "/topology/links" && fault.severity == Fault::Severity::error)
                std::erase_if(faults, [](const Fault& known) {
                    return known.pointer == "/topology/links" && known.severity == Fault::Severity::warning &&
                           known.what.find("groups with no link") != std::string::npos;
                });
            faults.push_back(fault);
        }
    if (outcome && outcome->has_plan && !plans_.is_outdated()) {
        const auto unused = unused_nodes(*outcome);
        faults.insert(faults.end(), unused.begin(), unused.end());
    }
    std::stable_partition(faults.begin(), faults.end(),
                          [](const Fault& fault) { return fault.severity == Fault::Severity::error; });
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
        const QString subject = fault_place(fault, document_);
        QStringList below;
        for (const auto& words : {fault.remedy, fault.why})
            if (!words.empty()) below << capitalised(without_keys(QString::fromStdString(words)));
        auto* item = new QListWidgetItem(fault_words(fault, document_), this);
        item->setData(below_role, below.join(QStringLiteral(". ")));
        item->setData(Qt::AccessibleTextRole, (QStringList{item->text()} + below).join(QStringLiteral(". ")));
        item->setForeground(error ? theme().bad : theme().warning);
        item->setToolTip(subject.isEmpty() ? (error ? tr("Error") : tr("Warning"))
                                           : (error ? tr("Error in %1") : tr("Warning of %1")).arg(subject));
        item->setData(Qt::UserRole, QString::fromStdString(fault.pointer));
    }
}

}  // namespace skippipe
