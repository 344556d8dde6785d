// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QWidget>

#include "views/compare/headlines.h"

namespace skippipe {

/// Which run is best in one line, and below it the figures that say so, beside each other; hidden where there are none.
class HeadlineCards : public QWidget {
    Q_OBJECT
public:
    explicit HeadlineCards(QWidget* parent = nullptr);

    void show_headlines(Headlines headlines);
    /// All of them, a line each.
    QString text() const;

Q_SIGNALS:
    void race_requested();  ///< what each run takes to one loss
    void resume_requested(qint64 run);
    void watch_requested(qint64 run);

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QWidget* card(const Headline& headline);

    QLabel *title_, *words_;
    QPushButton *race_, *ended_;  ///< To a loss; the run that ended before its last iteration
    QWidget* answer_;
    QHBoxLayout* row_;
    std::vector<QLabel*> captions_;  ///< of the cards
    Headlines shown_;
};

}  // namespace skippipe
