// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/curves/curve_export.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "views/curves/curve_chart.h"
#include "views/curves/plot.h"
#include "views/figure/svg_figure.h"
#include "views/runs/run_marks.h"
#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr double picture_scale = 2;
constexpr double left_edge = 64, right_edge = 12, top_edge = 12, bottom_edge = 44, legend_row = 16;

std::string escaped(const QString& text) { return text.toHtmlEscaped().toStdString(); }
std::string hex(const QColor& colour) { return colour.name().toStdString(); }

/// Places of one chart's values in the drawing.
struct SvgScale {
    const ChartFrame& frame;
    QRectF plot;  ///< within the axes

    static double share(double value, double begin, double end, bool logarithmic) {
        return logarithmic ? std::log(value / begin) / std::log(end / begin) : (value - begin) / (end - begin);
    }
    double x(double value) const {
        return plot.left() + plot.width() * share(value, frame.x_begin, frame.x_end, frame.log_x);
    }
    double y(double value) const {
        return plot.bottom() - plot.height() * share(value, frame.y_begin, frame.y_end, frame.log_y);
    }
    bool holds(const CurvePoint& point) const { return (!frame.log_x || point.x > 0) && (!frame.log_y || point.y > 0); }
};

std::string dashes(const QPen& pen) {
    if (pen.style() == Qt::DashLine) return R"( stroke-dasharray="6 4")";
    return pen.style() == Qt::DashDotLine ? R"( stroke-dasharray="6 3 1 3")" : "";
}

void add_line(std::string& svg, const SvgScale& scale, const std::vector<CurvePoint>& points, const QPen& pen,
              double opacity) {
    svg += fmt::format(R"(<polyline fill="none" stroke="{}" stroke-width="{}" stroke-opacity="{}"{} points=")",
                       pen.color().name().toStdString(), pen.widthF(), opacity, dashes(pen));
    for (const auto& point : downsample(points, static_cast<int>(scale.plot.width())))
        if (scale.holds(point)) svg += fmt::format("{:.2f},{:.2f} ", scale.x(point.x), scale.y(point.y));
    svg += "\"/>\n";
}

void add_band(std::string& svg, const SvgScale& scale, const Curve& curve) {
    if (curve.low.empty()) return;
    svg += fmt::format(R"(<polygon fill="{}" fill-opacity="0.18" points=")", curve.pen.color().name().toStdString());
    const auto add = [&](const CurvePoint& point) {
        if (scale.holds(point)) svg += fmt::format("{:.2f},{:.2f} ", scale.x(point.x), scale.y(point.y));
    };
    std::for_each(curve.low.begin(), curve.low.end(), add);
    std::for_each(curve.high.rbegin(), curve.high.rend(), add);
    svg += "\"/>\n";
}

void add_marks(std::string& svg, const SvgScale& scale, const Curve& curve, const QColor& surface) {
    for (const auto& point : curve.points)
        if (scale.holds(point))
            svg += fmt::format(R"(<circle cx="{:.2f}" cy="{:.2f}" r="3" fill="{}" stroke="{}"/>)"
                               "\n",
                               scale.x(point.x), scale.y(point.y), hex(surface), hex(curve.pen.color()));
}

void add_words(std::string& svg, double x, double y, const char* anchor, const QString& words,
               const std::string& more = {}) {
    svg += fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}"{}>{}</text>)"
                       "\n",
                       x, y, anchor, more, escaped(words));
}

void add_axes(std::string& svg, const SvgScale& scale, const CurveSet& set, const ChartColours& colours) {
    const QRectF& p = scale.plot;
    const auto line = [&](double x1, double y1, double x2, double y2, const QColor& colour) {
        svg += fmt::format(R"(<path d="M{:.2f} {:.2f}L{:.2f} {:.2f}" stroke="{}"/>)"
                           "\n",
                           x1, y1, x2, y2, hex(colour));
    };
    for (const auto& tick : scale.frame.x_ticks) {
        const double x = scale.x(tick.at);
        line(x, p.top(), x, p.bottom(), colours.line);
        add_words(svg, x, p.bottom() + 15, "middle", tick.label);
    }
    for (const auto& tick : scale.frame.y_ticks) {
        const double y = scale.y(tick.at);
        line(p.left(), y, p.right(), y, colours.line);
        add_words(svg, p.left() - 6, y + 4, "end", tick.label);
    }
    line(p.left(), p.bottom(), p.right(), p.bottom(), colours.text);
    line(p.left(), p.top(), p.left(), p.bottom(), colours.text);
    add_words(svg, p.center().x(), p.bottom() + 34, "middle", set.x_label);
    const double x = p.left() - 50, y = p.center().y();
    add_words(svg, x, y, "middle", set.y_label,
              fmt::format(R"turned( transform="rotate(-90 {:.1f} {:.1f})")turned", x, y));
}

void add_chart(std::string& svg, const CurveSet& set, const ChartFrame& frame, const ChartColours& colours,
               int number) {
    const SvgScale scale{frame, frame.box.adjusted(left_edge, top_edge, -right_edge, -bottom_edge)};
    const QRectF& p = scale.plot;
    svg += fmt::format(R"(<clipPath id="chart{}"><rect x="{}" y="{}" width="{}" height="{}"/></clipPath>)"
                       "\n",
                       number, p.x(), p.y(), p.width(), p.height());
    add_axes(svg, scale, set, colours);
    svg += fmt::format("<g clip-path=\"url(#chart{})\">\n", number);
    for (const auto& curve : set.curves) {
        add_band(svg, scale, curve);
        if (curve.marks)
            add_marks(svg, scale, curve, colours.surface);
        else if (curve.smooth.empty())
            add_line(svg, scale, curve.points, curve.pen, 1);
        else {
            add_line(svg, scale, curve.points, curve.pen, 0.3);
            add_line(svg, scale, curve.smooth, curve.pen, 1);
        }
    }
    svg += "</g>\n";
    double y = p.top() + legend_row;
    for (const auto& curve : set.curves) {
        if (!curve.in_legend) continue;
        add_words(svg, p.right() - 8, y, "end", curve.name,
                  fmt::format(R"( fill="{}")", curve.pen.color().name().toStdString()));
        y += legend_row;
    }
}

std::vector<ChartTick> ticks_of(const QCPAxis& axis) {
    std::vector<ChartTick> ticks;
    const auto places = axis.tickVector();
    const auto labels = axis.tickVectorLabels();
    for (qsizetype i = 0; i < std::min(places.size(), labels.size()); ++i)
        if (axis.range().contains(places[i]))
            ticks.push_back({places[i], axis.scaleType() == QCPAxis::stLogarithmic ? QString::number(places[i], 'g', 3)
                                                                                   : labels[i]});
    return ticks;
}

ChartFrame frame_of(CurveChart& chart) {
    const auto &x = *chart.plot().xAxis, &y = *chart.plot().yAxis;
    return {chart.geometry(),
            x.range().lower,
            x.range().upper,
            y.range().lower,
            y.range().upper,
            x.scaleType() == QCPAxis::stLogarithmic,
            y.scaleType() == QCPAxis::stLogarithmic,
            ticks_of(x),
            ticks_of(y)};
}

/// In the theme at hand as on the screen, or in the light one as on paper.
ChartColours colours_of(const Theme& of) { return {of.surface, of.text_2, of.line}; }

}  // namespace

QString name_of(CurveFormat format) {
    static constexpr const char* names[] = {"PNG", "SVG", "PDF", "CSV"};
    return QString::fromLatin1(names[static_cast<int>(format)]);
}

std::string curves_svg(const std::vector<CurveSet>& sets, const std::vector<ChartFrame>& frames,
                       const ChartColours& colours) {
    QRectF all;
    for (const auto& frame : frames) all |= frame.box;
    std::string svg =
        fmt::format(R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" )"
                    R"(font-family="sans-serif" font-size="11" fill="{2}"><rect width="{0}" height="{1}" fill="{3}"/>)"
                    "\n",
                    std::ceil(all.right()), std::ceil(all.bottom()), hex(colours.text), hex(colours.surface));
    for (std::size_t i = 0; i < std::min(sets.size(), frames.size()); ++i)
        add_chart(svg, sets[i], frames[i], colours, static_cast<int>(i));
    return svg + "</svg>\n";
}

std::function<QByteArray()> export_curves(const std::vector<CurveChart*>& charts, CurveFormat format) {
    std::vector<CurveSet> sets;
    std::vector<ChartFrame> frames;
    for (auto* chart : charts) {
        sets.push_back(chart->set());
        frames.push_back(frame_of(*chart));
    }
    const Theme& colours = format == CurveFormat::png ? theme() : Theme::light();
    for (auto& set : sets)
        for (auto& curve : set.curves) curve.pen.setColor(run_pen(curve.run, 1, colours).color());
    return [sets = std::move(sets), frames = std::move(frames), format, paper = colours_of(colours)] {
        if (format == CurveFormat::csv) return QByteArray::fromStdString(curves_csv(sets));
        const auto svg = QByteArray::fromStdString(curves_svg(sets, frames, paper));
        const SvgFigure figure(QString::fromUtf8(svg));
        return format == CurveFormat::png ? figure.png(picture_scale) : format == CurveFormat::pdf ? figure.pdf() : svg;
    };
}

}  // namespace skippipe
