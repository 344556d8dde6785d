// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <vector>

#include <QMenu>

#include "views/timeline/timeline_view.h"

namespace skippipe {

/// Those that timelines draw as gaps, in the order in which they are defined.
std::vector<IdleCause> drawn_causes();
/// A timeline that says what timelines draw: a lane a kind of span and a cause of idling, called what it is.
std::shared_ptr<const TimelineData> legend_data(const std::vector<IdleCause>& causes = drawn_causes(),
                                                bool with_down = true);

/// It as a view, as high as all of its lanes, to be looked at alone.
TimelineView* legend_view(QWidget* parent);
/// That view with these causes alone, in their order.
void show_causes(TimelineView& legend, const std::vector<IdleCause>& causes, bool with_down = true);
/// A menu that shows it.
QMenu* legend_menu(QWidget* parent);

}  // namespace skippipe
