// SPDX-License-Identifier: GPL-3.0-or-later
// What differs between Dear ImGui 1.86 (Debian 12) and 1.92, in one place.
#pragma once
#include <imgui.h>

namespace skippipe::compat {

inline void set_mouse_position(ImGuiIO& io, float x, float y) {
#if IMGUI_VERSION_NUM >= 18700
    io.AddMousePosEvent(x, y);
#else
    io.MousePos = ImVec2(x, y);
#endif
}

inline void set_mouse_button(ImGuiIO& io, int button, bool down) {
#if IMGUI_VERSION_NUM >= 18700
    io.AddMouseButtonEvent(button, down);
#else
    io.MouseDown[button] = down;
#endif
}

inline void add_wheel(ImGuiIO& io, float x, float y) {
#if IMGUI_VERSION_NUM >= 18700
    io.AddMouseWheelEvent(x, y);
#else
    io.MouseWheelH += x;
    io.MouseWheel += y;
#endif
}

inline void set_modifiers(ImGuiIO& io, bool control, bool shift, bool alt) {
#if IMGUI_VERSION_NUM >= 18700
    io.AddKeyEvent(ImGuiMod_Ctrl, control);
    io.AddKeyEvent(ImGuiMod_Shift, shift);
    io.AddKeyEvent(ImGuiMod_Alt, alt);
#else
    io.KeyCtrl = control;
    io.KeyShift = shift;
    io.KeyAlt = alt;
#endif
}

/// Line height of a font whose glyphs were drawn elsewhere.
inline void set_metrics(ImFont& font, float size, float ascent, float descent) {
#if IMGUI_VERSION_NUM < 19200
    font.FontSize = size;
#else
    font.LegacySize = size;
#endif
#if IMGUI_VERSION_NUM < 19200
    font.Ascent = ascent;
    font.Descent = descent;
#else
    (void)ascent;
    (void)descent;
#endif
}

/// Draw data of draw lists that belong to the caller.
inline void set_lists(ImDrawData& data, ImDrawList** lists, int count) {
#if IMGUI_VERSION_NUM < 18973
    data.CmdLists = lists;
#else
    data.CmdLists.clear();
    for (int i = 0; i < count; ++i) data.CmdLists.push_back(lists[i]);
#endif
    data.CmdListsCount = count;
}

}  // namespace skippipe::compat
