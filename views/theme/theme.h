// SPDX-License-Identifier: GPL-3.0-or-later
// Every colour and size of the window, once: Qt, ImGui and the curves read them here.
#pragma once
#include <array>
#include <optional>

#include <QColor>
#include <QFont>
#include <QString>

class QApplication;

namespace skippipe {

inline constexpr int stage_colours = 8, wait_colours = 8, memory_colours = 5;

struct Theme {
    bool dark = false;
    QColor surface, surface_2, line;  ///< canvas, panels, hairlines and fills
    QColor text, text_2;              ///< body, secondary
    QColor accent, on_accent;
    QColor good, warning, bad;
    std::array<QColor, stage_colours> stages;
    QColor reduction;                           ///< gradients being summed
    std::array<QColor, memory_colours> memory;  ///< weights, gradients, AdamW, scratch, activations: no stage's hues
    std::array<QColor, wait_colours>
        waits;  ///< activation, gradient, link, memory, collision, order, optimizer, replica

    /// The colour of a stage (or of the n-th run); beyond eight they repeat, see `hatched`.
    QColor stage(int index) const;
    /// True where a colour is used a second time and needs a hatch or a dash as well.
    static bool hatched(int index) { return index >= stage_colours; }
    /// Black or white text, whichever reads better on `fill`.
    QColor text_on(const QColor& fill) const;

    static const Theme& light();
    static const Theme& dark_theme();
};

/// Pixels at scale 1.
namespace size {
inline constexpr int unit = 4, gap = 8, wide_gap = 16, row = 28, radius = 4;
inline constexpr int tiny_text = 9, small_text = 11, body_text = 13, title_text = 16;
inline constexpr int rail = 64, bar = 44;
}  // namespace size

/// The theme in use.
const Theme& theme();
/// Sets style, palette, font and style sheet of the application.
void apply_theme(QApplication& application, bool dark);
/// What the desktop asks for: the portal's colour scheme, else the lightness of the given palette's window.
bool desktop_prefers_dark();
/// Whether the desktop was told to do without movement; where it cannot be asked: no.
bool desktop_prefers_stillness();

QFont body_font();
QFont small_font();
QFont bold_font();
QFont title_font();

/// WCAG contrast ratio, 1 to 21.
double contrast(const QColor& a, const QColor& b);
/// `a` with `share` (0..1) of `b` mixed in, in sRGB.
QColor mix(const QColor& a, const QColor& b, double share);
/// The style sheet made from a theme.
QString style_sheet(const Theme& theme);

}  // namespace skippipe
