// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>

#include <QElapsedTimer>
#include <QTimer>
#include <QWidget>

class QLabel;
class QSlider;
class QToolButton;

namespace skippipe {

/// A slider over the time in sight: the network is shown as it was at that moment. Playing goes through all of it in a
/// quarter of a minute.
class ReplayBar : public QWidget {
    Q_OBJECT
public:
    explicit ReplayBar(QWidget* parent = nullptr);

    /// Network seconds. The moment stays the same while it is within them; at the end it stays there.
    void set_range(double begin_s, double end_s);
    double moment_s() const { return moment_s_; }
    /// Tells nobody.
    void set_moment(double seconds);
    /// What goes on then.
    void set_words(const QString& words);
    /// What befalls the network then: losses, cuts; empty: nothing does.
    void set_event(const QString& words);
    void play(bool on);
    bool is_playing() const { return timer_.isActive(); }

Q_SIGNALS:
    void moved();  ///< by whoever looks, or while it plays

private:
    void step();
    void take_slider();

    QToolButton* play_;
    QSlider* slider_;
    QLabel *from_, *to_, *words_, *event_;
    QTimer timer_;
    QElapsedTimer clock_;
    double begin_s_ = 0, end_s_ = 1, moment_s_ = 1;
};

}  // namespace skippipe
