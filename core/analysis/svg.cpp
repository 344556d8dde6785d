// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/analysis/clock_words.h"
#include "core/analysis/export.h"
#include "core/analysis/markup.h"
#include "core/analysis/palette.h"
#include "core/base/format.h"

namespace skippipe {
namespace {

constexpr double lane_px = 28, box_px = 18, margin_px = 16, top_px = 56, label_px = 148, axis_px = 40,
                 legend_row_px = 20;
constexpr int line_letters = 17, box_letters = 14;  ///< the largest that have room

struct Rgb {
    double r = 0, g = 0, b = 0;
};

Rgb parse(std::string_view hex) {
    const auto part = [&](std::size_t at) {
        return static_cast<double>(std::stoi(std::string{hex.substr(at, 2)}, nullptr, 16));
    };
    return {part(1), part(3), part(5)};
}

/// Towards black (amount < 0) or white (> 0), as a share.
std::string shade(std::string_view hex, double amount) {
    const auto [r, g, b] = parse(hex);
    const double to = amount < 0 ? 0 : 255, by = std::abs(amount);
    const auto mix = [&](double c) { return static_cast<int>(std::lround(c + (to - c) * by)); };
    return fmt::format("#{:02X}{:02X}{:02X}", mix(r), mix(g), mix(b));
}

/// The text colour that stands out from this fill: relative luminance as WCAG has it.
std::string_view ink_on(std::string_view hex) {
    const auto linear = [](double c) {
        return c <= 10.31 ? c / 255 / 12.92 : std::pow((c / 255 + 0.055) / 1.055, 2.4);
    };
    const auto [r, g, b] = parse(hex);
    return 0.2126 * linear(r) + 0.7152 * linear(g) + 0.0722 * linear(b) > 0.19 ? palette::text : palette::surface;
}

/// At most so many characters: what fits beside a lane. Cuts between code points.
std::string shortened(const std::string& name, std::size_t most) {
    std::size_t at = 0, cut = 0, count = 0;
    for (; at < name.size(); ++at)
        if ((static_cast<unsigned char>(name[at]) & 0xC0) != 0x80 && ++count == most) cut = at;
    return count <= most ? name : name.substr(0, cut) + "\xE2\x80\xA6";
}

/// One hue a stage: forward plain, backward a step darker, loss and weight gradient lighter.
double shade_of(SpanKind kind) {
    switch (kind) {
        case SpanKind::loss: return 0.35;
        case SpanKind::backward:
        case SpanKind::input_gradient: return -0.3;
        case SpanKind::weight_gradient: return 0.6;
        default: return 0;
    }
}

std::string_view stage_colour(int stage) {
    return palette::stages_light[static_cast<std::size_t>(std::max(stage, 0)) % palette::stages_light.size()];
}
bool hatched(int stage) { return stage >= static_cast<int>(palette::stages_light.size()); }

class Drawing {
public:
    Drawing(const std::vector<RecordedSpan>& spans, const Problem& problem, const Plan& plan, const SvgOptions& options)
        : problem_(problem),
          plan_(plan),
          options_(options),
          lane_of_(problem.node_ids.size(), -1),
          width_px_(std::clamp(options.width_px, 480.0, 20000.0)) {
        for (const auto& stage : plan.stages)
            for (const int node : stage)
                if (node >= 0 && node < problem.nodes() && lane_of_[static_cast<std::size_t>(node)] < 0) {
                    lane_of_[static_cast<std::size_t>(node)] = static_cast<int>(lanes_.size());
                    lanes_.push_back(node);
                }
        for (const auto& span : spans)
            if (drawable(span) && span.iteration == spans.front().iteration) {
                spans_.push_back(&span.span);
                end_s_ = std::max(end_s_, span.span.end_s);
            }
        extent_s_ = std::max(end_s_, options.extent_s);
    }

    std::string text() {
        head();
        lanes();
        for (const Span* span : spans_) is_on_line(span->kind) ? line(*span) : box(*span);
        axis();
        if (options_.has_legend) legend();
        return out_ + "</svg>\n";
    }

private:
    bool drawable(const RecordedSpan& one) const {
        const auto& s = one.span;
        return s.node >= 0 && s.node < problem_.nodes() && lane_of_[static_cast<std::size_t>(s.node)] >= 0 &&
               std::isfinite(s.start_s) && std::isfinite(s.end_s) && s.start_s >= 0 && s.end_s >= s.start_s;
    }
    double chart_px() const { return width_px_ - label_px - margin_px; }
    double x(double seconds) const { return label_px + (extent_s_ > 0 ? seconds / extent_s_ : 0) * chart_px(); }
    double y(int node) const { return top_px + lane_px * lane_of_[static_cast<std::size_t>(node)]; }
    double bottom_px() const { return top_px + lane_px * static_cast<double>(lanes_.size()); }
    double legend_px() const { return 90 * options_.lettering; }
    int legend_columns() const { return std::max(1, static_cast<int>((width_px_ - 2 * margin_px) / legend_px())); }
    int stage_rows() const { return (static_cast<int>(plan_.stages.size()) + legend_columns() - 1) / legend_columns(); }
    int legend_rows() const { return stage_rows() + (has_reductions() ? 3 : 2); }
    bool has_reductions() const {
        return std::any_of(spans_.begin(), spans_.end(),
                           [](const Span* span) { return span->kind == SpanKind::transfer_reduction; });
    }

    template <class... Values>
    void add(fmt::format_string<Values...> text, Values&&... values) {
        fmt::format_to(std::back_inserter(out_), text, std::forward<Values>(values)...);
    }
    double legend_row() const { return legend_row_px + (options_.lettering > 1 ? 4 : 0); }
    /// `most` is as large as words of that size may become.
    int letters(int size, int most) const {
        return std::min(static_cast<int>(std::lround(size * options_.lettering)), most);
    }
    void words(double x_px, double y_px, int size, std::string_view colour, const char* anchor,
               const std::string& text) {
        add("<text x=\"{:.2f}\" y=\"{:.2f}\" font-size=\"{}\" fill=\"{}\" text-anchor=\"{}\">{}</text>\n", x_px, y_px,
            size, colour, anchor, escaped(text));
    }
    void rectangle(double x_px, double y_px, double w_px, double h_px, std::string_view fill) {
        add("<rect x=\"{:.2f}\" y=\"{:.2f}\" width=\"{:.2f}\" height=\"{:.2f}\" fill=\"{}\"/>\n", x_px, y_px, w_px,
            h_px, fill);
    }

    void head() {
        const double height_px =
            bottom_px() + axis_px + (options_.has_legend ? legend_row() * legend_rows() + margin_px : 0);
        add("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0:.0f}\" height=\"{1:.0f}\" viewBox=\"0 0 {0:.0f} "
            "{1:.0f}\" "
            "font-family=\"system-ui, sans-serif\" role=\"img\">\n",
            width_px_, height_px);
        const std::string title = options_.title.empty() ? "Timeline of one iteration" : options_.title;
        add("<title>{}</title>\n", escaped(title));
        add("<defs><pattern id=\"hatch\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
            "patternTransform=\"rotate(45)\">"
            "<rect width=\"2\" height=\"6\" fill=\"#FFFFFF\" fill-opacity=\"0.45\"/></pattern></defs>\n");
        rectangle(0, 0, width_px_, height_px, palette::surface);
        words(margin_px, 26, letters(16, 22), palette::text, "start", title);
        words(margin_px, options_.lettering > 1 ? 47 : 44, letters(11, line_letters), palette::faint_text, "start",
              fmt::format("{} {}", time_title(options_.clock), format_seconds(end_s_)));
    }

    void lanes() {
        const auto stages = stage_of_nodes(plan_, problem_.nodes());
        for (const int node : lanes_) {
            const auto index = static_cast<std::size_t>(node);
            words(label_px - 30, y(node) + 19, letters(11, line_letters), palette::text, "end",
                  shortened(problem_.node_ids[index], static_cast<std::size_t>(17 / options_.lettering)));
            swatch(label_px - 24, y(node) + 6, stages[index], 0);
            words(label_px - 15, y(node) + 19, letters(11, box_letters), ink_on(stage_colour(stages[index])), "middle",
                  std::to_string(stages[index]));
            rectangle(label_px, y(node) + 6, chart_px(), box_px, palette::pale);
        }
    }

    void swatch(double x_px, double y_px, int stage, double by) {
        rectangle(x_px, y_px, 18, box_px, shade(stage_colour(stage), by));
        if (hatched(stage)) rectangle(x_px, y_px, 18, box_px, "url(#hatch)");
    }

    void box(const Span& span) {
        const double left = x(span.start_s), width = std::max(x(span.end_s) - left, 0.5);
        if (span.end_s == span.start_s) return;
        const bool work = is_compute(span.kind);
        const auto stage =
            span.stage >= 0 ? span.stage : stage_of_nodes(plan_, problem_.nodes())[static_cast<std::size_t>(span.node)];
        const std::string fill =
            work ? shade(stage_colour(stage), shade_of(span.kind)) : std::string{palette::faint_text};
        const std::string about = fmt::format("{}{} on {}: {} to {}", to_string(span.kind),
                                              span.microbatch >= 0 ? fmt::format(" {}", span.microbatch) : "",
                                              problem_.node_ids[static_cast<std::size_t>(span.node)],
                                              format_seconds(span.start_s), format_seconds(span.end_s));
        add("<g><title>{}</title>", escaped(about));
        const double top = y(span.node) + 6, height = work ? box_px : box_px / 2;
        rectangle(left, top + (box_px - height) / 2, width, height, fill);
        if (work && hatched(stage)) rectangle(left, top, width, height, "url(#hatch)");
        if (work && width > 1.5) rectangle(left + width - 0.5, top, 0.5, height, palette::surface);
        if (const auto number = std::to_string(span.microbatch);
            work && span.microbatch >= 0 &&
            width >= 7.0 / 11 * letters(11, box_letters) * static_cast<double>(number.size()) + 2)
            words(left + width / 2, top + 13, letters(11, box_letters), ink_on(fill), "middle", number);
        add("</g>\n");
    }

    /// A transfer: thin, above its sender's lane; a reduction's nearest to the lane.
    void line(const Span& span) {
        const double left = x(span.start_s), width = std::max(x(span.end_s) - left, 0.5);
        if (span.kind == SpanKind::transfer_reduction) {
            add("<g><title>{}</title>",
                escaped(fmt::format("reduction of stage {}, {} to {}, {}: {} to {}", static_cast<int>(span.stage),
                                    problem_.node_ids[at(span.node)], name_of(span.to_node), format_si(span.bytes, "B"),
                                    format_seconds(span.start_s), format_seconds(span.end_s))));
            rectangle(left, y(span.node) + 4, width, 2, palette::reduction);
            add("</g>\n");
            return;
        }
        rectangle(left, y(span.node) + 2, width, 2,
                  shade(stage_colour(span.stage), span.kind == SpanKind::transfer_forward ? 0.2 : -0.3));
    }
    std::string name_of(NodeIndex node) const {
        return node >= 0 && node < problem_.nodes() ? problem_.node_ids[at(node)] : "?";
    }

    void axis() {
        const double at = bottom_px() + 4;
        rectangle(label_px, at, chart_px(), 1, palette::faint_text);
        if (!(extent_s_ > 0)) return;
        const double step = round_step(extent_s_, std::max(2.0, chart_px() / legend_px()));
        for (int i = 0; i * step <= extent_s_ * (1 + 1e-9); ++i) {
            rectangle(x(i * step), at, 1, 5, palette::faint_text);
            words(x(i * step), at + 18, letters(11, line_letters), palette::faint_text, "middle",
                  fmt::format("{}", std::round(i * step * 1e9) / 1e9));
        }
        words(label_px - 30, at + 18, letters(11, line_letters), palette::faint_text, "end", "seconds");
    }

    void legend() {
        double at = bottom_px() + axis_px;
        for (int stage = 0; stage < static_cast<int>(plan_.stages.size()); ++stage) {
            const double left = margin_px + legend_px() * (stage % legend_columns());
            const double top = at + legend_row() * (stage / legend_columns());
            swatch(left, top, stage, 0);
            words(left + 24, top + 13, letters(11, line_letters), palette::text, "start",
                  fmt::format("Stage {}", stage));
        }
        at += legend_row() * stage_rows();
        words(margin_px, at + 13, letters(11, line_letters), palette::faint_text, "start",
              "Plain: forward. Darker: backward. Lighter: loss, weight gradient.");
        words(margin_px, at + legend_row() + 9, letters(11, line_letters), palette::faint_text, "start",
              "Pale: idle. Grey, half height: all-reduce, optimizer. Thin lines: transfers.");
        if (!has_reductions()) return;
        rectangle(margin_px, at + 2 * legend_row() + 4, 18, 2, palette::reduction);
        words(margin_px + 24, at + 2 * legend_row() + 9, letters(11, line_letters), palette::faint_text, "start",
              "Transfers of reductions: parts and sums of gradients");
    }

    const Problem& problem_;
    const Plan& plan_;
    const SvgOptions& options_;
    std::vector<int> lane_of_, lanes_;
    std::vector<const Span*> spans_;
    double width_px_, end_s_ = 0, extent_s_ = 0;
    std::string out_;
};

}  // namespace

std::string timeline_svg(const std::vector<RecordedSpan>& spans, const Problem& problem, const Plan& plan,
                         const SvgOptions& options) {
    return Drawing{spans, problem, plan, options}.text();
}

}  // namespace skippipe
