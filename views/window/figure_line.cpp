// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/figure_line.h"

#include <algorithm>
#include <utility>

#include <QEvent>
#include <QTextDocument>
#include <QTextLayout>

#include "views/theme/theme.h"

namespace skippipe {
namespace {
const QString between = QStringLiteral("&nbsp;&nbsp; ");
constexpr int most_figure_lines = 2, below_lines = 2, wide_figures = 600;
}  // namespace

FigureLine::FigureLine(QWidget* parent) : QLabel(parent) {
    setTextFormat(Qt::RichText);
    setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    reserve_lines();
}

/// What is below stays where it is, whether there are figures or not; a second line of them is seldom needed.
void FigureLine::reserve_lines() {
    setMinimumHeight(std::max<int>(
        size::row, QFontMetrics(title_font()).lineSpacing() + QFontMetrics(small_font()).lineSpacing() + below_lines));
}

void FigureLine::show_figures(Figure first, std::vector<Figure> figures, const QString& note) {
    first_ = std::move(first);
    figures_ = std::move(figures);
    words_.clear();
    link_.clear();
    QStringList all{first_.html};
    for (const auto& figure : figures_) all << figure.html;
    all << note.toHtmlEscaped().replace('\n', "<br>");
    setToolTip(all.join("<br>"));
    fit();
}

void FigureLine::show_words(const QString& plain, const QString& link, const QString& note) {
    first_ = {};
    figures_.clear();
    words_ = plain;
    link_ = link;
    setToolTip(QStringLiteral("<span>%1</span>")
                   .arg((note.isEmpty() ? plain : plain + QStringLiteral(". ") + note).toHtmlEscaped()));
    fit();
}

/// On one line or two, the link after them.
QString FigureLine::wrapped_words() const {
    const int wide = contentsRect().width();
    const QString apart = link_.isEmpty() ? QString{} : QString(2, QChar(QChar::Nbsp));
    const int of_link = fontMetrics().horizontalAdvance(apart + link_);
    const QString html = link_.isEmpty() ? QString{}
                                         : apart + QStringLiteral("<a href=\"problems\" style=\"color:%1\">%2</a>")
                                                       .arg(theme().accent.name(), link_.toHtmlEscaped());
    if (fontMetrics().horizontalAdvance(words_) + of_link <= wide) return words_.toHtmlEscaped() + html;
    QTextLayout layout(words_, font());
    layout.beginLayout();
    QTextLine line = layout.createLine();
    line.setLineWidth(wide);
    const int first = line.textLength();
    layout.endLayout();
    return words_.left(first).trimmed().toHtmlEscaped() + QStringLiteral("<br>") +
           fontMetrics().elidedText(words_.mid(first), Qt::ElideRight, wide - of_link).toHtmlEscaped() + html;
}

void FigureLine::resizeEvent(QResizeEvent* event) {
    QLabel::resizeEvent(event);
    reserve_lines();
    fit();
}

void FigureLine::changeEvent(QEvent* event) {
    QLabel::changeEvent(event);
    if (event->type() != QEvent::FontChange && event->type() != QEvent::StyleChange) return;
    reserve_lines();
    fit();
}

QString FigureLine::lines(int highest_rank, bool brief, int most) const {
    QStringList parts, full;
    for (const auto& figure : figures_)
        if (figure.rank <= highest_rank) parts << (brief && !figure.brief.isEmpty() ? figure.brief : figure.html);
    if (static_cast<std::size_t>(parts.size()) < figures_.size()) parts << QString(QChar(0x2026));
    QString line;
    for (const auto& part : parts) {
        const QString longer = line.isEmpty() ? part : line + between + part;
        if (fits(longer, small_font())) {
            line = longer;
            continue;
        }
        full << std::exchange(line, part);
        if (full.back().isEmpty() || full.size() == most || !fits(line, small_font())) return {};
    }
    return (full << line).join("<br>");
}

bool FigureLine::fits(const QString& html, const QFont& font) const {
    QTextDocument text;
    text.setDocumentMargin(0);
    text.setDefaultFont(font);
    text.setHtml(html);
    return text.idealWidth() <= contentsRect().width();
}

void FigureLine::fit() {
    setTextInteractionFlags(first_.html.isEmpty() && !link_.isEmpty()
                                ? Qt::LinksAccessibleByMouse | Qt::LinksAccessibleByKeyboard
                                : Qt::NoTextInteraction);
    if (first_.html.isEmpty()) return setText(wrapped_words());
    const bool has_room = first_.brief.isEmpty() || fits(first_.html, font());
    int rank = 0;
    for (const auto& figure : figures_) rank = std::max(rank, figure.rank);
    QString below = lines(rank, false, width() < wide_figures ? most_figure_lines : 1);
    for (; below.isEmpty() && rank >= 0; --rank) below = lines(rank, true, most_figure_lines);
    setText(QStringLiteral("%1<br><span style='font-size:%2px'>%3</span>")
                .arg(has_room ? first_.html : first_.brief)
                .arg(size::small_text)
                .arg(below));
}

}  // namespace skippipe
