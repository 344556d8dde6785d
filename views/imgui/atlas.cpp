// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/imgui/atlas.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include <QFontMetricsF>
#include <QImage>
#include <QPainter>

#include "views/theme/theme.h"

namespace skippipe {
namespace {

struct Glyph {
    int rect = -1;
    QImage image;
};

std::u16string characters() {
    std::u16string text;
    for (char16_t c = 0x20; c < 0x7F; ++c) text += c;
    for (char16_t c = 0xA0; c < 0x180; ++c) text += c;
    return text +
           u"\u2009\u2013\u2014\u2018\u2019\u201C\u201D\u2026\u2190\u2191\u2192\u2193\u2212\u0394\u03BC\u2264\u2265"
           u"\u00D7";
}

QImage draw_glyph(const QFont& font, char16_t c, const QRect& box) {
    QImage image(box.size(), QImage::Format_Grayscale8);
    image.fill(Qt::black);
    QPainter painter(&image);
    painter.setFont(font);
    painter.setPen(Qt::white);
    painter.drawText(QPointF(-box.left(), -box.top()), QString(QChar(c)));
    return image;
}

ImFont* add_font(ImFontAtlas& atlas, QFont qt_font, double scale, std::vector<Glyph>& glyphs) {
    qt_font.setPixelSize(static_cast<int>(std::lround(qt_font.pixelSize() * scale)));
    const QFontMetricsF metrics(qt_font);
    const double ascent = std::round(metrics.ascent()), height = std::ceil(metrics.ascent() + metrics.descent());
    // ImGui wants one font source; of its own font only the blank is taken.
    static const ImWchar blank[] = {' ', ' ', 0};
    ImFontConfig config;
    config.GlyphRanges = blank;
    config.SizePixels = static_cast<float>(height);
    ImFont* font = atlas.AddFontDefault(&config);
    for (const char16_t c : characters()) {
        const QString text{QChar(c)};
        QRect box = metrics.boundingRect(text).toAlignedRect().adjusted(-1, -1, 1, 1);
        if (box.isEmpty()) box = QRect(0, 0, 1, 1);
        Glyph glyph;
        glyph.image = draw_glyph(qt_font, c, box);
        glyph.rect = atlas.AddCustomRectFontGlyph(
            font, c, box.width(), box.height(), static_cast<float>(std::round(metrics.horizontalAdvance(text))),
            ImVec2(static_cast<float>(box.left()), static_cast<float>(ascent + box.top())));
        glyphs.push_back(std::move(glyph));
    }
    return font;
}

void copy_glyphs(Atlas& atlas, const std::vector<Glyph>& glyphs) {
    unsigned char* pixels = nullptr;
    int width = 0, height = 0;
    atlas.fonts.GetTexDataAsAlpha8(&pixels, &width, &height);
    for (const auto& glyph : glyphs) {
        const auto* rect = atlas.fonts.GetCustomRectByIndex(glyph.rect);
        for (int y = 0; y < rect->Height; ++y)
            std::memcpy(pixels + (rect->Y + y) * width + rect->X, glyph.image.constScanLine(y), rect->Width);
    }
}

void draw_hatches(Atlas& atlas, const std::array<int, hatch_patterns>& rects) {
    unsigned char* pixels = nullptr;
    int width = 0, height = 0;
    atlas.fonts.GetTexDataAsAlpha8(&pixels, &width, &height);
    for (std::size_t pattern = 0; pattern < rects.size(); ++pattern) {
        const auto* rect = atlas.fonts.GetCustomRectByIndex(rects[pattern]);
        for (int y = 0; y < rect->Height; ++y)
            for (int x = 0; x < rect->Width; ++x)
                pixels[(rect->Y + y) * width + rect->X + x] = static_cast<unsigned char>(
                    255 * hatch_alpha(static_cast<int>(pattern), (x + 0.5) / atlas.scale, (y + 0.5) / atlas.scale));
        auto& tile = atlas.hatches[pattern];
        atlas.fonts.CalcCustomRectUV(rect, &tile.uv0, &tile.uv1);
    }
}

std::shared_ptr<Atlas> make_atlas(double scale) {
    auto atlas = std::make_shared<Atlas>();
    atlas->scale = scale;
    atlas->fonts.Flags |= ImFontAtlasFlags_NoBakedLines | ImFontAtlasFlags_NoMouseCursors;
    std::vector<Glyph> glyphs;
    atlas->body = add_font(atlas->fonts, body_font(), scale, glyphs);
    atlas->small = add_font(atlas->fonts, small_font(), scale, glyphs);
    QFont tiny = small_font();
    tiny.setPixelSize(size::tiny_text);
    atlas->tiny = add_font(atlas->fonts, tiny, scale, glyphs);
    std::array<int, hatch_patterns> rects{};
    const int tile = static_cast<int>(std::lround(hatch_tile * scale));
    for (auto& rect : rects) rect = atlas->fonts.AddCustomRectRegular(tile, tile);
    atlas->fonts.Build();
    for (auto [font, qt_font] :
         {std::pair{atlas->body, body_font()}, std::pair{atlas->small, small_font()}, std::pair{atlas->tiny, tiny}}) {
        qt_font.setPixelSize(static_cast<int>(std::lround(qt_font.pixelSize() * scale)));
        const QFontMetricsF metrics(qt_font);
        compat::set_metrics(*font, static_cast<float>(std::ceil(metrics.ascent() + metrics.descent())),
                            static_cast<float>(metrics.ascent()), static_cast<float>(-metrics.descent()));
        font->FallbackAdvanceX = font->GetCharAdvance(' ');
    }
    copy_glyphs(*atlas, glyphs);
    draw_hatches(*atlas, rects);
    return atlas;
}

}  // namespace

std::shared_ptr<Atlas> Atlas::at_scale(double device_pixel_ratio, bool own) {
    if (own) return make_atlas(device_pixel_ratio);
    static std::map<double, std::weak_ptr<Atlas>> shared;
    auto& known = shared[device_pixel_ratio];
    auto atlas = known.lock();
    if (!atlas) known = atlas = make_atlas(device_pixel_ratio);
    return atlas;
}

double hatch_alpha(int pattern, double x, double y) {
    const auto stripe = [](double v, double period, double width) {
        const double distance = std::abs(std::remainder(v, period));
        return std::clamp(width / 2 + 0.5 - distance, 0.0, 1.0);
    };
    const double root = std::sqrt(2.0);
    switch (pattern) {
        case 0: return stripe((x + y) / root, 8 / root, 1);
        case 1: return stripe((x - y) / root, 8 / root, 1);
        case 2: return std::max(stripe((x + y) / root, 16 / root, 1), stripe((x - y) / root, 16 / root, 1));
        case 3: return stripe(x - 0.5, 8, 1);  // on pixels: between two it would be half as dark on both
        case 4: return stripe(y - 2.5, 4, 1);
        case 5: return stripe(x, 8, 2) * stripe(y - 4, 8, 2);
        case 6: return stripe((x + y) / root, 16 / root, 2);
        case 8: return std::fmod(x + y, 16) < 9 ? stripe((x - y) / root, 8 / root, 1) : 0;
        case 9: return stripe(x - 8, 16, 9);
        case 10: return stripe(x - 4, 8, 4);
        case 11: return std::max(stripe(x - 5, 16, 7), stripe(x - 13, 16, 2));
        case 12: return stripe(x - 4, 8, 2);
        case 13: return stripe(x - 2, 4, 1);
        default: return std::max(stripe(x - 0.5, 8, 1), stripe(y - 4.5, 8, 1));
    }
}

void add_hatch(ImDrawList& list, const Atlas& atlas, int pattern, ImVec2 from, ImVec2 to, ImU32 colour) {
    const auto& tile = atlas.hatches[static_cast<std::size_t>(pattern % hatch_patterns)];
    const float side = hatch_tile;
    const auto u = [&](float x, float origin) { return tile.uv0.x + (tile.uv1.x - tile.uv0.x) * (x - origin) / side; };
    const auto v = [&](float y, float origin) { return tile.uv0.y + (tile.uv1.y - tile.uv0.y) * (y - origin) / side; };
    for (float y = std::floor(from.y); y < to.y; y += side)
        for (float x = std::floor(from.x / side) * side; x < to.x; x += side) {
            const ImVec2 a{std::max(x, from.x), std::max(y, from.y)},
                b{std::min(x + side, to.x), std::min(y + side, to.y)};
            list.PrimReserve(6, 4);
            list.PrimRectUV(a, b, {u(a.x, x), v(a.y, y)}, {u(b.x, x), v(b.y, y)}, colour);
        }
}

}  // namespace skippipe
