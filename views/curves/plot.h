// SPDX-License-Identifier: GPL-3.0-or-later
// QCustomPlot. Its header is written with Qt's keywords, which this project does without.
#pragma once
#define signals Q_SIGNALS
#define slots Q_SLOTS
#define foreach Q_FOREACH
#include <qcustomplot.h>
#undef signals
#undef slots
#undef foreach

namespace skippipe {
/// Background, axes, grid and legend in the window's colours and fonts.
void apply_theme(QCustomPlot& plot);
}  // namespace skippipe
