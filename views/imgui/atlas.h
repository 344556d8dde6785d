// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <memory>

#include <QFont>

#include "views/imgui/compat.h"

namespace skippipe {

inline constexpr int hatch_patterns = 14;  ///< from first_along on they run along x alone
inline constexpr int first_along = 9;
inline constexpr int hatch_tile = 64;  ///< pixels at scale 1, both ways

/// The texture that ImGui draws with: the system's font, rasterised by Qt so that text is the same everywhere, and
/// hatches.
struct Atlas {
    ImFontAtlas fonts;
    ImFont* body = nullptr;
    ImFont* small = nullptr;
    ImFont* tiny = nullptr;  ///< for names of lanes that are too low for the others
    struct Tile {
        ImVec2 uv0, uv1;
    };
    std::array<Tile, hatch_patterns> hatches;
    double scale = 1;

    /// Shared by all painters on the processor of one scale; `own` makes a new one (a GL context keeps its texture
    /// itself).
    static std::shared_ptr<Atlas> at_scale(double device_pixel_ratio, bool own = false);
};

/// Alpha of a hatch pattern at a place, in pixels at scale 1; each repeats within hatch_tile both ways.
double hatch_alpha(int pattern, double x, double y);

/// Fills a rectangle with a hatch in `colour`. Patterns line up between neighbours and begin at the top: in every row
/// a cause looks the same.
void add_hatch(ImDrawList& list, const Atlas& atlas, int pattern, ImVec2 from, ImVec2 to, ImU32 colour);

}  // namespace skippipe
