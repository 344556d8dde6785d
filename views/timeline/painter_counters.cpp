// SPDX-License-Identifier: GPL-3.0-or-later
// Counters above the lanes, and the moment that other views show.
#include <algorithm>
#include <cmath>

#include "views/timeline/painter.h"

namespace skippipe {
/// A strip a counter: as high as the most in sight, which is written beside it.
void TimelinePainter::counters() {
    const TimelineBands bands = view_.bands();
    if (bands.counters <= 0) return;
    const auto& profile = view_.counters_in_sight();
    for (std::size_t c = 0; c < view_.counter_count(); ++c) {
        const double top = bands.counters_top() + static_cast<double>(c) * counter_height,
                     bottom = top + counter_height - 1;
        box(0, top, view_.width(), bottom, packed(theme_.surface));
        box(0, bottom, view_.width(), bottom + 1, packed(theme_.line));
        const auto& values = profile[c];
        const float most = values.empty() ? 0 : *std::max_element(values.begin(), values.end());
        text(8, top + 1, theme_.text_2, counter_name(static_cast<Counter>(c)).toStdString());
        text(8, top + 13, theme_.text, counter_words(static_cast<Counter>(c), most).toStdString());
        if (most <= 0) continue;
        const double full = static_cast<Counter>(c) >= Counter::busy ? 1 : most, tall = counter_height - 4;
        const ImU32 fill = packed(mix(theme_.surface, theme_.accent, 0.55));
        for (std::size_t k = 0; k < values.size(); ++k) {
            if (values[k] <= 0) continue;
            const double x = scale_.left + static_cast<double>(k) * counter_step;
            box(x, bottom - tall * values[k] / full, std::min(x + counter_step, scale_.right), bottom, fill);
        }
    }
}

/// A line through all lanes with a handle on the axis.
void TimelinePainter::moment() {
    if (!view_.moment_ || *view_.moment_ < scale_.begin || *view_.moment_ > scale_.end) return;
    const TimelineBands bands = view_.bands();
    const auto x = static_cast<float>(std::floor(scale_.x(*view_.moment_)));
    const auto top = static_cast<float>(bands.ruler_top() - 2 * moment_handle - 1),
               point = static_cast<float>(bands.ruler_top() - 1), half = static_cast<float>(moment_handle);
    // Not through the ruler, whose numbers it would strike out.
    constexpr int dash = 4, step = 6;
    const double from = bands.counters_top();
    for (int k = 0; from + k * step < view_.height(); ++k)
        box(x, from + k * step, x + 1, std::min(from + k * step + dash, static_cast<double>(view_.height())),
            packed(theme_.text));
    const float right = std::min(x + half + 1, static_cast<float>(view_.width()));  // whole at the edge as well
    list_.AddTriangleFilled({right - 2 * half - 1, top}, {right, top}, {std::min(x + 0.5f, right), point},
                            packed(theme_.text));
}

}  // namespace skippipe
