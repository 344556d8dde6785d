// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QPainter>
#include <QString>

#include "core/experiment/document.h"

namespace skippipe {

/// What a network that has begun still wants before it can be planned; empty: nothing.
QString next_step(const Experiment& experiment);
/// Three steps to a first plan, in the middle of an empty canvas of that size.
void draw_first_steps(QPainter& painter, QSize room);

}  // namespace skippipe
