// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QString>
#include <QWidget>

namespace skippipe {

/// A cell's ground: 0 is the quickest of the values that are shown, 1 the slowest.
QColor heat_colour(double heat);

/// What the colours of the matrix say: from the quickest value to the slowest, over a logarithmic scale.
class HeatKey : public QWidget {
    Q_OBJECT
public:
    explicit HeatKey(QWidget* parent = nullptr);
    /// The figures at the ends, whose unit stands beside it; empty: all values are the same, or there are none, and
    /// nothing is shown.
    void show_ends(const QString& quickest, const QString& slowest, const QString& unit);
    const QString& quickest() const { return quickest_; }
    const QString& slowest() const { return slowest_; }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    void paintEvent(QPaintEvent*) override;

private:
    QString quickest_, slowest_;
};

}  // namespace skippipe
