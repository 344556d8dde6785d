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
/// quarter of a minute; of a run that goes on what came last is gone through while the next is awaited.
class ReplayBar : public QWidget {
    Q_OBJECT
public:
    explicit ReplayBar(QWidget* parent = nullptr);

    /// Network seconds. The moment stays the same while it is within them; at the end it stays there.
    void set_range(double begin_s, double end_s);
    double moment_s() const { return moment_s_; }
    /// Tells nobody.
    void set_moment(double seconds);
    /// What goes on then; `brief`: where there is no room for all of it.
    void set_words(const QString& words, const QString& brief);
    /// What befalls the network then: losses, cuts; empty: nothing does.
    void set_event(const QString& words);
    void play(bool on);
    bool is_playing() const { return plays_; }
    /// Goes through a stretch in so many seconds of the clock, and stays at its end; whoever takes the slider, plays or
    /// pauses ends that.
    void follow(double from_s, double to_s, double in_s);
    void stop_following();
    bool is_following() const { return followed_.has_value(); }
    /// Where the newest is, which it stays with.
    bool is_at_end() const;
    void go_to_end() { set_moment(end_s_); }
    /// Room for events stays while there are none, so that nothing moves when one comes.
    void keep_event_room(bool on);
    /// What is shown is of a moment out of sight: the slider has no handle then.
    void set_out_of_sight(bool on);

Q_SIGNALS:
    void moved();     ///< by whoever looks, or while it plays
    void followed();  ///< the stretch that it followed, to its end

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    struct Followed {
        double from_s = 0, to_s = 0, in_s = 1, passed_s = 0;
    };
    void step();
    void step_played();
    void step_followed();
    void show_playing(bool on);
    void take_slider();
    void fit_words();

    QToolButton* play_;
    QSlider* slider_;
    QLabel *from_, *to_, *words_, *event_;
    QString whole_words_, brief_words_;
    QTimer timer_;
    QElapsedTimer clock_;
    double begin_s_ = 0, end_s_ = 1, moment_s_ = 1;
    std::optional<Followed> followed_;
    bool plays_ = false, is_out_of_sight_ = false;
};

}  // namespace skippipe
