// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/theme/fitted_edge.h"

#include <cstdlib>

#include "views/theme/widgets.h"

namespace skippipe {

FittedEdge::FittedEdge(QSplitter& splitter, int pane) : splitter_(splitter), pane_(pane) {
    splitter.setProperty(fits_by_itself, true);
    QObject::connect(&splitter, &QSplitter::splitterMoved, &splitter,
                     [&splitter] { splitter.setProperty(fits_by_itself, false); });
}

int FittedEdge::all() const {
    const auto sizes = splitter_.sizes();
    return sizes.front() + sizes.back();
}

bool FittedEdge::is_free() {
    if (!splitter_.isVisible()) return false;
    constexpr int rounding = 3;
    if (all() == all_ && std::abs(splitter_.sizes()[pane_] - put_) > rounding)  // moved, though the room is the same
        splitter_.setProperty(fits_by_itself, false);
    return splitter_.property(fits_by_itself).toBool();
}

void FittedEdge::put(int pixels) {
    all_ = all();
    put_ = pixels;
    splitter_.setSizes(pane_ == 0 ? QList{pixels, all_ - pixels} : QList{all_ - pixels, pixels});
}

}  // namespace skippipe
