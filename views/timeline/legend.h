// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>

#include <QMenu>

#include "views/timeline/lanes.h"

namespace skippipe {

/// A timeline that says what timelines draw: a lane a kind of span and a cause of idling, called what it is.
std::shared_ptr<const TimelineData> legend_data();

/// A menu that shows it, drawn as timelines are.
QMenu* legend_menu(QWidget* parent);

}  // namespace skippipe
