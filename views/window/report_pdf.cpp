// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/report_pdf.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>
#include <vector>

#include <QBuffer>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QRegularExpression>
#include <QAbstractTextDocumentLayout>
#include <QTextBlock>
#include <QTextCursor>
#include <QTextDocument>
#include <QTextFrame>
#include <QTextObjectInterface>
#include <QTextTable>

#include "views/figure/svg_figure.h"

namespace skippipe {
namespace {

constexpr int page_dots_an_inch = 72, margin_mm = 15, figure_type = QTextFormat::UserObject + 1;
constexpr int figure_property = QTextFormat::UserProperty + 1;
constexpr int pdf_text_px = 9, pdf_foot_px = 8;
constexpr double foot = 20;  ///< dots below each page's text
constexpr QRgb faint_ink = qRgb(0x5B, 0x64, 0x72);
/// What Qt's documents know of the page's own style, in sizes for paper.
constexpr const char* pdf_style =
    "h1{font-size:16px}h2{font-size:12px;margin-top:16px}h3{font-size:10px}pre{font-size:7px;white-space:pre-wrap}"
    "table{border-collapse:collapse}th,td{border-bottom:1px solid #E3E6EB}"
    "th{color:#5B6472}.faint{color:#5B6472}.better{color:#1A7F37;font-weight:600}.worse{color:#B3261E}";

/// Ten pages of JSON a run are no reading; where they are is said once.
void leave_out_long_parts(QString& page) {
    static const QRegularExpression part("<details class=\"long\">.*?</details>",
                                         QRegularExpression::DotMatchesEverythingOption);
    const auto first = page.indexOf(part);
    if (first < 0) return;
    page.replace(part, {});
    const QString words = QObject::tr(
        "<p class=\"faint\">The experiments as they were frozen are in the record, from which these commands "
        "take them, and in this report as HTML.</p>");
    const auto head = page.lastIndexOf(QStringLiteral("</h2>"), first);
    page.insert(head < 0 ? first : head + 5, words);
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

/// From where to where a part of the page is, in the document; `breaks` puts it on a page of its own.
struct Part {
    double top = 0, bottom = 0;
    bool leads = false, is_table = false;  ///< leads: it is on the page of what comes next
    bool is_heading = false, is_code = false, is_figure = false;
    std::function<void()> breaks;
};

template <class Format>
Format on_next_page(Format format) {
    format.setPageBreakPolicy(QTextFormat::PageBreak_AlwaysBefore);
    return format;
}

std::vector<Part> parts_of(QTextDocument& document) {
    std::vector<Part> parts;
    const auto* layout = document.documentLayout();
    for (auto at = document.rootFrame()->begin(); !at.atEnd(); ++at) {
        Part part;
        QRectF box;
        if (auto* frame = at.currentFrame()) {
            box = layout->frameBoundingRect(frame);
            part.is_table = qobject_cast<QTextTable*>(frame) != nullptr;
            part.breaks = [frame] { frame->setFrameFormat(on_next_page(frame->frameFormat())); };
        } else {
            const QTextBlock block = at.currentBlock();
            box = layout->blockBoundingRect(block);
            const auto letters = block.begin().atEnd() ? QTextCharFormat{} : block.begin().fragment().charFormat();
            part.leads = part.is_heading = block.blockFormat().headingLevel() > 0;
            part.is_code = letters.fontFixedPitch();
            part.is_figure = letters.objectType() == figure_type;
            part.breaks = [block] { QTextCursor(block).setBlockFormat(on_next_page(block.blockFormat())); };
        }
        part.top = box.top();
        part.bottom = box.bottom();
        if (box.height() > 0) parts.push_back(std::move(part));
    }
    // A figure or words right above a table are about it, words right below a heading about what follows, and commands
    // are one block.
    for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
        auto &part = parts[i], &next = parts[i + 1];
        const bool is_remark = i > 0 && parts[i - 1].is_heading && next.is_figure;
        const bool is_about_next = !part.is_table && (next.is_table || (is_remark && !part.is_figure));
        part.leads = part.leads || is_about_next || (part.is_code && next.is_code);
    }
    return parts;
}

/// A heading is on the page of what it heads, a figure on that of its table, commands are whole, and a table of less
/// than half a page is on one, unless that leaves much of the page before empty. Others repeat their head. After each
/// change all is laid out anew: of what Qt lays out bit by bit, some is left out.
void keep_together(QTextDocument& document, const QSizeF& size) {
    const double page = size.height();
    for (auto at = document.rootFrame()->begin(); !at.atEnd(); ++at)
        if (auto* table = qobject_cast<QTextTable*>(at.currentFrame())) {
            auto format = table->format();
            format.setHeaderRowCount(1);
            table->setFormat(format);
        }
    const auto page_of = [page](double y) { return static_cast<int>(std::floor(y / page)); };
    document.setPageSize(size);
    auto parts = parts_of(document);
    for (std::size_t i = 0; i < parts.size(); ++i) {
        std::size_t last = i;
        while (parts[last].leads && last + 1 < parts.size()) ++last;
        const Part &first = parts[i], &end = parts[last];
        constexpr double longest = 0.5, least = 60;  // of a table, so much of it is beside its heading
        constexpr double most_blank = 0.12;          // of a page: rather than leave more, it is on two
        const double blank = (page_of(first.top + 1) + 1) * page - first.top;
        const bool is_long = end.is_table && (end.bottom - end.top > longest * page || blank > most_blank * page);
        const double bottom = is_long ? std::min(end.bottom, end.top + least) : end.bottom;
        const bool is_cut = page_of(first.top + 1) != page_of(bottom - 1) && bottom - first.top < page;
        i = last;
        if (!is_cut) continue;
        first.breaks();
        document.setPageSize(size);
        parts = parts_of(document);  // what follows has moved
    }
}

/// All pages, each with its number below.
void print_pages(QTextDocument& document, QPdfWriter& writer, const QSizeF& page, double foot) {
    QPainter painter(&writer);
    const QString title = document.metaInformation(QTextDocument::DocumentTitle);
    QFont small = document.defaultFont();
    small.setPixelSize(pdf_foot_px);
    const int pages = document.pageCount();
    for (int i = 0; i < pages; ++i) {
        if (i > 0) writer.newPage();
        painter.save();
        painter.translate(0, -i * page.height());
        QAbstractTextDocumentLayout::PaintContext context;
        context.clip = QRectF(0, i * page.height(), page.width(), page.height());
        context.palette.setColor(QPalette::Text, Qt::black);
        painter.setClipRect(context.clip);
        document.documentLayout()->draw(&painter, context);
        painter.restore();
        painter.setFont(small);
        painter.setPen(faint_ink);
        const QRectF line(0, page.height(), page.width(), foot);
        painter.drawText(line, Qt::AlignLeft | Qt::AlignBottom, title);
        painter.drawText(line, Qt::AlignRight | Qt::AlignBottom, QObject::tr("%1 of %2").arg(i + 1).arg(pages));
    }
}

}  // namespace

QString for_paper(QString page) {
    static const QRegularExpression style("<style>.*?</style>", QRegularExpression::DotMatchesEverythingOption);
    page.remove(style);
    leave_out_long_parts(page);
    for (const char* cell : {"td", "th"}) {
        page.replace(QStringLiteral("<%1>").arg(cell), QStringLiteral(R"(<%1 align="right">)").arg(cell));
        page.replace(QStringLiteral(R"(<tr><%1 align="right">)").arg(cell),
                     QStringLiteral(R"(<tr><%1 align="left">)").arg(cell));
    }
    const QString pairs = QStringLiteral(R"(<table class="pairs">)"), end = QStringLiteral("</table>");
    for (auto at = page.indexOf(pairs); at >= 0; at = page.indexOf(pairs, at)) {
        const auto size = page.indexOf(end, at) - at;
        QString table = page.mid(at, size);
        table.replace(pairs, R"(<table cellpadding="2">)").replace(R"(align="right")", R"(align="left")");
        page.replace(at, size, table);
    }
    page.replace("<table>", R"(<table width="100%" cellpadding="2">)");
    return page;
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
    const QSizeF body = room - QSizeF(0, foot);
    keep_together(document, body);
    writer.setTitle(document.metaInformation(QTextDocument::DocumentTitle));
    print_pages(document, writer, body, foot);
    return pdf;
}

}  // namespace skippipe

#include "report_pdf.moc"
