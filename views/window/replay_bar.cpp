// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/replay_bar.h"

#include <algorithm>
#include <cmath>

#include <QHBoxLayout>
#include <QLabel>
#include <QSignalBlocker>
#include <QSlider>
#include <QStyle>
#include <QToolButton>

#include "views/theme/elided_label.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr int slider_steps = 10'000, frame_ms = 33;
constexpr double play_s = 15;
constexpr qint64 rest_while_playing = 2,
                 rest_while_following = 8;  ///< frames are so many times as far apart as they take

}  // namespace

ReplayBar::ReplayBar(QWidget* parent)
    : QWidget(parent),
      play_(new QToolButton),
      slider_(new QSlider(Qt::Horizontal)),
      from_(new QLabel),
      to_(new QLabel),
      words_(new ElidedLabel),
      event_(new ElidedLabel) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(size::gap, size::unit, size::gap, size::unit);
    column->setSpacing(0);
    auto* row = new QHBoxLayout;
    row->setSpacing(size::gap);
    row->addWidget(play_);
    row->addWidget(from_);
    row->addWidget(slider_, 1);
    row->addWidget(to_);
    for (auto* end : {from_, to_}) {
        end->setProperty("role", "small");
        end->setToolTip(tr("What is in sight of the timeline begins and ends there"));
    }
    column->addLayout(row);
    column->addWidget(words_);
    column->addWidget(event_);
    event_->setObjectName("replay_event");
    event_->setProperty("role", "bad");
    event_->hide();
    play_->setObjectName("replay_play");
    play_->setToolTip(tr("Plays what is in sight of the timeline"));
    slider_->setObjectName("replay");
    slider_->setRange(0, slider_steps);
    slider_->setValue(slider_steps);
    slider_->setPageStep(slider_steps / 20);
    slider_->setAccessibleName(tr("Moment of the run"));
    slider_->setToolTip(tr("The network as it was at that moment of what is in sight of the timeline"));
    words_->setProperty("role", "secondary");
    timer_.setSingleShot(true);
    connect(play_, &QToolButton::clicked, this, [this] { play(!is_playing()); });
    connect(slider_, &QSlider::valueChanged, this, [this] {
        stop_following();
        take_slider();
        Q_EMIT moved();
    });
    connect(slider_, &QSlider::sliderPressed, this, [this] { play(false); });
    connect(&timer_, &QTimer::timeout, this, &ReplayBar::step);
    play(false);
}

/// In a narrow one the slider has the room of what says where it begins and ends.
void ReplayBar::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    constexpr int least_with_ends = 240;
    for (auto* end : {from_, to_}) end->setVisible(width() >= least_with_ends);
    fit_words();
}

void ReplayBar::set_range(double begin_s, double end_s) {
    const bool at_end = slider_->value() == slider_steps;
    begin_s_ = begin_s;
    end_s_ = std::max(end_s, begin_s);
    from_->setText(duration(std::max(0.0, begin_s_)));
    to_->setText(duration(end_s_));
    set_moment(at_end && !followed_ ? end_s_ : std::clamp(moment_s_, begin_s_, end_s_));
}

bool ReplayBar::is_at_end() const { return !followed_ && slider_->value() == slider_steps; }

void ReplayBar::keep_event_room(bool on) {
    auto policy = event_->sizePolicy();
    policy.setRetainSizeWhenHidden(on);
    event_->setSizePolicy(policy);
}

void ReplayBar::set_out_of_sight(bool on) {
    if (on == is_out_of_sight_) return;
    is_out_of_sight_ = on;
    slider_->setProperty("empty", on);
    slider_->style()->unpolish(slider_);
    slider_->style()->polish(slider_);
    slider_->update();
}

void ReplayBar::take_slider() { moment_s_ = begin_s_ + (end_s_ - begin_s_) * slider_->value() / slider_steps; }

void ReplayBar::set_moment(double seconds) {
    moment_s_ = std::clamp(seconds, begin_s_, end_s_);
    const QSignalBlocker quiet(slider_);
    const double share = end_s_ > begin_s_ ? (seconds - begin_s_) / (end_s_ - begin_s_) : 1;
    slider_->setValue(static_cast<int>(std::lround(slider_steps * std::clamp(share, 0.0, 1.0))));
}

void ReplayBar::set_words(const QString& words, const QString& brief) {
    whole_words_ = words;
    brief_words_ = brief;
    words_->setToolTip(words);
    fit_words();
}

void ReplayBar::fit_words() {
    const bool fits = words_->fontMetrics().horizontalAdvance(whole_words_) <= width() - 2 * size::gap;
    words_->setText(fits ? whole_words_ : brief_words_);
}

void ReplayBar::set_event(const QString& words) {
    event_->setText(words);
    event_->setToolTip(words);
    event_->setVisible(!words.isEmpty());
}

void ReplayBar::show_playing(bool on) {
    plays_ = on;
    play_->setText(on ? QString::fromUtf8("❚❚") : QString::fromUtf8("▶"));
    play_->setAccessibleName(on ? tr("Stop replaying") : tr("Replay"));
}

void ReplayBar::play(bool on) {
    followed_.reset();
    show_playing(on);
    if (!on) return timer_.stop();
    if (slider_->value() == slider_steps) slider_->setValue(0);
    clock_.start();
    timer_.start(frame_ms);
}

void ReplayBar::follow(double from_s, double to_s, double in_s) {
    followed_ = Followed{.from_s = from_s, .to_s = to_s, .in_s = std::max(in_s, 1e-3)};
    show_playing(true);
    set_moment(from_s);
    clock_.start();
    timer_.start(frame_ms);
}

void ReplayBar::stop_following() {
    if (followed_) play(false);
}

/// The next frame comes when this one is drawn, and so much later that a large network leaves the machine to its run.
void ReplayBar::step() {
    QElapsedTimer work;
    work.start();
    followed_ ? step_followed() : step_played();
    if (!plays_) return;
    QTimer::singleShot(0, this, [this, work] {
        const qint64 times = followed_ ? rest_while_following : rest_while_playing;
        if (plays_) timer_.start(static_cast<int>(std::max<qint64>(frame_ms, times * work.elapsed())));
    });
}

/// As finely as the clock has it: the slider's steps are too coarse where much is in sight.
void ReplayBar::step_followed() {
    followed_->passed_s += static_cast<double>(clock_.restart()) / 1000;
    const Followed now = *followed_;
    const double share = std::min(1.0, now.passed_s / now.in_s);
    set_moment(now.from_s + share * (now.to_s - now.from_s));
    if (share >= 1) play(false);
    Q_EMIT moved();
    if (share >= 1) Q_EMIT followed();
}

void ReplayBar::step_played() {
    const double passed_s = static_cast<double>(clock_.restart()) / 1000;
    const int next = slider_->value() + std::max(1, static_cast<int>(std::lround(slider_steps * passed_s / play_s)));
    slider_->setValue(std::min(next, slider_steps));
    if (next >= slider_steps) play(false);
}

}  // namespace skippipe
