// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QWidget>

namespace skippipe {

/// Says what a network that is watched draws: lines, what is under way on them, and the gauge round a node. A row each,
/// sample and words.
class TrafficKey final : public QWidget {
    Q_OBJECT
public:
    explicit TrafficKey(QWidget* parent = nullptr);
    QSize sizeHint() const override;
    /// A row's words, from the top.
    static QStringList words();

protected:
    void paintEvent(QPaintEvent*) override;
};

}  // namespace skippipe
