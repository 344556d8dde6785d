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

#include "views/figure/svg_figure.h"

namespace skippipe {
namespace {

constexpr int page_dots_an_inch = 72, margin_mm = 15, figure_type = QTextFormat::UserObject + 1;
constexpr int figure_property = QTextFormat::UserProperty + 1;
constexpr int pdf_text_px = 9;
/// What Qt's documents know of the page's own style, in sizes for paper.
constexpr const char* pdf_style =
    "h1{font-size:16px}h2{font-size:12px;margin-top:16px}h3{font-size:10px}pre{font-size:7px;white-space:pre-wrap}"
    "th{color:#5B6472}.faint{color:#5B6472}.better{color:#1A7F37;font-weight:600}.worse{color:#B3261E}";

/// Ten pages of JSON a run are no reading.
void leave_out_long_parts(QString& page) {
    static const QRegularExpression part("<details class=\"long\"><summary>(.*?)</summary>.*?</details>",
                                         QRegularExpression::DotMatchesEverythingOption);
    page.replace(part,
                 QObject::tr("<p class=\"faint\">%1: in the record, from which the commands above take it, and in "
                             "this report as HTML.</p>")
                     .arg(QStringLiteral("\\1")));
}

/// With first columns to the left, as the page's style has them, and tables as wide as the paper.
QString for_paper(QString page) {
    static const QRegularExpression style("<style>.*?</style>", QRegularExpression::DotMatchesEverythingOption);
    page.remove(style);
    leave_out_long_parts(page);
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
    static SvgFigure figure(const QTextFormat& format) {
        return SvgFigure(format.property(figure_property).toString());
    }
    double scale(const QTextFormat& format) const { return std::min(1.0, most_width_ / figure(format).size().width()); }
    double most_width_;
};

}  // namespace

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
    QFont font(figure_font);
    font.setPixelSize(pdf_text_px);
    document.setDefaultFont(font);
    document.documentLayout()->setPaintDevice(&writer);
    document.documentLayout()->registerHandler(figure_type, &places);
    document.setDefaultStyleSheet(pdf_style);
    document.setHtml(for_paper(page));
    document.setDocumentMargin(0);
    for (qsizetype i = 0; i < figures.size(); ++i) {
        auto cursor = document.find(QStringLiteral("[[figure %1]]").arg(i + 1));
        if (cursor.isNull()) continue;
        QTextCharFormat format;
        format.setObjectType(figure_type);
        format.setProperty(figure_property, figures[i]);
        cursor.insertText(QString(QChar::ObjectReplacementCharacter), format);
    }
    // Only now: of a page that was laid out before its figures came, most would be left out.
    document.setPageSize(room);
    writer.setTitle(document.metaInformation(QTextDocument::DocumentTitle));
    document.print(&writer);
    return pdf;
}

}  // namespace skippipe

#include "report_pdf.moc"
