// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QLabel>
#include <QProgressBar>
#include <QPushButton>
#include <QWidget>

namespace skippipe {

/// What a pane shows that has nothing to show yet: a sentence in its middle, and the one button that leads on.
class EmptyNote : public QWidget {
    Q_OBJECT
public:
    explicit EmptyNote(const QString& words = {}, QWidget* parent = nullptr);
    void show_words(const QString& words) { words_->setText(words); }
    /// Empty: there is nothing to press.
    void show_button(const QString& words);
    /// How far something goes on that fills the pane when it is done, as a bar; below 0: nobody knows.
    void show_bar(double share);
    void hide_bar();
    const QProgressBar& bar() const { return *bar_; }
    QString words() const { return words_->text(); }
    QPushButton& button() { return *button_; }

Q_SIGNALS:
    void pressed();

private:
    QLabel* words_;
    QProgressBar* bar_;
    QPushButton* button_;
};

}  // namespace skippipe
