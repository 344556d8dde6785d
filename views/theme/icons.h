// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QIcon>

namespace skippipe {

enum class Icon { design, watch, compare };
/// Line icons in the theme's text colours, sharp at every scale.
QIcon icon(Icon which);

}  // namespace skippipe
