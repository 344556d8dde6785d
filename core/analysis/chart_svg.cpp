// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/chart_svg.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/analysis/markup.h"
#include "core/analysis/palette.h"
#include "core/base/format.h"

namespace skippipe {
namespace {

constexpr double left_px = 64, right_px = 16, head_px = 12, foot_px = 48, key_row_px = 18;

/// Values that differ by their rounding alone are one: an axis around them, `below` of it below them.
void widen(double& low, double& high, double below) {
    const double size = std::max(std::abs(low), std::abs(high));
    if (high - low > 1e-12 * size) return;
    const double extent = std::max(1.0, 1e-6 * size);
    low -= below * extent;
    high = low + extent;
}

/// The multiples of `step` from `low` to `high`.
std::vector<double> ticks(double low, double high, double step) {
    std::vector<double> places;
    const double first = std::ceil(low / step);
    const int count = static_cast<int>(std::clamp(std::floor(high / step) - first + 1, 0.0, 100.0));
    places.reserve(static_cast<std::size_t>(count));
    for (int i = 0; i < count; ++i) places.push_back((first + i) * step);
    return places;
}

class Chart {
public:
    Chart(const std::vector<ChartLine>& lines, const ChartOptions& options) : lines_(lines), options_(options) {
        for (const auto& line : lines)
            for (const auto& point : line.points) {
                if (!std::isfinite(point.x) || !std::isfinite(point.y)) continue;
                low_x_ = any_ ? std::min(low_x_, point.x) : point.x;
                high_x_ = any_ ? std::max(high_x_, point.x) : point.x;
                low_y_ = any_ ? std::min(low_y_, point.y) : point.y;
                high_y_ = any_ ? std::max(high_y_, point.y) : point.y;
                any_ = true;
            }
        widen(low_x_, high_x_, 0);
        widen(low_y_, high_y_, 0.5);
    }

    std::string text() {
        const double tall = options_.height_px + key_row_px * static_cast<double>(lines_.size());
        add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
            "{1:.0f}\" font-family=\"system-ui, sans-serif\" font-size=\"11\" role=\"img\">\n<title>{2}</title>\n",
            options_.width_px, tall, escaped(options_.y_label + " over " + options_.x_label));
        if (any_)
            axes(), curves();
        else
            words(options_.width_px / 2, options_.height_px / 2, "middle", "No values of this kind");
        key();
        return out_ + "</svg>\n";
    }

private:
    template <class... Values>
    void add(fmt::format_string<Values...> text, Values&&... values) {
        fmt::format_to(std::back_inserter(out_), text, std::forward<Values>(values)...);
    }
    double x(double value) const {
        return left_px + (value - low_x_) / (high_x_ - low_x_) * (options_.width_px - left_px - right_px);
    }
    double y(double value) const {
        return options_.height_px - foot_px -
               (value - low_y_) / (high_y_ - low_y_) * (options_.height_px - foot_px - head_px);
    }
    void words(double x_px, double y_px, const char* anchor, const std::string& text) {
        add("<text x=\"{:.1f}\" y=\"{:.1f}\" fill=\"{}\" text-anchor=\"{}\">{}</text>\n", x_px, y_px,
            palette::faint_text, anchor, escaped(text));
    }
    void rule(double x0, double y0, double x1, double y1) {
        add("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" stroke=\"{}\"/>\n", x0, y0, x1, y1,
            palette::pale);
    }

    void axes() {
        const double bottom = options_.height_px - foot_px, right = options_.width_px - right_px;
        const double step_y = round_step(high_y_ - low_y_, 6), step_x = round_step(high_x_ - low_x_, 7);
        for (const double at : ticks(low_y_, high_y_, step_y)) {
            rule(left_px, y(at), right, y(at));
            words(left_px - 6, y(at) + 4, "end", fmt::format("{:.6g}", std::abs(at) < step_y / 2 ? 0 : at));
        }
        for (const double at : ticks(low_x_, high_x_, step_x)) {
            rule(x(at), bottom, x(at), bottom + 4);
            words(x(at), bottom + 16, "middle", format_work(std::abs(at) < step_x / 2 ? 0 : at, options_.x));
        }
        words((left_px + right) / 2, bottom + 34, "middle", options_.x_label);
        add("<text x=\"14\" y=\"{0:.1f}\" fill=\"{1}\" text-anchor=\"middle\" transform=\"rotate(-90 14 "
            "{0:.1f})\">{2}</text>\n",
            (head_px + bottom) / 2, palette::faint_text, escaped(options_.y_label));
    }

    static std::string stroke(const ChartLine& line) {
        const auto number = static_cast<std::size_t>(std::max(line.colour, 0));
        return fmt::format("stroke=\"{}\"{} stroke-width=\"1.75\" fill=\"none\"",
                           palette::stages_light[number % palette::stages_light.size()],
                           number / palette::stages_light.size() % 2 == 1 ? " stroke-dasharray=\"6 3\"" : "");
    }

    void curves() {
        for (const auto& line : lines_) {
            std::string places;
            for (const auto& point : line.points)
                if (std::isfinite(point.x) && std::isfinite(point.y))
                    places += fmt::format("{:.1f},{:.1f} ", x(point.x), y(point.y));
            if (!places.empty()) add("<polyline points=\"{}\" {}/>\n", places, stroke(line));
        }
    }

    void key() {
        double row = options_.height_px;
        for (const auto& line : lines_) {
            add("<line x1=\"{0:.1f}\" y1=\"{1:.1f}\" x2=\"{2:.1f}\" y2=\"{1:.1f}\" {3}/>\n", left_px, row + 6,
                left_px + 24, stroke(line));
            words(left_px + 32, row + 10, "start", line.name);
            row += key_row_px;
        }
    }

    const std::vector<ChartLine>& lines_;
    const ChartOptions& options_;
    std::string out_;
    bool any_ = false;
    double low_x_ = 0, high_x_ = 0, low_y_ = 0, high_y_ = 0;
};

}  // namespace

std::string chart_svg(const std::vector<ChartLine>& lines, const ChartOptions& options) {
    return Chart(lines, options).text();
}

}  // namespace skippipe
