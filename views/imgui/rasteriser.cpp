// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/imgui/rasteriser.h"

#include <algorithm>
#include <cmath>
#include <cstdint>

namespace skippipe {
namespace {

struct Clip {
    int x0, y0, x1, y1;
};

/// Two channels at a time: x * a / 255, rounded.
inline std::uint32_t scaled(std::uint32_t channels, std::uint32_t a) {
    const std::uint32_t t = channels * a + 0x00800080u;
    return ((t + ((t >> 8) & 0x00FF00FFu)) >> 8) & 0x00FF00FFu;
}

inline std::uint32_t blend(std::uint32_t below, std::uint32_t rgb, std::uint32_t alpha) {
    const std::uint32_t rb = scaled(rgb & 0x00FF00FFu, alpha) + scaled(below & 0x00FF00FFu, 255 - alpha);
    const std::uint32_t g = scaled((rgb >> 8) & 0xFFu, alpha) + scaled((below >> 8) & 0xFFu, 255 - alpha);
    return 0xFF000000u | rb | (g << 8);
}

/// ImGui's ABGR to Qt's RGB; alpha apart.
inline std::uint32_t to_rgb(ImU32 colour) {
    return ((colour & 0xFFu) << 16) | (colour & 0xFF00u) | ((colour >> 16) & 0xFFu);
}

/// The first pixel whose centre is not left of `edge`.
inline int pixel(float edge) { return static_cast<int>(std::ceil(edge - 0.5f)); }

class Painter {
public:
    Painter(const ImDrawData& data, const AlphaTexture& texture, QImage& target)
        : texture_(texture),
          bits_(reinterpret_cast<std::uint32_t*>(target.bits())),
          stride_(target.bytesPerLine() / 4),
          width_(target.width()),
          height_(target.height()),
          origin_(data.DisplayPos),
          scale_(data.FramebufferScale) {}

    void draw(const ImDrawList& list) {
        for (const auto& command : list.CmdBuffer) {
            if (command.UserCallback != nullptr || command.ElemCount == 0) continue;
            if (!set_clip(command.ClipRect)) continue;
            triangles(list.VtxBuffer.Data + command.VtxOffset, list.IdxBuffer.Data + command.IdxOffset,
                      static_cast<int>(command.ElemCount));
        }
    }

private:
    bool set_clip(const ImVec4& rect) {
        clip_ = {std::max(0, pixel((rect.x - origin_.x) * scale_.x)),
                 std::max(0, pixel((rect.y - origin_.y) * scale_.y)),
                 std::min(width_, pixel((rect.z - origin_.x) * scale_.x)),
                 std::min(height_, pixel((rect.w - origin_.y) * scale_.y))};
        return clip_.x0 < clip_.x1 && clip_.y0 < clip_.y1;
    }

    ImVec2 place(const ImDrawVert& v) const {
        return {(v.pos.x - origin_.x) * scale_.x, (v.pos.y - origin_.y) * scale_.y};
    }

    /// Six indices a b c a c d over an upright rectangle of one colour: what ImGui makes of rectangles and glyphs.
    static bool is_rectangle(const ImDrawVert* v, const ImDrawIdx* i) {
        if (i[3] != i[0] || i[4] != i[2]) return false;
        const auto &a = v[i[0]], &b = v[i[1]], &c = v[i[2]], &d = v[i[5]];
        return a.pos.y == b.pos.y && b.pos.x == c.pos.x && c.pos.y == d.pos.y && d.pos.x == a.pos.x && a.col == b.col &&
               a.col == c.col && a.col == d.col;
    }

    void triangles(const ImDrawVert* v, const ImDrawIdx* i, int count) {
        for (int n = 0; n + 2 < count;) {
            if (n + 5 < count && is_rectangle(v, i + n)) {
                rectangle(v[i[n]], v[i[n + 2]]);
                n += 6;
            } else {
                triangle(v[i[n]], v[i[n + 1]], v[i[n + 2]]);
                n += 3;
            }
        }
    }

    void rectangle(const ImDrawVert& a, const ImDrawVert& c) {
        const ImVec2 p = place(a), q = place(c);
        const int x0 = std::max(clip_.x0, pixel(p.x)), x1 = std::min(clip_.x1, pixel(q.x));
        const int y0 = std::max(clip_.y0, pixel(p.y)), y1 = std::min(clip_.y1, pixel(q.y));
        if (x0 >= x1 || y0 >= y1) return;
        const std::uint32_t rgb = to_rgb(a.col), alpha = a.col >> 24;
        if (a.uv.x == c.uv.x && a.uv.y == c.uv.y)
            fill(x0, y0, x1, y1, rgb, alpha);
        else
            glyph(x0, y0, x1, y1, p, q, a.uv, c.uv, rgb, alpha);
    }

    void fill(int x0, int y0, int x1, int y1, std::uint32_t rgb, std::uint32_t alpha) {
        for (int y = y0; y < y1; ++y) {
            std::uint32_t* line = bits_ + y * stride_;
            if (alpha == 255)
                std::fill(line + x0, line + x1, 0xFF000000u | rgb);
            else
                for (int x = x0; x < x1; ++x) line[x] = blend(line[x], rgb, alpha);
        }
    }

    void glyph(int x0, int y0, int x1, int y1, ImVec2 p, ImVec2 q, ImVec2 uv0, ImVec2 uv1, std::uint32_t rgb,
               std::uint32_t alpha) {
        const float du = (uv1.x - uv0.x) * static_cast<float>(texture_.width) / (q.x - p.x);
        const float dv = (uv1.y - uv0.y) * static_cast<float>(texture_.height) / (q.y - p.y);
        const float u0 = uv0.x * static_cast<float>(texture_.width), v0 = uv0.y * static_cast<float>(texture_.height);
        for (int y = y0; y < y1; ++y) {
            const int ty =
                std::clamp(static_cast<int>(v0 + (static_cast<float>(y) + 0.5f - p.y) * dv), 0, texture_.height - 1);
            const unsigned char* texels = texture_.pixels + static_cast<std::ptrdiff_t>(ty) * texture_.width;
            std::uint32_t* line = bits_ + y * stride_;
            float u = u0 + (static_cast<float>(x0) + 0.5f - p.x) * du;
            for (int x = x0; x < x1; ++x, u += du) {
                const std::uint32_t coverage = texels[std::clamp(static_cast<int>(u), 0, texture_.width - 1)];
                if (coverage != 0) line[x] = blend(line[x], rgb, (coverage * alpha + 127) / 255);
            }
        }
    }

    void triangle(const ImDrawVert& va, const ImDrawVert& vb, const ImDrawVert& vc) {
        const ImVec2 a = place(va), b = place(vb), c = place(vc);
        const float area = (b.x - a.x) * (c.y - a.y) - (b.y - a.y) * (c.x - a.x);
        if (area == 0) return;
        const int x0 = std::max(clip_.x0, pixel(std::min({a.x, b.x, c.x}))),
                  x1 = std::min(clip_.x1, pixel(std::max({a.x, b.x, c.x})));
        const int y0 = std::max(clip_.y0, pixel(std::min({a.y, b.y, c.y}))),
                  y1 = std::min(clip_.y1, pixel(std::max({a.y, b.y, c.y})));
        const float inverse = 1 / area;
        const bool flat = va.col == vb.col && va.col == vc.col;
        const float texel = sample(va.uv);
        for (int y = y0; y < y1; ++y) {
            std::uint32_t* line = bits_ + y * stride_;
            const float py = static_cast<float>(y) + 0.5f;
            for (int x = x0; x < x1; ++x) {
                const float px = static_cast<float>(x) + 0.5f;
                const float wb = ((px - a.x) * (c.y - a.y) - (py - a.y) * (c.x - a.x)) * inverse;
                const float wc = ((b.x - a.x) * (py - a.y) - (b.y - a.y) * (px - a.x)) * inverse;
                const float wa = 1 - wb - wc;
                // An edge shared by two triangles belongs to one of them only.
                if (wa < 0 || wb <= 0 || wc < 0) continue;
                const ImU32 colour = flat ? va.col : interpolate(va.col, vb.col, vc.col, wa, wb, wc);
                const auto alpha = static_cast<std::uint32_t>(static_cast<float>(colour >> 24) * texel + 0.5f);
                if (alpha != 0) line[x] = blend(line[x], to_rgb(colour), alpha);
            }
        }
    }

    static ImU32 interpolate(ImU32 a, ImU32 b, ImU32 c, float wa, float wb, float wc) {
        ImU32 result = 0;
        for (int shift = 0; shift < 32; shift += 8) {
            const float value = static_cast<float>((a >> shift) & 255) * wa +
                                static_cast<float>((b >> shift) & 255) * wb +
                                static_cast<float>((c >> shift) & 255) * wc;
            result |= static_cast<ImU32>(std::clamp(value + 0.5f, 0.0f, 255.0f)) << shift;
        }
        return result;
    }

    /// Triangles that are no rectangle lie on the atlas' white texel.
    float sample(ImVec2 uv) const {
        const int x = std::clamp(static_cast<int>(uv.x * static_cast<float>(texture_.width)), 0, texture_.width - 1);
        const int y = std::clamp(static_cast<int>(uv.y * static_cast<float>(texture_.height)), 0, texture_.height - 1);
        return static_cast<float>(texture_.pixels[static_cast<std::ptrdiff_t>(y) * texture_.width + x]) / 255.0f;
    }

    const AlphaTexture& texture_;
    std::uint32_t* bits_;
    std::ptrdiff_t stride_;
    int width_, height_;
    ImVec2 origin_, scale_;
    Clip clip_{};
};

}  // namespace

void rasterise(const ImDrawData& data, const AlphaTexture& texture, QImage& target) {
    if (target.format() != QImage::Format_RGB32 || texture.pixels == nullptr) return;
    Painter painter(data, texture, target);
    for (int i = 0; i < data.CmdListsCount; ++i) painter.draw(*data.CmdLists[i]);
}

}  // namespace skippipe
