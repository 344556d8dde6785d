// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QImage>

#include "views/imgui/compat.h"

namespace skippipe {

/// An 8-bit coverage texture (the font atlas).
struct AlphaTexture {
    const unsigned char* pixels = nullptr;
    int width = 0, height = 0;
};

/// Draws ImGui's triangles into an image (Format_RGB32, physical pixels): colours interpolated over vertices, textured
/// by coverage, clipped; axis-aligned rectangles and glyphs take a short way. The same pixels on every machine.
void rasterise(const ImDrawData& data, const AlphaTexture& texture, QImage& target);

}  // namespace skippipe
