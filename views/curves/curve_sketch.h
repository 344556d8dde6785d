// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QWidget>

namespace skippipe {

/// What kind of picture will stand in a place that has none yet: a pale curve with its band, between axes that have
/// names and no numbers.
class CurveSketch : public QWidget {
public:
    /// What its axes are.
    CurveSketch(QString x, QString y, QWidget* parent = nullptr);
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent*) override;

private:
    QString x_, y_;
};

}  // namespace skippipe
