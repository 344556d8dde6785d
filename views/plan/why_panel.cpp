// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/plan/why_panel.h"

#include <algorithm>

#include <QEvent>
#include <QHeaderView>
#include <QResizeEvent>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include "core/experiment/describe.h"
#include "views/document/document.h"
#include "views/document/selection_model.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {

constexpr int least_beside = 600;  ///< pixels across, for two columns

/// Rows that touch neither the next nor the one before, however many lines they have.
class RoomyRows final : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        return QStyledItemDelegate::sizeHint(option, index) + QSize(0, size::gap);
    }
};

QString words_of(const std::string& text) { return QString::fromStdString(text); }

QTableWidget* rows_table(const QString& name, const QStringList& headers) {
    auto* table = new QTableWidget(0, static_cast<int>(headers.size()));
    make_plain(*table, name);
    table->setHorizontalHeaderLabels(headers);
    table->setSelectionBehavior(QAbstractItemView::SelectRows);
    table->setSelectionMode(QAbstractItemView::SingleSelection);
    wrap_rows(*table);
    table->setItemDelegate(new RoomyRows(table));
    table->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    table->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);
    table->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
    for (int c = 1; c < table->columnCount(); ++c)
        table->horizontalHeaderItem(c)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    return table;
}

QTableWidgetItem* put(QTableWidget& table, int row, int column, const QString& text) {
    auto* item = new QTableWidgetItem(text);
    item->setToolTip(text);
    if (column > 0) item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    table.setItem(row, column, item);
    return item;
}

QString operation_words(OpKind kind) {
    switch (kind) {
        case OpKind::F: return QObject::tr("Forward");
        case OpKind::L: return QObject::tr("Loss");
        case OpKind::B: return QObject::tr("Backward");
        case OpKind::I: return QObject::tr("Input gradient");
        case OpKind::W: return QObject::tr("Weight gradient");
    }
    return {};
}

QString sentence(const Wait& wait, const Problem& problem) {
    const auto count = wait.others.size();
    const QString others = (count == 0   ? QStringLiteral("%1")
                            : count == 1 ? QObject::tr("microbatch %1")
                                         : QObject::tr("microbatches %1"))
                               .arg(words_of(wait.ahead(problem)));
    const QString operation = operation_words(wait.operation);
    const QString node = wait.node < 0 ? QString{} : words_of(problem.node_ids[static_cast<std::size_t>(wait.node)]);
    switch (wait.cause) {
        case WaitCause::link:
            return QObject::tr("%1: the link is sending for %2")
                .arg(words_of(problem.line_names[static_cast<std::size_t>(wait.line)]).replace("->", " → "), others);
        case WaitCause::memory:
            return QObject::tr("%1 on %2: no memory free until %3 left").arg(operation, node, others);
        case WaitCause::collision:
            return QObject::tr("%1 on %2: the node is busy with %3").arg(operation, node, others);
        case WaitCause::order: return QObject::tr("%1 on %2: its turn is after %3").arg(operation, node, others);
    }
    return {};
}

}  // namespace

WhyPanel::WhyPanel(Document& document, SelectionModel& selection, PlanService& plans, QWidget* parent)
    : QWidget(parent),
      document_(document),
      selection_(selection),
      plans_(plans),
      summary_(new QLabel),
      microbatch_title_(new QLabel),
      columns_(new QSplitter(Qt::Horizontal)),
      what_ifs_(rows_table(tr("What one unit more would give"), {tr("If"), tr("Iteration")})),
      microbatch_(rows_table(tr("What the microbatch pays and waits for"), {tr("Where its time goes"), tr("Time")})),
      note_(new EmptyNote) {
    setProperty("role", "surface");
    setAttribute(Qt::WA_StyledBackground);
    auto* column = seamless_column(this);
    summary_->setObjectName("why_summary");
    summary_->setTextFormat(Qt::RichText);
    summary_->setWordWrap(true);
    summary_->setMinimumHeight(size::row);
    summary_->setContentsMargins(size::wide_gap, size::unit, size::wide_gap, size::unit);
    column->addWidget(summary_);
    auto* right = new QWidget;
    auto* rows = seamless_column(right);
    microbatch_title_->setProperty("role", "secondary");
    microbatch_title_->setContentsMargins(size::gap, size::unit, size::gap, size::unit);
    microbatch_title_->setWordWrap(true);
    rows->addWidget(microbatch_title_);
    rows->addWidget(microbatch_, 1);
    columns_->setObjectName("why_columns");
    columns_->addWidget(what_ifs_);
    columns_->addWidget(right);
    columns_->setSizes({400, 400});
    columns_->setChildrenCollapsible(false);
    column->addWidget(columns_, 1);
    column->addWidget(note_, 1);
    what_ifs_->horizontalHeaderItem(0)->setToolTip(tr("One thing faster, every microbatch on the path it has"));
    microbatch_->horizontalHeaderItem(0)->setToolTip(tr("Where the microbatch spends its time"));
    what_ifs_->setObjectName("what_ifs");
    microbatch_->setObjectName("microbatch_waits");

    connect(&plans, &PlanService::explained, this, &WhyPanel::show_explanation);
    connect(&plans, &PlanService::busy_changed, this, &WhyPanel::show_explanation);
    connect(&selection, &SelectionModel::changed, this, &WhyPanel::show_microbatch);
    connect(&selection, &SelectionModel::changed, this, &WhyPanel::ask_of_node);
    connect(&gains_, &NodeGains::answered, this, &WhyPanel::show_gains);
    connect(what_ifs_, &QTableWidget::cellClicked, this, [this](int row) { choose_what_if(row); });
    connect(what_ifs_, &QTableWidget::cellActivated, this, [this](int row) { choose_what_if(row); });
    connect(microbatch_, &QTableWidget::cellClicked, this, [this](int row) { choose_wait(row); });
    connect(microbatch_, &QTableWidget::cellActivated, this, [this](int row) { choose_wait(row); });
    show_explanation();
}

void WhyPanel::show_nothing(const QString& why) {
    outcome_ = nullptr;
    explanation_ = nullptr;
    note_->show_words(why);
    show_note(true);
    gain_rows_.clear();
    what_ifs_->setRowCount(0);
    ask_of_node();
    show_microbatch();
}

void WhyPanel::show_note(bool on) {
    note_->setVisible(on);
    for (auto* part : {static_cast<QWidget*>(summary_), static_cast<QWidget*>(columns_)}) part->setVisible(!on);
}

void WhyPanel::show_explanation() {
    const auto outcome = plans_.outcome();
    const auto why = plans_.explanation();
    if (!outcome || !why) {
        const bool stuck = outcome && outcome->has_plan && !outcome->timeline.complete;
        show_nothing(plans_.is_busy() ? tr("Explained once the search has ended")
                     : stuck ? tr("The plan cannot be executed to its end, so that there is no time to explain")
                             : tr("Why an iteration takes its time appears here once there is a plan"));
        return;
    }
    show_note(false);
    const bool old = plans_.is_outdated();
    setEnabled(!old);
    if (explanation_ == why && outcome_ == outcome) return;
    outcome_ = outcome;
    explanation_ = why;
    ask_of_node();
    show_why(*why);
    show_microbatch();
}

void WhyPanel::show_why(const Explanation& why) {
    const auto share = [&](double seconds) {
        return unbroken(whole_percent(why.iteration_s > 0 ? seconds / why.iteration_s : 0)).toHtmlEscaped();
    };
    const auto figure = [](const QString& name, const QString& value) {
        return QStringLiteral("<span style='color:%1'>%2</span>&nbsp;%3")
            .arg(theme().text_2.name(), unbroken(name), value);
    };
    QStringList parts;
    if (!why.nodes.empty()) {
        const QString node =
            words_of(outcome_->problem.node_ids[static_cast<std::size_t>(why.nodes.front().node)]).toHtmlEscaped();
        parts << figure(tr("Critical node"),
                        QStringLiteral("<b>%1</b>&nbsp;%2").arg(node, share(why.nodes.front().seconds)));
    }
    if (!why.links.empty())
        parts << figure(tr("Critical link"), QStringLiteral("<b>%1</b>&nbsp;%2")
                                                 .arg(unbroken(words_of(why.links.front().name)).toHtmlEscaped(),
                                                      share(why.links.front().seconds())));
    const std::pair<QString, double> chain[] = {{tr("Compute"), why.compute_s()},
                                                {tr("Links"), why.links_s()},
                                                {tr("All\u2011reduce"), why.all_reduce_s},
                                                {tr("Step"), why.step_s}};
    for (const auto& [name, seconds] : chain)
        if (seconds > 0) parts << figure(name, share(seconds));
    // The plan's own line holds it against another one: of any placement.
    if (why.placed.seconds > 0)
        parts << figure(
            tr("Bound, these stages").replace(' ', "&nbsp;"),  // whole on its line
            unbroken(tr("%1, %2 above").arg(duration(why.placed.seconds), at_most_percent(why.placed_gap()))));
    // Lines break behind the spaces, so that the next begins where the first does.
    if (!parts.isEmpty()) parts.front().prepend(tr("Of the critical path:") + QStringLiteral("&nbsp;&nbsp; "));
    summary_->setText(parts.join("&nbsp;&nbsp; "));
    summary_->setToolTip(
        tr("Shares of the critical path: what the end of the iteration waited for, back to its start.\n"
           "Bound, these stages: %1. What any other placement could reach is in the tip of the plan's figures.")
            .arg(words_of(why.placed_words(outcome_->problem))));
    show_gains();
}

void WhyPanel::ask_of_node() {
    const auto& nodes = selection_.now().nodes;
    const bool is_asked = isVisible() && explanation_ && nodes.size() == 1;  // who looks elsewhere asks nothing
    is_asked ? gains_.ask(outcome_, *nodes.begin()) : gains_.ask(nullptr, {});
}

void WhyPanel::show_gains() {
    if (!explanation_) return;
    const auto* now = what_ifs_->currentItem();
    const QString before = now != nullptr ? what_ifs_->item(now->row(), 0)->text() : QString{};
    gain_rows_ = gain_rows(*explanation_, *outcome_, gains_.answers());
    what_ifs_->clearSpans();
    what_ifs_->setRowCount(static_cast<int>(gain_rows_.size()));
    int current = -1;
    for (int row = 0; row < what_ifs_->rowCount(); ++row) {
        const GainRow& gain = gain_rows_[static_cast<std::size_t>(row)];
        auto* words = put(*what_ifs_, row, 0, gain.words);
        words->setToolTip(gain.tip);
        if (gain.is_title) {
            words->setFont(bold_font());
            words->setFlags(Qt::ItemIsEnabled);
            what_ifs_->setSpan(row, 0, 1, what_ifs_->columnCount());
            continue;
        }
        if (gain.is_selected) words->setFont(bold_font());
        if (!gain.is_selected && !gain.helps && !gain.harms) words->setForeground(theme().text_2);
        put(*what_ifs_, row, 1, gain.change)
            ->setForeground(gain.harms   ? theme().bad
                            : gain.helps ? theme().good
                                         : theme().text_2);
        if (gain.words == before) current = row;
    }
    what_ifs_->setCurrentItem(current < 0 ? nullptr : what_ifs_->item(current, 0));
    what_ifs_->clearSelection();
}

void WhyPanel::show_microbatch() {
    microbatch_subjects_.clear();
    const auto& chosen = selection_.now().microbatch;
    const MicrobatchCosts* costs = nullptr;
    if (explanation_ && !explanation_->microbatches.empty()) {
        const auto& all = explanation_->microbatches;
        const auto waits_less = [](const auto& a, const auto& b) { return a.waiting_s() < b.waiting_s(); };
        const auto found =
            chosen ? std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.microbatch == *chosen; })
                   : std::max_element(all.begin(), all.end(), waits_less);
        if (found != all.end()) costs = &*found;
    }
    if (!costs) {
        microbatch_title_->setText({});
        microbatch_->setRowCount(0);
        return;
    }
    microbatch_title_->setText((chosen ? tr("<b>Microbatch %1</b><br>%2: %3 by itself, %4 waiting")
                                       : tr("<b>Microbatch %1 waits the longest</b><br>%2: %3 by itself, %4 waiting"))
                                   .arg(costs->microbatch)
                                   .arg(unbroken(duration(costs->end_s)), unbroken(duration(costs->alone_s())),
                                        unbroken(duration(costs->waiting_s()))));
    microbatch_->setRowCount(0);
    const auto add = [&](const QString& what, const QString& tip, double seconds, int node, std::vector<int> lines) {
        if (!(seconds > 0)) return;
        const int row = microbatch_->rowCount();
        microbatch_->insertRow(row);
        put(*microbatch_, row, 0, what)->setToolTip(tip);
        put(*microbatch_, row, 1, duration(seconds));
        microbatch_subjects_.emplace_back(node, std::move(lines));
    };
    const QString alone = tr("As if it were alone");
    add(tr("Computes on its path"), alone, costs->compute_s, -1, {});
    add(tr("Computes its loss"), alone, costs->loss_s, -1, {});
    add(tr("Latency of its links"), alone, costs->latency_s, -1, {});
    add(tr("Sending its bytes"), alone, costs->transfer_s, -1, {});
    for (const auto& wait : costs->waits) {
        const QString words = sentence(wait, outcome_->problem);
        add(words, tr("%1\nfrom %2 to %3").arg(words, duration(wait.start_s), duration(wait.end_s)), wait.seconds(),
            wait.node, wait.line == no_line ? std::vector<int>{} : std::vector{wait.line});
    }
}

void WhyPanel::choose_what_if(int row) {
    if (row < 0 || row >= static_cast<int>(gain_rows_.size())) return;
    if (const auto upgrade = gain_rows_[static_cast<std::size_t>(row)].upgrade) select(upgrade->node, upgrade->lines);
}

void WhyPanel::choose_wait(int row) {
    if (!explanation_ || row < 0 || row >= static_cast<int>(microbatch_subjects_.size())) return;
    const auto [node, lines] = microbatch_subjects_[static_cast<std::size_t>(row)];
    if (node >= 0 || !lines.empty()) select(node, lines);
}

/// The node, or the link drawn for these lines; where none is drawn (within a region) the nodes at its ends. The
/// microbatch stays selected.
void WhyPanel::select(int node, const std::vector<int>& lines) {
    const Problem& problem = outcome_->problem;
    Selection selection;
    selection.microbatch = selection_.now().microbatch;
    if (lines.empty() && node >= 0) selection.nodes.insert(problem.node_ids[static_cast<std::size_t>(node)]);
    for (const int line : lines) {
        const std::string& name = problem.line_names[static_cast<std::size_t>(line)];
        for (const auto& link : document_.experiment().topology.links)
            if (link.from + "->" + link.to == name || link.to + "->" + link.from == name)
                selection.links.insert({link.from, link.to});
        if (!selection.links.empty()) continue;
        for (NodeIndex a = 0; a < problem.nodes(); ++a)
            for (NodeIndex b = 0; b < problem.nodes(); ++b)
                if (a != b && problem.hop(a, b).line == line)
                    selection.nodes.insert({problem.node_ids[a], problem.node_ids[b]});
    }
    selection_.select(selection);
    Q_EMIT chosen();
}

/// Side by side where both columns can be read, else one below the other.
void WhyPanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    columns_->setOrientation(width() < least_beside ? Qt::Vertical : Qt::Horizontal);
}

void WhyPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    ask_of_node();
}

void WhyPanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::StyleChange && explanation_) {  // its words carry colours
        show_why(*explanation_);
        show_microbatch();
    }
}

}  // namespace skippipe
