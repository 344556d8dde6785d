// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QTabWidget>

#include "views/document/document.h"
#include "views/topology/link_words.h"

namespace skippipe {

class TopologyView;

/// What a canvas draws besides names: which lines are the slowest and the fastest links, as they are there, and the
/// mark of what is critical. It stands beside the tabs that hold the canvas, as much of it as they leave room for;
/// hidden where there is nothing to tell apart.
class CanvasKey : public QWidget {
    Q_OBJECT
public:
    CanvasKey(const Document& document, const TopologyView& canvas, QTabWidget& tabs);
    /// Whether something of the canvas is marked as critical.
    void show_critical(bool on);
    bool has_bandwidths() const { return has_bandwidths_; }
    bool has_critical() const { return has_critical_; }
    QString words() const;
    /// Nothing where it is hidden: tabs leave room for what stands beside them whether it is seen or not.
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent*) override;
    bool eventFilter(QObject*, QEvent*) override;

private:
    void follow();
    int width_of_bandwidths() const;
    QString range_words() const;
    int width_of_key() const;

    const Document& document_;
    const TopologyView& canvas_;
    BandwidthRange range_;
    QTabWidget& tabs_;
    bool is_critical_ = false;                            ///< something is
    bool has_bandwidths_ = false, has_critical_ = false;  ///< the entries that have room
    bool is_brief_ = false;                               ///< both bandwidths beside one line that widens
    bool has_mark_alone_ = false;                         ///< of what is critical, without words
};

}  // namespace skippipe
