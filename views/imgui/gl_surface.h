// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "views/imgui/host.h"

namespace skippipe {

/// The painter all hosts use: what was chosen, else what the probe found.
ImGuiPainter chosen_painter();

/// A GL window inside a widget that fills `host`; it draws the host's frames and passes events on to it. The container
/// owns it.
struct GlView {
    QWidget* container = nullptr;
    QWindow* window = nullptr;
};
GlView make_gl_view(ImGuiHost& host);

}  // namespace skippipe
