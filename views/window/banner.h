// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>

#include <QHBoxLayout>
#include <QLabel>
#include <QWidget>

namespace skippipe {

/// A message over the words of the top bar, whose buttons stay free: it moves nothing, and lies over no timeline, which
/// may be a window of its own. With what can be done about it as buttons; Escape within it dismisses it.
class Banner : public QWidget {
    Q_OBJECT
public:
    struct Action {
        QString text;
        std::function<void()> run;
    };
    explicit Banner(QWidget* parent = nullptr);
    /// From then on it lies over that bar, beside it in its parent, and below it where it is longer.
    void lie_over(QWidget& bar);

    /// Shows what needs attention; every action also closes it. There is always a `Dismiss`.
    void show_message(const QString& text, const std::vector<Action>& actions = {});
    /// The same of what failed, in the colour of failures.
    void alarm(const QString& text, const std::vector<Action>& actions);
    /// Tells what was done as asked for, in no alarming colour. `gone`: run once the message is dismissed or another
    /// takes its place, after an action.
    void tell(const QString& text, const std::vector<Action>& actions = {}, std::function<void()> gone = {});
    void dismiss();
    QString text() const { return text_->text(); }

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    enum class Tone { calm, attention, failure };

    void place();
    void show_text(const QString& text, const std::vector<Action>& actions, Tone tone);

    QWidget* bar_ = nullptr;
    std::function<void()> gone_;
    QLabel* text_;
    QHBoxLayout* buttons_;
};

}  // namespace skippipe
