// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>

#include <QLabel>
#include <QLineEdit>
#include <QTimer>
#include <QWidget>

#include "views/timeline/find.h"

namespace skippipe {

class TimelineView;

/// Bars of how long what was found takes, from the shortest to the longest.
class FoundHistogram : public QWidget {
    Q_OBJECT
public:
    explicit FoundHistogram(QWidget* parent = nullptr);
    void show_found(const FoundSpans* found);

protected:
    void paintEvent(QPaintEvent*) override;

private:
    std::array<std::size_t, found_bars> bars_{};
    QString least_, most_;  ///< what the bars begin and end with
};

/// Looks for spans and waits of a timeline by words, steps through what it found, and says what that sums up to.
class FindBar : public QWidget {
    Q_OBJECT
public:
    explicit FindBar(TimelineView& timeline, QWidget* parent = nullptr);

    /// Shows itself, ready to be typed into.
    void open();
    void close_bar();
    /// Looks again, since the timeline shows something else now.
    void look();
    /// As if it had been typed.
    void look_for(const QString& words);
    void step(int by);
    QString words() const { return words_->text(); }
    const FoundSpans* found() const { return found_.get(); }
    /// What is looked for.
    QString typed() const { return line_->text(); }

Q_SIGNALS:
    void looked();  ///< for something, or no longer

protected:
    void keyPressEvent(QKeyEvent*) override;

private:
    void choose_node(SpanQuery query);
    void say();
    void say(const QString& words);
    int first_to(int by) const;

    TimelineView& timeline_;
    QLineEdit* line_;
    QLabel* words_;
    FoundHistogram* histogram_;
    QTimer later_;
    std::shared_ptr<const FoundSpans> found_;
    const TimelineData* of_ = nullptr;
    QString fault_;
    int at_ = -1;
};

}  // namespace skippipe
