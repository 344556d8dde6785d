// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/curves/omission_panel.h"

#include <algorithm>
#include <cmath>
#include <initializer_list>
#include <iterator>
#include <utility>

#include <QCheckBox>
#include <QClipboard>
#include <QFontDatabase>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QLabel>
#include <QLocale>
#include <QMouseEvent>
#include <QPushButton>
#include <QSignalBlocker>
#include <QToolTip>
#include <QVBoxLayout>

#include "core/base/shell.h"
#include "views/curves/evaluate_bar.h"
#include "views/curves/curve_sketch.h"
#include "views/curves/plot.h"
#include "views/runs/parameters.h"
#include "views/theme/numbers.h"
#include "views/runs/run_marks.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"
#include "views/theme/words.h"

namespace skippipe {
namespace {

constexpr double near_px = 14;     ///< a point is meant
constexpr double steep_ratio = 8;  ///< from here on perplexities are drawn on a logarithmic axis
constexpr int band_alpha = 46;     ///< of 255: 18 %
constexpr int empty_width = 500;   ///< pixels of a line that reads well

/// What a run was trained with is what its perplexities differ by.
QString name_of(const RunData& run) {
    const double skipped = skip_ratio_of(run);
    return skipped > 0 ? QObject::tr("Run %1, skip %2").arg(run.info.id).arg(percent(skipped))
                       : QObject::tr("Run %1, full pipeline").arg(run.info.id);
}

/// 1, 2, 5, 10, 20, ...: perplexities seldom span two powers of ten.
QSharedPointer<QCPAxisTicker> steep_ticks() {
    auto ticker = QSharedPointer<QCPAxisTickerText>::create();
    for (double ten = 1; ten < 1e9; ten *= 10)
        for (const int of : {1, 2, 5})
            ticker->addTick(of * ten, of * ten < 1e4 ? QString::number(of * ten) : quantity(of * ten, {}));
    return ticker;
}

/// NaN is a gap: an axis has no place for what is not finite.
double drawable(double value) { return std::isfinite(value) ? value : qQNaN(); }

}  // namespace

OmissionPanel::OmissionPanel(Evaluator& evaluator, QWidget* parent)
    : QWidget(parent),
      plot_(new QCustomPlot(this)),
      bar_(new EvaluateBar(evaluator)),
      head_bar_(new QHBoxLayout),
      empty_bar_(new QHBoxLayout),
      caption_(new QLabel(this)),
      why_empty_(new QLabel),
      command_label_(new QLabel),
      log_y_(new QCheckBox(tr("log y"))),
      table_(new OmissionTable(this)) {
    empty_ = make_empty();
    auto* column = seamless_column(this);
    auto* row = new QHBoxLayout;
    row->setContentsMargins(size::gap, size::unit, size::gap, size::unit);
    row->setSpacing(size::wide_gap);
    row->addWidget(caption_, 1);
    row->addWidget(log_y_, 0, Qt::AlignTop);
    column->addLayout(row);
    head_bar_->setContentsMargins(size::gap, 0, size::gap, size::unit);
    column->addLayout(head_bar_);
    column->addWidget(plot_, 3);
    column->addWidget(table_, 2);
    column->addWidget(empty_, 1);
    caption_->setWordWrap(true);
    caption_->setProperty("role", "secondary");
    caption_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    setAccessibleName(tr("Perplexity by stages kept"));
    plot_->setMinimumHeight(120);
    plot_->setAccessibleName(accessibleName());
    plot_->axisRect()->insetLayout()->setInsetAlignment(0, Qt::AlignTop | Qt::AlignRight);
    plot_->setMouseTracking(true);
    plot_->installEventFilter(this);
    connect(log_y_, &QCheckBox::toggled, this, [this] { draw(); });
    show_runs({});
    draw();
}

/// What would be here, and the way there.
QWidget* OmissionPanel::make_empty() {
    auto* empty = new QWidget(this);
    auto* middle = new QHBoxLayout(empty);
    auto* narrow = new QWidget;
    narrow->setFixedWidth(empty_width);
    middle->addWidget(narrow, 0, Qt::AlignHCenter);
    auto* column = new QVBoxLayout(narrow);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(size::gap);
    column->addStretch();
    const auto add = [&](QLabel* label, const QString& text, const char* role) {
        label->setText(text);
        label->setProperty("role", role);
        label->setAlignment(Qt::AlignCenter);
        label->setWordWrap(label != command_label_);
        column->addWidget(label);
    };
    column->addWidget(new CurveSketch(tr("Stages kept"), tr("Perplexity")), 0, Qt::AlignHCenter);
    column->addSpacing(size::gap);
    add(new QLabel, tr("How many stages can be left out?"), "heading");
    add(why_empty_, {}, "secondary");
    column->addSpacing(size::gap);
    auto* copy = new QPushButton(tr("Copy as command"));
    copy->setObjectName("copy_evaluation");
    copy->setToolTip(tr("The same in a terminal; --weights names a file instead of the newest checkpoint"));
    connect(copy, &QPushButton::clicked, this, [this] { QGuiApplication::clipboard()->setText(command_); });
    auto* actions = new QHBoxLayout;
    actions->setSpacing(size::gap);
    actions->addStretch();
    actions->addLayout(empty_bar_);
    actions->addWidget(copy, 0, Qt::AlignTop);
    actions->addStretch();
    column->addLayout(actions);
    column->addSpacing(size::gap);
    add(command_label_, {}, "small");
    command_label_->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
    column->addStretch();
    return empty;
}

/// In the middle where there is nothing else, else above the plot.
void OmissionPanel::place_bar() {
    auto* place = shown_.empty() ? empty_bar_ : head_bar_;
    if (place->indexOf(bar_) < 0) {
        for (auto* other : {empty_bar_, head_bar_}) other->removeWidget(bar_);
        place->addWidget(bar_);
        bar_->set_centred(shown_.empty());
    }
    std::vector<RunId> trained;
    std::set_difference(missing_.begin(), missing_.end(), simulated_.begin(), simulated_.end(),
                        std::back_inserter(trained));
    bar_->offer(std::move(trained));
}

void OmissionPanel::show_runs(const std::vector<const RunData*>& runs, const std::filesystem::path& record) {
    const auto before = std::exchange(shown_, {});
    std::vector<RunId> missing, simulated;
    QStringList ids;
    bool first = true;
    for (const auto* run : runs) {
        if (run == nullptr) continue;
        ids << QString::number(run->info.id);
        if (run->evaluation && !run->evaluation->losses.empty())
            shown_.push_back({run->info.id, first, name_of(*run), *run->evaluation, by_stages_kept(*run->evaluation)});
        else
            missing.push_back(run->info.id);
        if (is_simulation(*run)) simulated.push_back(run->info.id);
        first = false;
    }
    std::sort(missing.begin(), missing.end());
    std::sort(simulated.begin(), simulated.end());
    const QString end =
        record.empty() ? QString{} : " --db " + QString::fromStdString(in_shell_quotes(record.string()));
    const QString verb = QStringLiteral("skippipe evaluate ");
    QStringList commands;
    if (ids.size() == 2)
        commands << verb + ids.front() + " --beside " + ids.back() + end;
    else
        for (const auto& id : ids.isEmpty() ? QStringList{QStringLiteral("latest")} : ids) commands << verb + id + end;
    command_ = commands.join(QStringLiteral(" && "));
    // A command that is not whole is none: then the button alone copies it.
    command_label_->setVisible(command_label_->fontMetrics().horizontalAdvance(command_) <= empty_width);
    command_label_->setText(command_);
    command_label_->setToolTip(command_);
    command_label_->setAccessibleName(command_);
    // Told at every row of a run that goes on; a table filled anew would lose what is selected in it.
    const auto same = [](const EvaluatedRun& a, const EvaluatedRun& b) {
        return a.id == b.id && a.is_baseline == b.is_baseline && a.name == b.name && a.evaluation == b.evaluation;
    };
    if (missing_ == missing && simulated_ == simulated &&
        std::equal(before.begin(), before.end(), shown_.begin(), shown_.end(), same))
        return;
    missing_ = std::move(missing);
    simulated_ = std::move(simulated);
    const auto [least, most] = extent();
    const QSignalBlocker quiet(log_y_);
    log_y_->setChecked(most > steep_ratio * least);
    draw();
}

QString OmissionPanel::command() const { return command_; }

/// Least and most of what is drawn; nothing drawn: 1 and 0.
std::pair<double, double> OmissionPanel::extent() const {
    double least = INFINITY, most = 0;
    for (const auto& run : shown_)
        for (const auto& row : run.rows) {
            if (row.without_stage_0) continue;
            if (std::isfinite(row.least)) least = std::min(least, row.least);
            if (std::isfinite(row.most)) most = std::max(most, row.most);
        }
    return most > 0 ? std::pair{least, most} : std::pair{1.0, 0.0};
}

int OmissionPanel::point_count() const {
    int count = 0;
    for (const auto& run : shown_)
        count += static_cast<int>(
            std::count_if(run.rows.begin(), run.rows.end(), [](const KeptRow& row) { return !row.without_stage_0; }));
    return count;
}

QString OmissionPanel::caption() const { return caption_->text(); }

QPointF OmissionPanel::place_of(std::size_t run, std::size_t row) const {
    const auto& one = shown_.at(run).rows.at(row);
    return {plot_->xAxis->coordToPixel(one.kept), plot_->yAxis->coordToPixel(one.perplexity)};
}

QString OmissionPanel::words_at(const QPointF& place) const {
    const EvaluatedRun* run = nullptr;
    const KeptRow* row = nullptr;
    double nearest = near_px;
    for (std::size_t r = 0; r < shown_.size(); ++r)
        for (std::size_t i = 0; i < shown_[r].rows.size(); ++i) {
            if (shown_[r].rows[i].without_stage_0) continue;
            const auto gap = place - place_of(r, i);
            if (const double distance = std::hypot(gap.x(), gap.y()); distance < nearest)
                nearest = distance, run = &shown_[r], row = &shown_[r].rows[i];
        }
    return row == nullptr ? QString{} : words_of(*run, *row);
}

void OmissionPanel::style_axes() {
    apply_theme(*plot_);
    const bool logarithmic = log_y_->isChecked();
    plot_->yAxis->setScaleType(logarithmic ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
    plot_->yAxis->setTicker(logarithmic ? steep_ticks() : QSharedPointer<QCPAxisTicker>::create());
    plot_->yAxis->setNumberFormat("g");
    plot_->yAxis->setNumberPrecision(5);
    auto whole = QSharedPointer<QCPAxisTickerFixed>::create();
    whole->setTickStep(1);
    whole->setScaleStrategy(QCPAxisTickerFixed::ssMultiples);
    plot_->xAxis->setTicker(whole);
    plot_->xAxis->setLabel(tr("Stages kept (stage 0 counted)"));
    plot_->yAxis->setLabel(tr("Validation perplexity"));
}

void OmissionPanel::add_run(const EvaluatedRun& run) {
    QVector<double> x, mean, least, most;
    for (const auto& row : run.rows) {
        if (row.without_stage_0) continue;
        x << row.kept;
        mean << drawable(row.perplexity), least << drawable(row.least), most << drawable(row.most);
    }
    const bool thick = run.is_baseline && shown_.size() > 1;  // as in the curves
    const QPen pen = run_pen(run.id, thick ? 3 : 1.75);
    const QColor colour = pen.color();
    QColor band = colour;
    band.setAlpha(band_alpha);
    const auto add = [&](const QVector<double>& y) {
        auto* graph = plot_->addGraph();
        graph->setData(x, y);
        graph->setPen(Qt::NoPen);
        graph->removeFromLegend();
        return graph;
    };
    auto* lower = add(least);
    auto* upper = add(most);
    upper->setBrush(band);
    upper->setChannelFillGraph(lower);
    auto* graph = add(mean);
    graph->setPen(pen);
    graph->setScatterStyle(QCPScatterStyle(QCPScatterStyle::ssDisc, QPen(colour), QBrush(colour), 7));
    graph->setName(run.name);
    graph->addToLegend();
}

void OmissionPanel::tell_caption() {
    QStringList read;
    for (const auto& run : shown_)
        if (const auto tokens = QLocale(QLocale::English).toString(static_cast<qlonglong>(run.evaluation.tokens));
            !read.contains(tokens))
            read << tokens;
    QString text;
    if (!shown_.empty())
        text = tr("Perplexity of %1 held-out tokens: mean, least and most over the sets of stages left out")
                   .arg(read.join(tr(" and ")));
    if (!shown_.empty() && !missing_.empty())
        text += (missing_.size() == 1 ? tr(". %1 was not evaluated") : tr(". %1 were not evaluated"))
                    .arg(capitalised(run_numbers(missing_)));
    caption_->setText(text);
    why_empty_->setText(
        tr("A model that was trained with skips may serve with fewer stages than it has. Evaluating validates a run's "
           "newest checkpoint with every set of stages left out: here stands its perplexity then, the mean over the "
           "sets of each size, from the least to the most as a band.") +
        (simulated_.empty() ? QString{}
                            : ' ' + (simulated_.size() == 1 ? tr("%1 is a simulation: it has no weights.")
                                                            : tr("%1 are simulations: they have no weights."))
                                        .arg(capitalised(run_numbers(simulated_)))));
    place_bar();
}

void OmissionPanel::draw() {
    plot_->clearPlottables();
    style_axes();
    int stages = 1;
    for (const auto& run : shown_) {
        add_run(run);
        stages = std::max(stages, run.evaluation.stages);
    }
    tell_caption();
    table_->show_runs(shown_);
    for (QWidget* part : std::initializer_list<QWidget*>{plot_, table_, caption_, log_y_})
        part->setVisible(!shown_.empty());
    empty_->setVisible(shown_.empty());
    plot_->legend->setVisible(shown_.size() > 1);
    plot_->xAxis->setRange(0.5, stages + 0.5);
    if (const auto [least, most] = extent(); most > 0) {
        const bool logarithmic = log_y_->isChecked();
        const double space = logarithmic ? std::pow(most / least, 0.08) * 1.01 : 0.08 * (most - least) + 0.01 * most;
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
