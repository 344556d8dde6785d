// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <QHBoxLayout>
#include <QWidget>

#include "views/compare/headlines.h"

namespace skippipe {

/// Headlines beside each other; hidden where there are none.
class HeadlineCards : public QWidget {
    Q_OBJECT
public:
    explicit HeadlineCards(QWidget* parent = nullptr);

    void show_headlines(std::vector<Headline> headlines);
    /// All of them, a line each.
    QString text() const;

private:
    QWidget* card(const Headline& headline);

    QHBoxLayout* row_;
    std::vector<Headline> shown_;
};

}  // namespace skippipe
