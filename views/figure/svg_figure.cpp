// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/figure/svg_figure.h"

#include <cmath>

#include <QBuffer>
#include <QHash>
#include <QImage>
#include <QPainter>
#include <QPdfWriter>
#include <QXmlStreamReader>

namespace skippipe {
namespace {

constexpr double figure_hatch_share = 0.45;
constexpr int figure_dots_an_inch = 72;  ///< a pixel of the drawing is a point of the page

double figure_number(const QXmlStreamAttributes& attributes, const char* name, double otherwise = 0) {
    bool is_number = false;
    const double value = attributes.value(QLatin1String(name)).toDouble(&is_number);
    return is_number ? value : otherwise;
}

QColor figure_colour(const QXmlStreamAttributes& attributes, const char* name, const char* opacity) {
    QColor colour(attributes.value(QLatin1String(name)).toString());
    colour.setAlphaF(static_cast<float>(figure_number(attributes, opacity, 1)));
    return colour;
}

QPen figure_pen(const QXmlStreamAttributes& attributes) {
    QPen pen(figure_colour(attributes, "stroke", "stroke-opacity"), figure_number(attributes, "stroke-width", 1));
    QList<qreal> dashes;  // in widths of the pen, as Qt wants them
    for (const auto& part : attributes.value("stroke-dasharray").toString().split(' ', Qt::SkipEmptyParts))
        dashes << part.toDouble() / pen.widthF();
    if (!dashes.isEmpty()) pen.setDashPattern(dashes);
    return pen;
}

QRectF figure_box(const QXmlStreamAttributes& attributes) {
    return {figure_number(attributes, "x"), figure_number(attributes, "y"), figure_number(attributes, "width"),
            figure_number(attributes, "height")};
}

QPolygonF figure_points(const QXmlStreamAttributes& attributes) {
    QPolygonF points;
    for (const auto& place : attributes.value("points").toString().split(' ', Qt::SkipEmptyParts))
        points << QPointF(place.section(',', 0, 0).toDouble(), place.section(',', 1, 1).toDouble());
    return points;
}

void draw_figure_box(QPainter& painter, const QXmlStreamAttributes& attributes) {
    const QString fill = attributes.value("fill").toString();
    QBrush brush{QColor(fill)};
    if (fill.startsWith("url(")) {  // the one pattern: a hatch over a colour that is used a second time
        QColor white(Qt::white);
        white.setAlphaF(figure_hatch_share);
        brush = QBrush(white, Qt::BDiagPattern);
    }
    painter.fillRect(figure_box(attributes), brush);
}

void draw_figure_polygon(QPainter& painter, const QXmlStreamAttributes& attributes) {
    painter.setPen(Qt::NoPen);
    painter.setBrush(figure_colour(attributes, "fill", "fill-opacity"));
    painter.drawPolygon(figure_points(attributes));
    painter.setBrush(Qt::NoBrush);
}

void draw_figure_circle(QPainter& painter, const QXmlStreamAttributes& attributes) {
    const double radius = figure_number(attributes, "r");
    painter.setPen(figure_pen(attributes));
    painter.setBrush(QColor(attributes.value("fill").toString()));
    painter.drawEllipse(QPointF(figure_number(attributes, "cx"), figure_number(attributes, "cy")), radius, radius);
    painter.setBrush(Qt::NoBrush);
}

/// "Mx yLx y": the one kind of path that is written.
void draw_figure_path(QPainter& painter, const QXmlStreamAttributes& attributes) {
    const auto ends = attributes.value("d").toString().mid(1).split('L');
    const auto place = [](const QString& text) {
        return QPointF(text.section(' ', 0, 0).toDouble(), text.section(' ', 1, 1).toDouble());
    };
    painter.setPen(figure_pen(attributes));
    if (ends.size() == 2) painter.drawLine(place(ends[0]), place(ends[1]));
}

void draw_figure_words(QPainter& painter, const QXmlStreamAttributes& attributes, const QString& words, double size_px,
                       const QColor& colour) {
    QFont font(figure_font);
    font.setPixelSize(static_cast<int>(figure_number(attributes, "font-size", size_px)));
    painter.setFont(font);
    painter.setPen(attributes.hasAttribute("fill") ? QColor(attributes.value("fill").toString()) : colour);
    painter.save();
    painter.translate(figure_number(attributes, "x"), figure_number(attributes, "y"));
    if (attributes.value("transform").startsWith(QLatin1String("rotate(-90"))) painter.rotate(-90);
    const double width = QFontMetricsF(font, painter.device()).horizontalAdvance(words);
    const auto anchor = attributes.value("text-anchor");
    painter.drawText(QPointF(anchor == QLatin1String("end")      ? -width
                             : anchor == QLatin1String("middle") ? -width / 2
                                                                 : 0,
                             0),
                     words);
    painter.restore();
}

/// What words inherit, and where groups are cut off.
struct FigureState {
    double size_px = 11;
    QColor words{Qt::black};
    QHash<QString, QRectF> clips;
};

void take_clip(QXmlStreamReader& xml, FigureState& state) {
    const QString name = xml.attributes().value("id").toString();
    if (!xml.readNextStartElement()) return;
    state.clips["url(#" + name + ")"] = figure_box(xml.attributes());
    xml.skipCurrentElement();  // the box
    xml.skipCurrentElement();
}

void draw_figure_element(QPainter& painter, QXmlStreamReader& xml, FigureState& state) {
    const auto attributes = xml.attributes();
    const auto is = [&](const char* name) { return xml.name() == QLatin1String(name); };
    if (is("svg")) {
        state.size_px = figure_number(attributes, "font-size", state.size_px);
        if (attributes.hasAttribute("fill")) state.words = QColor(attributes.value("fill").toString());
    } else if (is("title") || is("defs"))
        xml.skipCurrentElement();
    else if (is("clipPath"))
        take_clip(xml, state);
    else if (is("g")) {
        painter.save();
        if (const auto clip = state.clips.constFind(attributes.value("clip-path").toString());
            clip != state.clips.cend())
            painter.setClipRect(*clip);
    } else if (is("rect"))
        draw_figure_box(painter, attributes);
    else if (is("polyline")) {
        painter.setPen(figure_pen(attributes));
        painter.drawPolyline(figure_points(attributes));
    } else if (is("polygon"))
        draw_figure_polygon(painter, attributes);
    else if (is("circle"))
        draw_figure_circle(painter, attributes);
    else if (is("path"))
        draw_figure_path(painter, attributes);
    else if (is("text"))
        draw_figure_words(painter, attributes, xml.readElementText(), state.size_px, state.words);
    else if (is("line")) {
        painter.setPen(figure_pen(attributes));
        painter.drawLine(QPointF(figure_number(attributes, "x1"), figure_number(attributes, "y1")),
                         QPointF(figure_number(attributes, "x2"), figure_number(attributes, "y2")));
    }
}

}  // namespace

QSizeF SvgFigure::size() const {
    QXmlStreamReader xml(svg_);
    if (!xml.readNextStartElement()) return {};
    return {figure_number(xml.attributes(), "width"), figure_number(xml.attributes(), "height")};
}

void SvgFigure::draw(QPainter& painter) const {
    QXmlStreamReader xml(svg_);
    FigureState state;
    while (!xml.atEnd()) {
        const auto token = xml.readNext();
        if (token == QXmlStreamReader::StartElement)
            draw_figure_element(painter, xml, state);
        else if (token == QXmlStreamReader::EndElement && xml.name() == QLatin1String("g"))
            painter.restore();
    }
}

QByteArray SvgFigure::png(double scale) const {
    const QSizeF pixels = size() * scale;
    QImage picture(static_cast<int>(std::ceil(pixels.width())), static_cast<int>(std::ceil(pixels.height())),
                   QImage::Format_RGB32);
    picture.fill(Qt::white);
    QPainter painter(&picture);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.scale(scale, scale);
    draw(painter);
    painter.end();
    QByteArray png;
    QBuffer buffer(&png);
    buffer.open(QIODevice::WriteOnly);
    picture.save(&buffer, "PNG");
    return png;
}

QByteArray SvgFigure::pdf() const {
    QByteArray pdf;
    QBuffer buffer(&pdf);
    buffer.open(QIODevice::WriteOnly);
    QPdfWriter writer(&buffer);
    writer.setResolution(figure_dots_an_inch);
    writer.setPageSize(QPageSize(size(), QPageSize::Point));
    writer.setPageMargins({});
    QPainter painter(&writer);
    draw(painter);
    painter.end();
    return pdf;
}

}  // namespace skippipe
