// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include <QByteArray>
#include <QList>
#include <QSizeF>

class QPainter;

namespace skippipe {

/// A page of `report_html` as PDF on A4: its text can be searched, its figures stay lines. Any thread may call it, once
/// the application's fonts are there.
QByteArray report_pdf(const std::string& html);

/// A drawing as the report's are (core/analysis: svg.cpp, chart_svg.cpp): rectangles, lines, polylines and words.
class ReportFigure {
public:
    explicit ReportFigure(const QString& svg) : svg_(svg) {}
    /// In pixels of the drawing; empty where it is none.
    QSizeF size() const;
    /// In its own pixels from the painter's origin.
    void draw(QPainter& painter) const;

private:
    QString svg_;
};

}  // namespace skippipe
