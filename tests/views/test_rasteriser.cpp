// SPDX-License-Identifier: GPL-3.0-or-later
#include <QElapsedTimer>
#include <QtTest>

#include <imgui.h>
#include <imgui_internal.h>

#include "views/imgui/atlas.h"
#include "views/imgui/compat.h"
#include "views/imgui/rasteriser.h"

using namespace skippipe;

namespace {

/// One draw list of our own over a 100 x 60 field.
class Canvas {
public:
    explicit Canvas(float scale = 1) : list(&shared), scale_(scale) {
        pixels_.assign(16, 255);
        shared.TexUvWhitePixel = {0.5f, 0.5f};
        list._ResetForNewFrame();
        list.PushTextureID(nullptr);
        list.PushClipRect({0, 0}, {100, 60});
    }
    QImage draw() {
        ImDrawData data;
        ImDrawList* lists[] = {&list};
        data.Valid = true;
        compat::set_lists(data, lists, 1);
        data.DisplaySize = {100, 60};
        data.FramebufferScale = {scale_, scale_};
        QImage image(static_cast<int>(100 * scale_), static_cast<int>(60 * scale_), QImage::Format_RGB32);
        image.fill(Qt::white);
        rasterise(data, {pixels_.data(), 4, 4}, image);
        return image;
    }

    ImDrawListSharedData shared;
    ImDrawList list;

private:
    std::vector<unsigned char> pixels_;
    float scale_;
};

int count(const QImage& image, QRgb colour) {
    int n = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x) n += image.pixel(x, y) == colour;
    return n;
}

}  // namespace

class TestRasteriser : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void rectangles_cover_their_pixels_exactly() {
        Canvas canvas;
        canvas.list.AddRectFilled({10, 5}, {30, 15}, IM_COL32(255, 0, 0, 255));
        const QImage image = canvas.draw();
        QCOMPARE(count(image, qRgb(255, 0, 0)), 20 * 10);
        QCOMPARE(image.pixel(10, 5), qRgb(255, 0, 0));
        QCOMPARE(image.pixel(30, 5), qRgb(255, 255, 255));
    }

    void clips_and_scales() {
        Canvas canvas(2);
        canvas.list.PushClipRect({0, 0}, {20, 60}, true);
        canvas.list.AddRectFilled({10, 5}, {30, 15}, IM_COL32(0, 0, 255, 255));
        QCOMPARE(count(canvas.draw(), qRgb(0, 0, 255)), 20 * 20);
    }

    void half_transparent_is_half_way() {
        Canvas canvas;
        canvas.list.AddRectFilled({0, 0}, {10, 10}, IM_COL32(0, 0, 0, 128));
        const int grey = qRed(canvas.draw().pixel(5, 5));
        QVERIFY2(std::abs(grey - 127) <= 1, qPrintable(QString::number(grey)));
    }

    void triangles_meet_without_seam_or_overlap() {
        Canvas canvas;
        canvas.list.Flags = 0;
        // A quadrilateral that is no rectangle: two triangles sharing a diagonal, half transparent so that overlap
        // would show.
        canvas.list.AddQuadFilled({5, 5}, {60, 10}, {70, 50}, {10, 40}, IM_COL32(0, 0, 0, 128));
        const QImage image = canvas.draw();
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width(); ++x) QVERIFY(qRed(image.pixel(x, y)) >= 126);
        for (int i = 12; i < 45; ++i) QVERIFY(qRed(image.pixel(20 + i / 2, i)) < 255);
    }

    void text_and_hatches_come_from_the_atlas() {
        const auto atlas = Atlas::at_scale(1, true);
        unsigned char* pixels = nullptr;
        int width = 0, height = 0;
        atlas->fonts.GetTexDataAsAlpha8(&pixels, &width, &height);
        const auto* glyph = atlas->body->FindGlyph('M');
        int ink = 0;
        for (int y = static_cast<int>(glyph->V0 * height); y < static_cast<int>(glyph->V1 * height); ++y)
            for (int x = static_cast<int>(glyph->U0 * width); x < static_cast<int>(glyph->U1 * width); ++x)
                ink += pixels[y * width + x] > 128;
        QVERIFY2(ink > 15, "the letter M is drawn in the atlas");
        for (const auto& tile : atlas->hatches) {
            double sum = 0;
            for (int y = 0; y < hatch_tile; ++y)
                for (int x = 0; x < hatch_tile; ++x)
                    sum += pixels[(static_cast<int>(tile.uv0.y * height) + y) * width +
                                  static_cast<int>(tile.uv0.x * width) + x];
            const double share = sum / 255 / hatch_tile / hatch_tile;
            QVERIFY2(share > 0.02 && share < 0.6, qPrintable(QString::number(share)));
        }
    }
};

QTEST_MAIN(TestRasteriser)
#include "test_rasteriser.moc"
