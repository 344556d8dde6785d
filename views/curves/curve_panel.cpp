// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/curves/curve_panel.h"

#include <algorithm>
#include <cmath>

#include <QCheckBox>
#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

#include "views/curves/plot.h"
#include "views/theme/theme.h"

namespace skippipe {
namespace {

struct Choice {
    const char* metric;
    const char* words;
    const char* axis;
};
constexpr Choice metrics[] = {{"loss", "Loss, with validation", "Loss (nats a token)"},
                              {"validation_loss", "Validation loss", "Validation loss (nats a token)"},
                              {"bits_per_byte", "Bits per byte", "Validation (bits per byte)"},
                              {"gradient_norm", "Gradient norm", "Gradient norm"},
                              {"tokens_per_second", "Training speed", "Tokens/s of this machine"},
                              {"iteration_s", "Iteration time", "Iteration (s of network time)"}};
struct XChoice {
    WorkAxis axis;
    const char* words;
    const char* label;
};
constexpr XChoice x_choices[] = {{WorkAxis::iteration, "Iteration", "Iteration"},
                                 {WorkAxis::tokens, "Tokens", "Tokens trained"},
                                 {WorkAxis::block_flops, "Block FLOPs", "FLOPs of the blocks, forward and backward"},
                                 {WorkAxis::network_time, "Network time", "Network time (s)"},
                                 {WorkAxis::machine_time, "Machine time", "Machine time (s)"}};

/// Iterations are whole, and none is below 0.
class WholeTicker final : public QCPAxisTicker {
protected:
    double getTickStep(const QCPRange& range) override {
        return std::max(1.0, std::ceil(QCPAxisTicker::getTickStep(range)));
    }
    QVector<double> createTickVector(double step, const QCPRange& range) override {
        auto ticks = QCPAxisTicker::createTickVector(step, range);
        ticks.removeIf([](double tick) { return tick < 0; });
        return ticks;
    }
};

}  // namespace

CurvePanel::CurvePanel(QWidget* parent)
    : QWidget(parent), plot_(new QCustomPlot(this)), empty_(new QLabel(this)), equal_(new QLabel(this)) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(controls());
    column->addWidget(equal_);
    column->addWidget(plot_, 1);
    column->addWidget(empty_, 1);
    equal_->setWordWrap(true);
    equal_->setProperty("role", "secondary");
    equal_->setContentsMargins(size::gap, 0, size::gap, size::unit);
    equal_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    empty_->setAlignment(Qt::AlignCenter);
    empty_->setWordWrap(true);
    empty_->setProperty("role", "secondary");
    setAccessibleName(tr("Curves"));
    plot_->setInteractions(QCP::iRangeDrag | QCP::iRangeZoom);
    plot_->setMinimumHeight(80);
    plot_->legend->setVisible(true);
    plot_->axisRect()->insetLayout()->setInsetAlignment(0, Qt::AlignTop | Qt::AlignRight);
    plot_->setNoAntialiasingOnDrag(true);
    plot_->setToolTip(tr("Wheel zooms, a drag moves, a double-click shows all"));
    for (auto* axis : {plot_->xAxis, plot_->yAxis})
        connect(axis, qOverload<const QCPRange&>(&QCPAxis::rangeChanged), this,
                [this] { keeps_range_ = keeps_range_ || !drawing_; });
    connect(plot_, &QCustomPlot::mouseDoubleClick, this, &CurvePanel::show_all);
    draw();
}

QWidget* CurvePanel::controls() {
    auto* bar = new QWidget;
    auto* row = new QHBoxLayout(bar);
    row->setContentsMargins(size::gap, size::unit, size::gap, size::unit);
    row->setSpacing(size::gap);
    metric_ = new QComboBox;
    for (const auto& choice : metrics) metric_->addItem(tr(choice.words), QString(choice.metric));
    metric_->setAccessibleName(tr("Metric"));
    x_ = new QComboBox;
    for (const auto& choice : x_choices) x_->addItem(tr(choice.words));
    x_->setAccessibleName(tr("Horizontal axis"));
    log_x_ = new QCheckBox(tr("log x"));
    log_y_ = new QCheckBox(tr("log y"));
    for (auto* box : {metric_, x_}) {
        row->addWidget(box);
        connect(box, &QComboBox::currentIndexChanged, this, &CurvePanel::show_all);
    }
    for (auto* box : {log_x_, log_y_}) {
        row->addWidget(box);
        connect(box, &QCheckBox::toggled, this, &CurvePanel::show_all);
    }
    row->addStretch();
    return bar;
}

void CurvePanel::set_empty_text(const QString& text) { empty_->setText(text); }

void CurvePanel::show_runs(const std::vector<const RunData*>& runs, RunId baseline) {
    const auto ids = [](const std::vector<RunData>& all) {
        std::vector<RunId> found;
        for (const auto& run : all) found.push_back(run.info.id);
        return found;
    };
    const auto before = ids(shown_);
    shown_.clear();
    for (const auto* run : runs) {
        if (run == nullptr) continue;
        RunData part;
        part.info = run->info;
        part.metrics = run->metrics;
        part.iteration = run->iteration;
        shown_.push_back(std::move(part));
    }
    baseline_ = baseline;
    keeps_range_ = keeps_range_ && ids(shown_) == before;
    draw();
}

void CurvePanel::show_all() {
    keeps_range_ = false;
    draw();
}

std::pair<double, double> CurvePanel::x_range() const {
    return {plot_->xAxis->range().lower, plot_->xAxis->range().upper};
}

WorkAxis CurvePanel::axis() const { return x_choices[x_->currentIndex()].axis; }

void CurvePanel::set_axis(WorkAxis axis) {
    for (int i = 0; i < x_->count(); ++i)
        if (x_choices[i].axis == axis) x_->setCurrentIndex(i);
}

QString CurvePanel::equal_text() const { return equal_->text(); }

void CurvePanel::choose_scale(const std::string& metric) {
    x_scale_ = 1;
    x_unit_.clear();
    if (axis() != WorkAxis::block_flops) return;
    double most = 0;
    for (const auto& run : shown_)
        if (const auto points = curve_points(run, metric, axis()); !points.empty())
            most = std::max(most, points.back().x);
    static constexpr std::pair<double, const char*> prefixes[] = {
        {1e15, " (PFLOP)"}, {1e12, " (TFLOP)"}, {1e9, " (GFLOP)"}};
    for (const auto& [size, unit] : prefixes) {
        x_scale_ = 1 / size;
        x_unit_ = unit;
        if (most >= size) return;
    }
}

int CurvePanel::point_count() const {
    int count = 0;
    for (int i = 0; i < plot_->graphCount(); ++i) count += plot_->graph(i)->dataCount();
    return count;
}

void CurvePanel::style_axes() {
    apply_theme(*plot_);
    for (auto* axis : {plot_->xAxis, plot_->yAxis}) {
        const bool logarithmic = axis == plot_->xAxis ? log_x_->isChecked() : log_y_->isChecked();
        axis->setScaleType(logarithmic ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
        axis->setTicker(logarithmic ? QSharedPointer<QCPAxisTicker>(new QCPAxisTickerLog)
                                    : QSharedPointer<QCPAxisTicker>::create());
        axis->setNumberFormat(logarithmic ? "gb" : "g");
        axis->setNumberPrecision(logarithmic ? 3 : 5);
    }
    if (axis() == WorkAxis::iteration && !log_x_->isChecked())
        plot_->xAxis->setTicker(QSharedPointer<QCPAxisTicker>(new WholeTicker));
    plot_->xAxis->setLabel(tr(x_choices[x_->currentIndex()].label) + x_unit_);
    plot_->yAxis->setLabel(tr(metrics[metric_->currentIndex()].axis));
}

void CurvePanel::add_curve(const RunData& run, const std::string& metric, int colour, bool thick, bool points_only,
                           const QString& name) {
    const auto points = downsample(curve_points(run, metric, axis()), std::max(300, plot_->width()));
    if (points.empty()) return;
    QVector<double> x, y;
    for (const auto& point : points) x << point.x * x_scale_, y << point.y;
    auto* graph = plot_->addGraph();
    graph->setData(x, y, true);
    graph->setName(name);
    graph->setAdaptiveSampling(true);
    QPen pen(theme().stage(colour), thick ? 3 : 1.75);
    if (Theme::hatched(colour)) pen.setStyle(Qt::DashLine);
    graph->setPen(pen);
    if (points_only || points.size() < 3) {
        graph->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDisc, points_only ? theme().text : pen.color(),
                                               points_only ? theme().text : pen.color(), 6));
        if (points_only) graph->setPen(QPen(theme().text, 1, Qt::DotLine));
    }
}

void CurvePanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::StyleChange && log_y_ != nullptr) draw();
}

void CurvePanel::draw() {
    drawing_ = true;
    plot_->clearGraphs();
    const std::string metric = metric_->currentData().toString().toStdString();
    choose_scale(metric);
    style_axes();
    equal_->setText(equal_words(shown_, baseline_, metric, axis()));
    equal_->setVisible(!equal_->text().isEmpty());
    const bool several = shown_.size() > 1;
    int colour = 0;
    for (const auto& run : shown_) {
        const QString name =
            several ? tr("Run %1, %2").arg(run.info.id).arg(QString::fromStdString(run.info.planner)) : tr("Training");
        add_curve(run, metric, colour, several && run.info.id == baseline_, false, name);
        if (metric == "loss" && !several) add_curve(run, "validation_loss", colour, false, true, tr("Validation"));
        ++colour;
    }
    const bool empty = plot_->graphCount() == 0;
    plot_->setVisible(!empty);
    empty_->setVisible(empty);
    plot_->legend->setVisible(plot_->graphCount() > 1);
    if (!keeps_range_) plot_->rescaleAxes();
    for (auto* axis : {plot_->xAxis, plot_->yAxis})
        if (!keeps_range_ && axis->scaleType() == QCPAxis::stLinear) axis->scaleRange(1.06);
    drawing_ = false;
    plot_->replot(QCustomPlot::rpQueuedReplot);
}

}  // namespace skippipe
