// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/timeline/find_bar.h"

#include <algorithm>
#include <utility>

#include <QHBoxLayout>
#include <QKeyEvent>
#include <QPainter>
#include <QToolButton>

#include "views/theme/elided_label.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/timeline/timeline_view.h"

namespace skippipe {
namespace {

constexpr int typing_ms = 120, bar_step = 6, beside_bars = 4;

QString known_words() {
    return FindBar::tr("A kind (backward), a wait (memory), m12, stage 2, iteration 4, >100ms, a node's name");
}

}  // namespace

FoundHistogram::FoundHistogram(QWidget* parent) : QWidget(parent) {
    setFont(small_font());
    setFixedHeight(22);
    setAccessibleName(tr("How long what was found takes"));
}

void FoundHistogram::show_found(const FoundSpans* found) {
    bars_ = found != nullptr ? found->bars : std::array<std::size_t, found_bars>{};
    setVisible(found != nullptr && found->spans.size() > 1);
    if (found != nullptr) {
        least_ = duration(found->least_s);
        most_ = duration(found->most_s);
        const auto tallest = *std::max_element(bars_.begin(), bars_.end());
        setToolTip(tr("How many take how long: from %1 at the left to %2 at the right, up to %3 a bar")
                       .arg(least_, most_, whole_number(static_cast<double>(tallest))));
    }
    setFixedWidth(fontMetrics().horizontalAdvance(least_) + fontMetrics().horizontalAdvance(most_) + 2 * beside_bars +
                  bar_step * static_cast<int>(found_bars));
    update();
}

void FoundHistogram::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const std::size_t most = std::max<std::size_t>(1, *std::max_element(bars_.begin(), bars_.end()));
    const int left = fontMetrics().horizontalAdvance(least_) + beside_bars, floor = height() - 1,
              wide = bar_step * static_cast<int>(found_bars);
    for (std::size_t k = 0; k < bars_.size(); ++k) {
        if (bars_[k] == 0) continue;
        const int tall = std::max(2, static_cast<int>(static_cast<std::size_t>(floor) * bars_[k] / most));
        painter.fillRect(left + static_cast<int>(k) * bar_step, floor - tall, bar_step - 1, tall, theme().accent);
    }
    painter.fillRect(left, floor, wide, 1, theme().text_2);
    painter.setPen(theme().text_2);
    painter.drawText(QRect(0, 0, left - beside_bars, height()), Qt::AlignRight | Qt::AlignBottom, least_);
    painter.drawText(QRect(left + wide + beside_bars, 0, width(), height()), Qt::AlignLeft | Qt::AlignBottom, most_);
}

FindBar::FindBar(TimelineView& timeline, QWidget* parent)
    : QWidget(parent),
      timeline_(timeline),
      line_(new QLineEdit),
      words_(new ElidedLabel),
      histogram_(new FoundHistogram) {
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(size::gap, 0, size::gap, size::unit);
    row->setSpacing(size::gap);
    line_->setObjectName("find");
    line_->setAccessibleName(tr("Find in the timeline"));
    line_->setPlaceholderText(tr("backward m12 >100ms"));
    line_->setToolTip(
        tr("Kinds: forward, loss, backward, transfer, reduction, work\n"
           "Waits: waiting, memory, link, activation, gradient, collision, turn, replica, all-reduce, filling\n"
           "Numbers: m12 (microbatch), stage 2, iteration 4\n"
           "Lengths: >100ms, <1s. Anything else: part of a node's name"));
    line_->setClearButtonEnabled(true);
    constexpr int beside_text = 56;  // frame, margins, and the button that clears
    line_->setMinimumWidth(fontMetrics().horizontalAdvance(line_->placeholderText()) + beside_text);
    line_->setMaximumWidth(320);
    const auto button = [&](Qt::ArrowType arrow, const QString& tip, int by) {
        auto* one = new QToolButton;
        one->setArrowType(arrow);
        one->setToolTip(tip);
        one->setAccessibleName(tip);
        one->setAutoRaise(true);
        connect(one, &QToolButton::clicked, this, [this, by] { step(by); });
        return one;
    };
    words_->setProperty("role", "secondary");
    words_->setObjectName("found_words");
    words_->setMinimumWidth(60);
    row->addWidget(line_);
    row->addWidget(button(Qt::LeftArrow, tr("Previous (Shift+Enter)"), -1));
    row->addWidget(button(Qt::RightArrow, tr("Next (Enter)"), +1));
    row->addWidget(histogram_);
    row->addWidget(words_, 1);
    auto* close = new QToolButton;
    close->setText(QStringLiteral("✕"));
    close->setToolTip(tr("Close (Esc)"));
    close->setAccessibleName(tr("Close the search"));
    close->setAutoRaise(true);
    connect(close, &QToolButton::clicked, this, &FindBar::close_bar);
    row->addWidget(close);
    later_.setSingleShot(true);
    later_.setInterval(typing_ms);
    connect(&later_, &QTimer::timeout, this, &FindBar::look);
    connect(line_, &QLineEdit::textEdited, &later_, qOverload<>(&QTimer::start));
    connect(line_, &QLineEdit::textChanged, this, [this](const QString& text) {
        if (text.isEmpty()) look();
    });
    histogram_->hide();
    hide();
}

void FindBar::open() {
    show();
    look();
    line_->setFocus();
    line_->selectAll();
}

void FindBar::close_bar() {
    hide();
    found_.reset();
    timeline_.set_found(nullptr);
    timeline_.setFocus();
    Q_EMIT looked();
}

void FindBar::look() {
    later_.stop();
    if (!isVisible()) return;
    std::string fault;
    const SpanQuery query = read_query(line_->text().trimmed().toStdString(), fault);
    fault_ = QString::fromStdString(fault);
    at_ = -1;
    of_ = timeline_.data();
    found_.reset();
    if (of_ != nullptr && fault.empty() && !line_->text().trimmed().isEmpty())
        found_ = std::make_shared<FoundSpans>(find_spans(*of_, query));
    timeline_.set_found(found_);
    histogram_->show_found(found_.get());
    if (found_) choose_node(query);
    say();
    Q_EMIT looked();
}

/// A node's whole name and nothing else finds the node itself, as a click on its name does.
void FindBar::choose_node(SpanQuery query) {
    const std::string name = std::exchange(query.node, {});
    if (!(query == SpanQuery{})) return;
    const auto& lanes = of_->lanes();
    const auto found = std::find_if(lanes.begin(), lanes.end(), [&](const Lane& lane) { return lane.name == name; });
    if (found != lanes.end()) timeline_.choose_lane(static_cast<int>(found - lanes.begin()));
}

void FindBar::look_for(const QString& words) {
    line_->setText(words);
    look();
}

void FindBar::step(int by) {
    if (later_.isActive() || of_ != timeline_.data()) look();
    if (!found_ || found_->spans.empty()) return;
    const int count = static_cast<int>(found_->spans.size());
    at_ = at_ < 0 ? first_to(by) : (at_ + by + count) % count;
    timeline_.go(found_->spans[static_cast<std::size_t>(at_)]);
    say();
}

/// The first one that begins in sight or after it; to the other side, the last that begins before it ends. Beyond the
/// last one the first comes.
int FindBar::first_to(int by) const {
    const auto& spans = found_->spans;
    const auto [begin_s, end_s] = timeline_.in_sight();
    const double at_s = by > 0 ? begin_s : end_s;
    const auto place =
        std::lower_bound(spans.begin(), spans.end(), at_s, [](const Found& one, double s) { return one.start_s < s; });
    const int next = static_cast<int>(place - spans.begin()), count = static_cast<int>(spans.size());
    return by > 0 ? next % count : (next + count - 1) % count;
}

void FindBar::say(const QString& words) {
    words_->setText(words);
    words_->setToolTip(words);  // there may be no room for all of them
}

void FindBar::say() {
    if (!fault_.isEmpty()) return say(tr("\"%1\" is not understood. %2").arg(fault_, known_words()));
    if (!found_) return say(known_words());
    if (found_->spans.empty()) return say(tr("Nothing found"));
    const auto count = static_cast<double>(found_->spans.size());
    const QString place = at_ < 0 ? tr("%1 found").arg(whole_number(count))
                                  : tr("%1 of %2").arg(whole_number(at_ + 1), whole_number(count));
    say(tr("%1, %2 in all, mean %3, median %4, %5 to %6")
            .arg(place, duration(found_->total_s), duration(found_->mean_s), duration(found_->median_s),
                 duration(found_->least_s), duration(found_->most_s)));
}

void FindBar::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Escape) return close_bar();
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter)
        return step(event->modifiers() & Qt::ShiftModifier ? -1 : +1);
    QWidget::keyPressEvent(event);
}

}  // namespace skippipe
