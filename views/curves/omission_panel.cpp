// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/curves/omission_panel.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <QCheckBox>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLocale>
#include <QMouseEvent>
#include <QSignalBlocker>
#include <QTableWidget>
#include <QToolTip>
#include <QVBoxLayout>

// Its header is written with Qt's keywords, which this project does without.
#define signals Q_SIGNALS
#define slots Q_SLOTS
#define foreach Q_FOREACH
#include <qcustomplot.h>
#undef signals
#undef slots
#undef foreach

#include "views/theme/numbers.h"
#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr double apart = 0.08;     ///< of a stage: runs stand side by side
constexpr double near_px = 14;     ///< a point is meant
constexpr double steep_ratio = 8;  ///< from here on perplexities are drawn on a logarithmic axis

QString stages_text(const std::vector<int>& stages) {
    QStringList words;
    for (const int stage : stages) words << QString::number(stage);
    return words.join(", ");
}

QString row_name(const KeptRow& row, int stages) {
    const auto kept = QObject::tr("%1 of %2").arg(row.kept).arg(stages);
    return row.without_stage_0 ? QObject::tr("%1, without stage 0's blocks").arg(kept) : kept;
}

QString sets_text(const KeptRow& row) {
    if (static_cast<double>(row.sets) < row.all_sets)
        return QObject::tr("%1 of %2 sets")
            .arg(row.sets)
            .arg(row.all_sets, 0, row.all_sets < 1e6 ? 'f' : 'g', row.all_sets < 1e6 ? 0 : 2);
    return row.sets == 1 ? QObject::tr("the only set") : QObject::tr("all %1 sets").arg(row.sets);
}

QString to_all_kept(const KeptRow& row, const std::vector<KeptRow>& rows) {
    return change(row.perplexity / rows.front().perplexity - 1);
}

}  // namespace

OmissionPanel::OmissionPanel(QWidget* parent)
    : QWidget(parent),
      plot_(new QCustomPlot(this)),
      empty_(new QLabel(this)),
      caption_(new QLabel(this)),
      log_y_(new QCheckBox(tr("log y"))),
      table_(new QTableWidget(this)) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    auto* row = new QHBoxLayout;
    row->setContentsMargins(size::gap, size::unit, size::gap, size::unit);
    row->addWidget(caption_, 1);
    row->addWidget(log_y_);
    column->addLayout(row);
    column->addWidget(plot_, 3);
    column->addWidget(table_, 2);
    column->addWidget(empty_, 1);
    for (auto* label : {caption_, empty_}) {
        label->setWordWrap(true);
        label->setProperty("role", "secondary");
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    }
    empty_->setAlignment(Qt::AlignCenter);
    empty_->setContentsMargins(size::wide_gap, 0, size::wide_gap, 0);
    empty_->setText(
        tr("None of the selected runs was evaluated with stages left out.\n\nskippipe evaluate RUN --weights FILE "
           "--omit all\n\nvalidates a trained model for every number of stages kept: the hidden state passes the "
           "others by unchanged. What training with skips is to teach a model shows there."));
    setAccessibleName(tr("Perplexity by stages kept"));
    table_->setAccessibleName(tr("Perplexity by stages kept, as numbers"));
    table_->setEditTriggers(QAbstractItemView::NoEditTriggers);
    table_->setShowGrid(false);
    table_->verticalHeader()->hide();
    table_->verticalHeader()->setDefaultSectionSize(size::row);
    plot_->setMinimumHeight(120);
    plot_->axisRect()->insetLayout()->setInsetAlignment(0, Qt::AlignTop | Qt::AlignRight);
    plot_->setMouseTracking(true);
    plot_->installEventFilter(this);
    connect(log_y_, &QCheckBox::toggled, this, [this] { draw(); });
    draw();
}

void OmissionPanel::show_runs(const std::vector<const RunData*>& runs) {
    const auto before = std::exchange(shown_, {});
    int colour = 0;
    for (const auto* run : runs) {
        if (run == nullptr) continue;
        if (run->evaluation && !run->evaluation->losses.empty())
            shown_.push_back({run->info.id, colour,
                              tr("Run %1, %2").arg(run->info.id).arg(QString::fromStdString(run->info.planner)),
                              *run->evaluation, by_stages_kept(*run->evaluation)});
        ++colour;
    }
    const auto same = [](const Shown& a, const Shown& b) { return a.id == b.id && a.evaluation == b.evaluation; };
    if (!std::equal(before.begin(), before.end(), shown_.begin(), shown_.end(), same)) {
        double least = INFINITY, most = 0;
        for (const auto& run : shown_)
            for (const auto& one : run.rows) least = std::min(least, one.least), most = std::max(most, one.most);
        const QSignalBlocker quiet(log_y_);
        log_y_->setChecked(most > steep_ratio * least);
    }
    draw();
}

int OmissionPanel::point_count() const {
    int count = 0;
    for (const auto& run : shown_) count += static_cast<int>(run.rows.size());
    return count;
}

QString OmissionPanel::caption() const { return caption_->text(); }

double OmissionPanel::x_of(std::size_t run, const KeptRow& row) const {
    return row.kept + apart * (static_cast<double>(run) - (static_cast<double>(shown_.size()) - 1) / 2);
}

QPointF OmissionPanel::place_of(std::size_t run, std::size_t row) const {
    const auto& one = shown_.at(run).rows.at(row);
    return {plot_->xAxis->coordToPixel(x_of(run, one)), plot_->yAxis->coordToPixel(one.perplexity)};
}

QString OmissionPanel::words_at(const QPointF& place) const {
    const Shown* run = nullptr;
    const KeptRow* row = nullptr;
    double nearest = near_px;
    for (std::size_t r = 0; r < shown_.size(); ++r)
        for (std::size_t i = 0; i < shown_[r].rows.size(); ++i) {
            const auto gap = place - place_of(r, i);
            if (const double distance = std::hypot(gap.x(), gap.y()); distance < nearest)
                nearest = distance, run = &shown_[r], row = &shown_[r].rows[i];
        }
    if (row == nullptr) return {};
    QStringList lines{
        tr("%1: %2 stages kept, %3").arg(run->name, row_name(*row, run->evaluation.stages), sets_text(*row)),
        tr("Perplexity %1").arg(three_digits(row->perplexity))};
    if (row != &run->rows.front()) lines.back() += tr(", %1 to all kept").arg(to_all_kept(*row, run->rows));
    if (const auto bits = bits_per_byte(row->loss_nats, run->evaluation))
        lines << tr("%1 bits per byte").arg(three_digits(*bits));
    if (row->sets > 1)
        lines << tr("Least %1 without %2; most %3 without %4")
                     .arg(three_digits(row->least), stages_text(row->best), three_digits(row->most),
                          stages_text(row->worst));
    return lines.join('\n');
}

void OmissionPanel::style_axes() {
    const Theme& t = theme();
    plot_->setBackground(t.surface);
    for (auto* axis : {plot_->xAxis, plot_->yAxis}) {
        axis->setBasePen(QPen(t.text_2));
        axis->setTickPen(QPen(t.text_2));
        axis->setSubTickPen(Qt::NoPen);
        axis->setTickLabelColor(t.text_2);
        axis->setTickLabelFont(small_font());
        axis->setLabelColor(t.text_2);
        axis->setLabelFont(small_font());
        axis->grid()->setPen(QPen(t.line));
        axis->grid()->setZeroLinePen(Qt::NoPen);
    }
    const bool logarithmic = log_y_->isChecked();
    plot_->yAxis->setScaleType(logarithmic ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
    plot_->yAxis->setTicker(logarithmic ? QSharedPointer<QCPAxisTicker>(new QCPAxisTickerLog)
                                        : QSharedPointer<QCPAxisTicker>::create());
    plot_->yAxis->setNumberFormat(logarithmic ? "gb" : "g");
    plot_->yAxis->setNumberPrecision(logarithmic ? 3 : 5);
    auto whole = QSharedPointer<QCPAxisTickerFixed>::create();
    whole->setTickStep(1);
    whole->setScaleStrategy(QCPAxisTickerFixed::ssMultiples);
    plot_->xAxis->setTicker(whole);
    plot_->xAxis->setLabel(tr("Stages kept (stage 0 counted)"));
    plot_->yAxis->setLabel(tr("Validation perplexity"));
    plot_->legend->setBrush(mix(t.surface, t.surface_2, 0.5));
    plot_->legend->setBorderPen(QPen(t.line));
    plot_->legend->setTextColor(t.text);
    plot_->legend->setFont(small_font());
}

void OmissionPanel::add_run(std::size_t index) {
    const auto& run = shown_[index];
    QPen pen(theme().stage(run.colour), 1.75);
    const QPen mark(pen.color(), 1.75);
    if (Theme::hatched(run.colour)) pen.setStyle(Qt::DashLine);
    const auto add = [&](bool without_stage_0) {
        QVector<double> x, y, below, above;
        for (auto row = run.rows.rbegin(); row != run.rows.rend(); ++row) {  // the bars want them in their order of x
            if (row->without_stage_0 != without_stage_0) continue;
            x << x_of(index, *row), y << row->perplexity;
            below << row->perplexity - row->least, above << row->most - row->perplexity;
        }
        if (x.isEmpty()) return;
        auto* graph = plot_->addGraph();
        graph->setData(x, y);
        graph->setPen(without_stage_0 ? QPen(Qt::NoPen) : pen);
        graph->setScatterStyle(without_stage_0
                                   ? QCPScatterStyle(QCPScatterStyle::ssDiamond, mark, QBrush(theme().surface), 10)
                                   : QCPScatterStyle(QCPScatterStyle::ssDisc, mark, QBrush(pen.color()), 7));
        graph->setName(without_stage_0 ? tr("Stage 0's blocks left out") : run.name);
        if (without_stage_0 && index > 0) graph->removeFromLegend();
        auto* bars = new QCPErrorBars(plot_->xAxis, plot_->yAxis);
        bars->removeFromLegend();
        bars->setDataPlottable(graph);
        bars->setData(below, above);
        bars->setPen(QPen(mix(pen.color(), theme().surface, 0.25), 1.25));
        bars->setWhiskerWidth(7);
        bars->setSymbolGap(0);
    };
    add(false);
    add(true);
}

void OmissionPanel::fill_table() {
    table_->clear();
    table_->setColumnCount(1 + static_cast<int>(shown_.size()));
    QStringList headers{tr("Stages kept")};
    for (const auto& run : shown_) headers << run.name + '\n' + tr("perplexity (least to most), to all kept");
    table_->setHorizontalHeaderLabels(headers);
    table_->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    // A row for what any of the runs has: twins have the same.
    QStringList names;
    for (const auto& run : shown_)
        for (const auto& row : run.rows)
            if (const auto name = row_name(row, run.evaluation.stages); !names.contains(name)) names << name;
    table_->setRowCount(static_cast<int>(names.size()));
    for (int r = 0; r < names.size(); ++r) table_->setItem(r, 0, new QTableWidgetItem(names[r]));
    for (std::size_t c = 0; c < shown_.size(); ++c)
        for (const auto& row : shown_[c].rows) {
            auto text = three_digits(row.perplexity);
            if (row.sets > 1) text += tr(" (%1 to %2)").arg(three_digits(row.least), three_digits(row.most));
            if (&row != &shown_[c].rows.front()) text += ", " + to_all_kept(row, shown_[c].rows);
            auto* item = new QTableWidgetItem(text);
            item->setToolTip(sets_text(row));
            table_->setItem(static_cast<int>(names.indexOf(row_name(row, shown_[c].evaluation.stages))),
                            static_cast<int>(c) + 1, item);
        }
    table_->resizeColumnsToContents();
}

void OmissionPanel::draw() {
    plot_->clearPlottables();
    style_axes();
    QStringList read;
    for (std::size_t i = 0; i < shown_.size(); ++i) {
        add_run(i);
        const auto tokens =
            tr("%1 tokens")
                .arg(QLocale(QLocale::English).toString(static_cast<qlonglong>(shown_[i].evaluation.tokens)));
        if (!read.contains(tokens)) read << tokens;
    }
    caption_->setText(shown_.empty() ? QString{}
                                     : tr("Perplexity of %1 of held-out text: mean over the sets of stages left out, "
                                          "with the least and the most.")
                                           .arg(read.join(tr(" and "))));
    fill_table();
    for (QWidget* part : {static_cast<QWidget*>(plot_), static_cast<QWidget*>(table_), static_cast<QWidget*>(caption_),
                          static_cast<QWidget*>(log_y_)})
        part->setVisible(!shown_.empty());
    empty_->setVisible(shown_.empty());
    plot_->legend->setVisible(true);
    plot_->rescaleAxes();
    double least = INFINITY, most = 0;
    int stages = 1;
    for (const auto& run : shown_) {
        stages = std::max(stages, run.evaluation.stages);
        for (const auto& row : run.rows) {
            if (std::isfinite(row.least)) least = std::min(least, row.least);
            if (std::isfinite(row.most)) most = std::max(most, row.most);
        }
    }
    plot_->xAxis->setRange(0.5, stages + 0.5);
    if (most > 0) {
        const bool logarithmic = log_y_->isChecked();
        const double space = logarithmic ? std::pow(most / least, 0.08) : 0.08 * (most - least) + 0.01 * most;
        plot_->yAxis->setRange(logarithmic ? least / space : least - space, logarithmic ? most * space : most + space);
    }
    plot_->replot(QCustomPlot::rpQueuedReplot);
}

void OmissionPanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::StyleChange && table_ != nullptr) draw();
}

bool OmissionPanel::eventFilter(QObject* watched, QEvent* event) {
    if (watched == plot_ && event->type() == QEvent::MouseMove) {
        const auto* mouse = static_cast<QMouseEvent*>(event);
        QToolTip::showText(mouse->globalPosition().toPoint(), words_at(mouse->position()), plot_);
    }
    return QWidget::eventFilter(watched, event);
}

}  // namespace skippipe
