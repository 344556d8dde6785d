// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QSplitter>

namespace skippipe {

/// The edge between a splitter's two panes: a page puts it where it is best for the room there is, until somebody draws
/// it. Settings keep one that was drawn (`fits_by_itself`).
class FittedEdge {
public:
    /// `pane`, 0 or 1: the one whose pixels are given.
    FittedEdge(QSplitter& splitter, int pane);
    /// Whether the page may put it somewhere: the panes have their sizes, and nobody drew it.
    bool is_free();
    /// Pixels of both panes.
    int all() const;
    /// The pane gets so many; call where the edge is free.
    void put(int pixels);

private:
    QSplitter& splitter_;
    int pane_, put_ = 0, all_ = 0;  ///< where it was put, and of how many pixels
};

}  // namespace skippipe
