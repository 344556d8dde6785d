// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QByteArray>
#include <QColor>
#include <QSizeF>
#include <QString>

class QPainter;

namespace skippipe {

/// A drawing as the program writes them (core/analysis: svg.cpp, chart_svg.cpp; views/curves: curve_export.cpp), drawn
/// anew as PNG or PDF: rectangles, circles, lines, polygons, words, and groups cut off at a box. Any thread may use it,
/// once the application's fonts are there.
class SvgFigure {
public:
    explicit SvgFigure(const QString& svg) : svg_(svg) {}
    /// In pixels of the drawing; empty where it is none.
    QSizeF size() const;
    /// In its own pixels from the painter's origin.
    void draw(QPainter& painter) const;
    /// As a picture of so many pixels a pixel of the drawing.
    QByteArray png(double scale) const;
    /// As one page as large as the drawing: its words can be searched, its lines stay lines.
    QByteArray pdf() const;

private:
    QString svg_;
};

/// The font of all drawings on paper.
inline constexpr const char* figure_font = "DejaVu Sans";

}  // namespace skippipe
