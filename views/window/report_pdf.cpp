// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/report_pdf.h"

#include <algorithm>

#include <QBuffer>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QRegularExpression>
#include <QAbstractTextDocumentLayout>
#include <QTextCursor>
#include <QTextDocument>
#include <QTextObjectInterface>
#include <QXmlStreamReader>

namespace skippipe {
namespace {

constexpr int page_dots_an_inch = 72, margin_mm = 15, figure_type = QTextFormat::UserObject + 1;
constexpr int figure_property = QTextFormat::UserProperty + 1;
constexpr double figure_hatch_share = 0.45;
constexpr const char* pdf_font = "DejaVu Sans";
constexpr int pdf_text_px = 9;
/// What Qt's documents know of the page's own style, in sizes for paper.
constexpr const char* pdf_style =
    "h1{font-size:16px}h2{font-size:12px;margin-top:16px}h3{font-size:10px}pre{font-size:7px}"
    "th{color:#5B6472}.faint{color:#5B6472}";

double figure_number(const QXmlStreamAttributes& attributes, const char* name, double otherwise = 0) {
    bool is_number = false;
    const double value = attributes.value(QLatin1String(name)).toDouble(&is_number);
    return is_number ? value : otherwise;
}

QPen figure_pen(const QXmlStreamAttributes& attributes) {
    QPen pen(QColor(attributes.value("stroke").toString()), figure_number(attributes, "stroke-width", 1));
    QList<qreal> dashes;  // in widths of the pen, as Qt wants them
    for (const auto& part : attributes.value("stroke-dasharray").toString().split(' ', Qt::SkipEmptyParts))
        dashes << part.toDouble() / pen.widthF();
    if (!dashes.isEmpty()) pen.setDashPattern(dashes);
    return pen;
}

void draw_figure_box(QPainter& painter, const QXmlStreamAttributes& attributes) {
    const QString fill = attributes.value("fill").toString();
    QBrush brush{QColor(fill)};
    if (fill.startsWith("url(")) {  // the one pattern: a hatch over a colour that is used a second time
        QColor white(Qt::white);
        white.setAlphaF(figure_hatch_share);
        brush = QBrush(white, Qt::BDiagPattern);
    }
    painter.fillRect(QRectF(figure_number(attributes, "x"), figure_number(attributes, "y"),
                            figure_number(attributes, "width"), figure_number(attributes, "height")),
                     brush);
}

void draw_figure_line(QPainter& painter, const QXmlStreamAttributes& attributes) {
    QPolygonF line;
    for (const auto& place : attributes.value("points").toString().split(' ', Qt::SkipEmptyParts))
        line << QPointF(place.section(',', 0, 0).toDouble(), place.section(',', 1, 1).toDouble());
    painter.setPen(figure_pen(attributes));
    painter.drawPolyline(line);
}

void draw_figure_words(QPainter& painter, const QXmlStreamAttributes& attributes, const QString& words,
                       double size_px) {
    QFont font(pdf_font);
    font.setPixelSize(static_cast<int>(figure_number(attributes, "font-size", size_px)));
    painter.setFont(font);
    painter.setPen(QColor(attributes.value("fill").toString()));
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

/// With first columns to the left, as the page's style has them, and tables as wide as the paper.
QString for_paper(QString page) {
    static const QRegularExpression style("<style>.*?</style>", QRegularExpression::DotMatchesEverythingOption);
    page.remove(style);
    page.replace("<table>", R"(<table width="100%" cellpadding="2">)");
    for (const char* cell : {"td", "th"}) {
        page.replace(QStringLiteral("<%1>").arg(cell), QStringLiteral(R"(<%1 align="right">)").arg(cell));
        page.replace(QStringLiteral(R"(<tr><%1 align="right">)").arg(cell),
                     QStringLiteral(R"(<tr><%1 align="left">)").arg(cell));
    }
    return page;
}

/// Draws figures where the document has their places, no wider than the page.
class FigurePlaces : public QObject, public QTextObjectInterface {
    Q_OBJECT
    Q_INTERFACES(QTextObjectInterface)
public:
    explicit FigurePlaces(double most_width) : most_width_(most_width) {}

    QSizeF intrinsicSize(QTextDocument*, int, const QTextFormat& format) override {
        return figure(format).size() * scale(format);
    }
    void drawObject(QPainter* painter, const QRectF& box, QTextDocument*, int, const QTextFormat& format) override {
        painter->save();
        painter->translate(box.topLeft());
        painter->scale(scale(format), scale(format));
        figure(format).draw(*painter);
        painter->restore();
    }

private:
    static ReportFigure figure(const QTextFormat& format) {
        return ReportFigure(format.property(figure_property).toString());
    }
    double scale(const QTextFormat& format) const { return std::min(1.0, most_width_ / figure(format).size().width()); }
    double most_width_;
};

}  // namespace

QSizeF ReportFigure::size() const {
    QXmlStreamReader xml(svg_);
    if (!xml.readNextStartElement()) return {};
    return {figure_number(xml.attributes(), "width"), figure_number(xml.attributes(), "height")};
}

void ReportFigure::draw(QPainter& painter) const {
    QXmlStreamReader xml(svg_);
    double size_px = 11;
    while (!xml.atEnd()) {
        if (xml.readNext() != QXmlStreamReader::StartElement) continue;
        const auto attributes = xml.attributes();
        if (xml.name() == QLatin1String("svg"))
            size_px = figure_number(attributes, "font-size", size_px);
        else if (xml.name() == QLatin1String("title") || xml.name() == QLatin1String("defs"))
            xml.skipCurrentElement();
        else if (xml.name() == QLatin1String("rect"))
            draw_figure_box(painter, attributes);
        else if (xml.name() == QLatin1String("polyline"))
            draw_figure_line(painter, attributes);
        else if (xml.name() == QLatin1String("text"))
            draw_figure_words(painter, attributes, xml.readElementText(), size_px);
        else if (xml.name() == QLatin1String("line")) {
            painter.setPen(figure_pen(attributes));
            painter.drawLine(QPointF(figure_number(attributes, "x1"), figure_number(attributes, "y1")),
                             QPointF(figure_number(attributes, "x2"), figure_number(attributes, "y2")));
        }
    }
}

QByteArray report_pdf(const std::string& html) {
    QString page = QString::fromStdString(html);
    QList<QString> figures;
    static const QRegularExpression any_figure("<figure>(<svg.*?</svg>)\\s*</figure>",
                                               QRegularExpression::DotMatchesEverythingOption);
    for (auto match = any_figure.match(page); match.hasMatch(); match = any_figure.match(page)) {
        figures << match.captured(1);
        page.replace(match.capturedStart(), match.capturedLength(),
                     QStringLiteral("<p>[[figure %1]]</p>").arg(figures.size()));
    }
    QByteArray pdf;
    QBuffer buffer(&pdf);
    buffer.open(QIODevice::WriteOnly);
    QPdfWriter writer(&buffer);
    writer.setPageSize(QPageSize(QPageSize::A4));
    writer.setPageMargins(QMarginsF(margin_mm, margin_mm, margin_mm, margin_mm), QPageLayout::Millimeter);
    writer.setResolution(page_dots_an_inch);
    const QSizeF room = writer.pageLayout().paintRectPixels(page_dots_an_inch).size();
    FigurePlaces places(room.width());
    QTextDocument document;
    QFont font(pdf_font);
    font.setPixelSize(pdf_text_px);
    document.setDefaultFont(font);
    document.documentLayout()->setPaintDevice(&writer);
    document.documentLayout()->registerHandler(figure_type, &places);
    document.setDefaultStyleSheet(pdf_style);
    document.setHtml(for_paper(page));
    document.setDocumentMargin(0);
    document.setPageSize(room);
    for (qsizetype i = 0; i < figures.size(); ++i) {
        auto cursor = document.find(QStringLiteral("[[figure %1]]").arg(i + 1));
        if (cursor.isNull()) continue;
        QTextCharFormat format;
        format.setObjectType(figure_type);
        format.setProperty(figure_property, figures[i]);
        cursor.insertText(QString(QChar::ObjectReplacementCharacter), format);
    }
    writer.setTitle(document.metaInformation(QTextDocument::DocumentTitle));
    document.print(&writer);
    return pdf;
}

}  // namespace skippipe

#include "report_pdf.moc"
