// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>

#include <QObject>

namespace skippipe {

/// The stretch of network time in sight, shared by every timeline that shows it. Pure numbers; views follow `changed`.
class TimeZoom : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;

    double begin() const { return begin_; }
    double end() const { return end_; }
    double extent() const { return extent_; }
    bool follows() const { return follows_; }

    /// How far time goes. While all was in sight it stays so; while following, its end does. What is in sight lies
    /// where there is time: of less than before it comes back.
    void set_extent(double seconds) {
        seconds = std::max(seconds, 1e-9);
        const bool whole = extent_ <= 0 || (begin_ <= 0 && end_ >= extent_);
        const bool other = seconds != extent_, is_less = seconds < extent_;
        extent_ = seconds;
        if (whole && follows_ && most_followed_s_ > 0 && seconds > most_followed_s_)
            set(seconds - most_followed_s_, seconds);
        else if (whole)
            set(0, seconds);
        else if (follows_ && other)
            show_end();
        else if (is_less)
            set(begin_, end_);
    }
    void show_all() {
        most_followed_s_ = 0;
        set(0, extent_);
    }
    /// While it follows what has all in sight, no more than so many seconds; until all is asked for.
    void follow_within(double seconds) { most_followed_s_ = seconds; }
    void show(double begin, double end) { set(begin, end); }
    /// Around a time that stays where it is; factor < 1 zooms in.
    void zoom_at(double time, double factor) {
        const double width = std::clamp((end_ - begin_) * factor, extent_ * 1e-9 + 1e-9, extent_ * 1.2);
        const double share = end_ > begin_ ? (time - begin_) / (end_ - begin_) : 0.5;
        set(time - share * width, time + (1 - share) * width);
    }
    /// No further than where the run begins and ends.
    void pan(double seconds) {
        const double width = end_ - begin_;
        const double begin = std::clamp(begin_ + seconds, std::min(begin_, 0.0), std::max(begin_, extent_ - width));
        set(begin, begin + width);
    }
    /// Brings the end into sight.
    void set_follows(bool on) {
        if (follows_ == on) return;
        follows_ = on;
        if (!on) most_followed_s_ = 0;
        if (on && extent_ > 0 && end_ < extent_) show_end();
        Q_EMIT follow_changed(on);
    }

Q_SIGNALS:
    void changed();
    void follow_changed(bool on);

private:
    void show_end() { set(extent_ - (end_ - begin_), extent_); }
    void set(double begin, double end) {
        const double width = std::max(end - begin, 1e-9);
        begin = std::clamp(begin, -0.1 * extent_, std::max(-0.1 * extent_, 1.1 * extent_ - width));
        if (begin == begin_ && begin + width == end_) return;
        begin_ = begin;
        end_ = begin + width;
        Q_EMIT changed();
    }

    double begin_ = 0, end_ = 1, extent_ = 0, most_followed_s_ = 0;
    bool follows_ = false;
};

}  // namespace skippipe
