// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>

#include <QMenu>

#include "views/timeline/timeline_view.h"

namespace skippipe {

/// A timeline that says what timelines draw: a lane a kind of span and a cause of idling, called what it is.
std::shared_ptr<const TimelineData> legend_data();

/// It as a view, as high as all of its lanes, to be looked at alone.
TimelineView* legend_view(QWidget* parent);
/// A menu that shows it.
QMenu* legend_menu(QWidget* parent);

}  // namespace skippipe
