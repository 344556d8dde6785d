// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>

#include <QHBoxLayout>
#include <QLabel>
#include <QWidget>

namespace skippipe {

/// A message over the workspace that blocks nothing, with what can be done about it as buttons.
class Banner : public QWidget {
    Q_OBJECT
public:
    struct Action {
        QString text;
        std::function<void()> run;
    };
    explicit Banner(QWidget* parent = nullptr);

    /// Shows a message; every action also closes it. There is always a `Dismiss`.
    void show_message(const QString& text, const std::vector<Action>& actions = {});
    QString text() const { return text_->text(); }

private:
    QLabel* text_;
    QHBoxLayout* buttons_;
};

}  // namespace skippipe
