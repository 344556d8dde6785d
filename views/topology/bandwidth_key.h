// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QTabWidget>

#include "views/document/document.h"

namespace skippipe {

class TopologyView;

/// Which lines of a canvas are the slowest and the fastest links, drawn as they are there: beside the tabs that hold
/// it, where they leave room. Hidden where all links are alike.
class BandwidthKey : public QWidget {
    Q_OBJECT
public:
    BandwidthKey(const Document& document, const TopologyView& canvas, QTabWidget& tabs);
    QString words() const;
    /// Nothing where it is hidden: tabs leave room for what stands beside them whether it is seen or not.
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent*) override;
    bool eventFilter(QObject*, QEvent*) override;

private:
    void follow();
    int width_of_key() const;

    const Document& document_;
    const TopologyView& canvas_;
    double slowest_bytes_per_s_ = 0, fastest_bytes_per_s_ = 0;
    QTabWidget& tabs_;
};

}  // namespace skippipe
