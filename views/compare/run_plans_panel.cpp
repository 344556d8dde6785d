// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/run_plans_panel.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include <QEvent>
#include <QHeaderView>
#include <QPainter>
#include <QVBoxLayout>

#include "views/compare/findings.h"
#include "views/runs/run_marks.h"
#include "views/theme/row_hover.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {

constexpr int least_run = 96, names_width = 220, values_width = 160, names_edge = 24, badge_side = 18, head_edge = 11,
              head_high = 32, below_high = 14, with_role = 136;  ///< a chip with "(baseline)" beside it

QString stage_words(int stage) {
    return stage == NodeChange::not_there     ? QObject::tr("not there")
           : stage == NodeChange::in_no_stage ? QObject::tr("in no stage")
                                              : QObject::tr("stage %1").arg(stage);
}

/// A heading and what would be here, in the middle.
QWidget* empty_words(const QString& heading, const QString& words) {
    auto* empty = new QWidget;
    auto* column = new QVBoxLayout(empty);
    column->setContentsMargins(size::wide_gap, 0, size::wide_gap, 0);
    column->setSpacing(size::gap);
    column->addStretch();
    for (auto* label : {words_label(heading, "heading"), words_label(words, "secondary")}) {
        label->setAlignment(Qt::AlignCenter);
        column->addWidget(label);
    }
    column->addStretch();
    return empty;
}

/// As the timeline's lanes and the network's discs say a stage.
QPixmap stage_badge(int stage, double device_pixel_ratio) {
    QPixmap picture(QSize(badge_side, badge_side) * device_pixel_ratio);
    picture.setDevicePixelRatio(device_pixel_ratio);
    picture.fill(theme().stage(stage));
    QPainter painter(&picture);
    painter.setFont(small_font());
    painter.setPen(theme().text_on(theme().stage(stage)));
    painter.drawText(QRect(0, 0, badge_side, badge_side), Qt::AlignCenter, QString::number(stage));
    return picture;
}

/// Runs as timelines name them, so that nobody takes their colours for those of stages.
class RunHeads : public QHeaderView {
public:
    explicit RunHeads(QWidget* parent) : QHeaderView(Qt::Horizontal, parent) {}

    void paintSection(QPainter* painter, const QRect& rect, int section) const override {
        const RunId run = model()->headerData(section, Qt::Horizontal, Qt::UserRole).toLongLong();
        if (run == 0) return QHeaderView::paintSection(painter, rect, section);
        QStyleOptionHeader option;
        initStyleOption(&option);
        option.rect = rect;
        option.section = section;
        painter->save();
        style()->drawControl(QStyle::CE_HeaderSection, &option, painter, this);
        const QPixmap chip = run_chip(run);
        const QSize extent = chip.deviceIndependentSize().toSize();
        const int left = rect.left() + head_edge;
        const QString role = model()->headerData(section, Qt::Horizontal).toString().section('\n', 1);
        const QRect beside = rect.adjusted(left - rect.left() + extent.width() + size::gap, 0, 0, 0);
        const bool is_below = QFontMetrics(small_font()).horizontalAdvance(role) > beside.width();
        const int middle = rect.center().y() - (is_below ? below_high / 2 : 0);
        painter->drawPixmap(left, middle - extent.height() / 2, chip);
        painter->setFont(small_font());
        painter->setPen(theme().text_2);
        const QRect below(left, rect.bottom() - below_high - 2, rect.right() - left, below_high);
        painter->drawText(is_below ? below : beside, Qt::AlignLeft | Qt::AlignVCenter, role);
        painter->restore();
    }
    /// Of many runs the baseline's role has no room beside its name: it stands below.
    QSize sizeHint() const override {
        int narrowest = count() > 1 ? std::numeric_limits<int>::max() : 0;
        for (int section = 1; section < count(); ++section) narrowest = std::min(narrowest, sectionSize(section));
        return {QHeaderView::sizeHint().width(), head_high + (narrowest < with_role ? below_high : 0)};
    }
};

QString count(int number, const QString& one, const QString& many) { return number == 1 ? one : many.arg(number); }

/// Nodes, blocks and visits of a stage.
using StageFigures = std::array<int, 3>;

/// Those of them that `differ` somewhere.
QString stage_figures(const StageFigures& figures, const std::array<bool, 3>& differ) {
    const QString words[] = {count(figures[0], QObject::tr("1 node"), QObject::tr("%1 nodes")),
                             count(figures[1], QObject::tr("1 block"), QObject::tr("%1 blocks")),
                             count(figures[2], QObject::tr("1 visit"), QObject::tr("%1 visits"))};
    QStringList said;
    for (std::size_t k = 0; k < figures.size(); ++k)
        if (differ[k]) said << words[k];
    return said.join(QStringLiteral(", "));
}

}  // namespace

RunPlansPanel::RunPlansPanel(QWidget* parent)
    : QWidget(parent),
      finding_(words_label({}, "heading")),
      words_(words_label({}, "secondary")),
      table_(new QTableWidget),
      empty_(empty_words(tr("Nothing to compare yet"),
                         tr("Select two or more runs in the list to see how their networks and plans differ"))) {
    table_->setHorizontalHeader(new RunHeads(table_));
    make_plain(*table_, tr("Differences of networks and plans"));
    table_->setItemDelegate(new HoverDelegate(table_));
    follow_hover(*table_);
    table_->viewport()->installEventFilter(this);
    table_->setObjectName("plan_differences");
    table_->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    table_->horizontalHeader()->setMinimumSectionSize(least_run);
    finding_->setObjectName("plan_finding");
    finding_->setContentsMargins(size::gap + size::unit, size::gap, size::gap, 0);
    words_->setContentsMargins(size::gap + size::unit, 0, size::gap, size::gap);
    auto* column = seamless_column(this);
    column->addWidget(finding_);
    column->addWidget(words_);
    column->addWidget(table_, 1);
    column->addWidget(empty_, 1);
}

void RunPlansPanel::show_runs(const std::vector<const RunData*>& runs) {
    std::vector<RunId> before, now;
    for (const auto& run : shown_) before.push_back(run.id);
    for (const auto* run : runs) now.push_back(run->info.id);
    const auto is_read = [](const RunData* run) { return run->problem.has_value(); };
    const bool were_read =
        std::all_of(shown_.begin(), shown_.end(), [](const Shown& run) { return run.problem.has_value(); });
    // A run's plan and network are frozen: new rows of its record change nothing here.
    if (before == now && were_read && std::all_of(runs.begin(), runs.end(), is_read)) return;
    shown_.clear();
    for (const auto* run : runs) shown_.push_back({run->info.id, run->experiment.topology, run->problem, run->plan});
    is_stale_ = true;
    if (isVisible()) draw();
}

/// Of many runs it takes long: nobody waits for what is not seen.
void RunPlansPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    if (is_stale_) draw();
}

void RunPlansPanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() != QEvent::StyleChange) return;
    is_stale_ = true;
    if (isVisible()) draw();
}

/// Names have the room that they need, as far as runs keep theirs.
void RunPlansPanel::fit_names() {
    int widest = 0;
    for (int row = 0; row < table_->rowCount(); ++row)
        if (const auto* name = table_->item(row, 0); name != nullptr && table_->columnSpan(row, 0) == 1)
            widest = std::max(widest, table_->fontMetrics().horizontalAdvance(name->text()));
    const int left = table_->viewport()->width() - values_width * (table_->columnCount() - 1);
    table_->setColumnWidth(0, std::clamp(widest + names_edge, names_width, std::max(names_width, left)));
}

bool RunPlansPanel::eventFilter(QObject* watched, QEvent* event) {
    if (watched == table_->viewport() && event->type() == QEvent::Resize && table_->columnCount() > 1) fit_names();
    return QWidget::eventFilter(watched, event);
}

void RunPlansPanel::add_heading(const QString& words) {
    const int row = table_->rowCount();
    table_->insertRow(row);
    auto* item = new QTableWidgetItem(words);
    item->setFont(bold_font());
    item->setFlags(Qt::ItemIsEnabled);
    table_->setItem(row, 0, item);
    table_->setSpan(row, 0, 1, table_->columnCount());
}

void RunPlansPanel::add_row(const QString& what, const QStringList& values) {
    const int row = table_->rowCount();
    table_->insertRow(row);
    table_->setItem(row, 0, new QTableWidgetItem(what));
    for (qsizetype c = 0; c < values.size(); ++c) {
        auto* item = new QTableWidgetItem(values[c]);
        if (c > 0 && values[c] == values[0]) item->setForeground(theme().text_2);
        table_->setItem(row, static_cast<int>(c) + 1, item);
    }
    for (int c = 0; c < table_->columnCount(); ++c)
        if (auto* item = table_->item(row, c)) item->setToolTip(item->text());
}

void RunPlansPanel::draw_network(const std::vector<Against>& others) {
    std::map<std::pair<std::string, std::string>, QStringList> rows;
    std::vector<std::pair<std::string, std::string>> order;
    for (std::size_t i = 0; i < others.size(); ++i)
        for (const auto& change : others[i].network) {
            const auto [row, is_new] = rows.try_emplace({change.thing, change.field});
            if (is_new) {
                order.push_back(row->first);
                row->second.fill(QString::fromStdString(change.value_a), static_cast<qsizetype>(others.size()) + 1);
            }
            row->second[static_cast<qsizetype>(i) + 1] = QString::fromStdString(change.value_b);
        }
    if (!order.empty()) add_heading(tr("Network"));
    for (const auto& key : order) {
        const auto name = QString::fromStdString(key.first);
        add_row(key.second.empty() ? name : name + ", " + QString::fromStdString(key.second), rows[key]);
    }
}

/// Of the baseline's microbatches.
void RunPlansPanel::draw_paths(const std::vector<Against>& others) {
    QStringList nodes{QString{}}, stages{QString{}}, orders{QString{}};
    for (const auto& other : others) {
        const auto of_all = [&](int same) { return tr("%1 of %2").arg(same).arg(other.plan->microbatches_a); };
        nodes << (other.plan ? of_all(other.plan->same_paths) : QString{});
        stages << (other.plan ? of_all(other.plan->same_stages) : QString{});
        orders << (!other.plan ? QString{} : other.plan->same_orders ? tr("the same") : tr("another"));
    }
    add_heading(tr("Microbatches that go as the baseline's"));
    add_row(tr("By the same nodes"), nodes);
    add_row(tr("By the same stages"), stages);
    add_row(tr("Order of work in nodes"), orders);
}

void RunPlansPanel::draw_stages(const std::vector<Against>& others) {
    std::map<int, std::vector<StageFigures>> rows;
    std::array<bool, 3> differ{};
    for (std::size_t i = 0; i < others.size(); ++i)
        for (const auto& s : others[i].plan ? others[i].plan->stages : std::vector<StageChange>{}) {
            const StageFigures a{s.nodes_a, s.blocks_a, s.visits_a}, b{s.nodes_b, s.blocks_b, s.visits_b};
            rows.try_emplace(s.stage, others.size() + 1, a).first->second[i + 1] = b;
            for (std::size_t k = 0; k < differ.size(); ++k) differ[k] = differ[k] || a[k] != b[k];
        }
    bool any = false;
    for (const auto& [stage, runs] : rows) {
        if (std::equal(runs.begin() + 1, runs.end(), runs.begin())) continue;  // all alike
        if (!std::exchange(any, true)) add_heading(tr("Stages"));
        QStringList values;
        for (const auto& figures : runs) values << stage_figures(figures, differ);
        add_row(tr("Stage %1").arg(stage), values);
    }
}

void RunPlansPanel::draw_nodes(const std::vector<Against>& others) {
    std::map<std::string, std::vector<int>> rows;
    std::vector<std::string> order;
    for (std::size_t i = 0; i < others.size(); ++i)
        for (const auto& node : others[i].plan ? others[i].plan->nodes : std::vector<NodeChange>{}) {
            const auto [row, is_new] = rows.try_emplace(node.node, others.size() + 1, node.stage_a);
            if (is_new) order.push_back(node.node);
            row->second[i + 1] = node.stage_b;
        }
    if (!order.empty()) add_heading(tr("Nodes that serve another stage"));
    for (const auto& name : order) {
        QStringList words;
        for (const int stage : rows[name]) words << stage_words(stage);
        add_row(QString::fromStdString(name), words);
        for (std::size_t c = 0; c < rows[name].size(); ++c)
            if (const int stage = rows[name][c]; stage >= 0)
                table_->item(table_->rowCount() - 1, static_cast<int>(c) + 1)
                    ->setData(Qt::DecorationRole, stage_badge(stage, devicePixelRatioF()));
    }
}

void RunPlansPanel::draw() {
    is_stale_ = false;
    table_->clear();
    table_->clearSpans();
    table_->setRowCount(0);
    table_->setVisible(shown_.size() > 1);
    finding_->hide();
    const bool any = shown_.size() > 1;
    words_->setVisible(any);
    empty_->setVisible(!any);
    if (!any) return;
    const Shown& baseline = shown_.front();
    table_->setColumnCount(static_cast<int>(shown_.size()) + 1);
    QStringList heads{tr("What differs")};
    for (const auto& run : shown_) heads << (&run == &baseline ? tr("Run %1\n(baseline)") : tr("Run %1")).arg(run.id);
    table_->setHorizontalHeaderLabels(heads);
    for (std::size_t c = 0; c < shown_.size(); ++c)
        table_->horizontalHeaderItem(static_cast<int>(c) + 1)
            ->setData(Qt::UserRole, QVariant::fromValue<qlonglong>(shown_[c].id));
    table_->horizontalHeader()->setSectionResizeMode(QHeaderView::Stretch);
    table_->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Fixed);
    std::vector<Against> others;
    bool understood = true;
    for (std::size_t i = 1; i < shown_.size(); ++i) {
        const Shown& run = shown_[i];
        others.push_back({network_difference(baseline.topology, run.topology), {}});
        if (baseline.problem && run.problem)
            others.back().plan = compare_plans(*baseline.problem, baseline.plan, *run.problem, run.plan);
        understood = understood && others.back().plan;
    }
    draw_paths(others);
    draw_stages(others);
    draw_nodes(others);
    draw_network(others);  // below the plans: it may be as many rows as there are nodes and links
    std::vector<ComparedPlan> compared;
    for (std::size_t i = 0; i < others.size(); ++i)
        if (others[i].plan) compared.push_back({shown_[i + 1].id, *others[i].plan});
    fit_names();
    const int nodes = baseline.problem ? static_cast<int>(baseline.problem->node_ids.size()) : 0;
    const QString found = plan_finding(baseline.id, nodes, compared);
    finding_->setText(found);
    finding_->setVisible(!found.isEmpty());
    words_->setText(understood ? tr("Grey: as in run %1").arg(baseline.id)
                               : tr("The experiment of some run cannot be understood: its plan is not compared"));
}

}  // namespace skippipe
