// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/figure_line.h"

#include <algorithm>
#include <utility>

#include <QEvent>
#include <QTextDocument>

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

/// What is below stays where it is, however many lines there are: where there is room for all figures on one, the
/// other is the sentence's.
void FigureLine::reserve_lines() {
    const int sentence = width() < wide_figures ? QFontMetrics(small_font()).lineSpacing() : 0;
    setMinimumHeight(
        std::max<int>(size::row, most_figure_lines * fontMetrics().lineSpacing() + sentence + below_lines));
}

void FigureLine::show_figures(std::vector<Figure> figures, const QString& note, const QString& closing) {
    closing_ = closing;
    figures_ = std::move(figures);
    words_.clear();
    QStringList all;
    for (const auto& figure : figures_) all << figure.html;
    if (!closing.isEmpty()) all << closing.toHtmlEscaped();
    all << note.toHtmlEscaped().replace('\n', "<br>");
    setToolTip(all.join("<br>"));
    fit();
}

void FigureLine::show_words(const QString& plain) {
    figures_.clear();
    words_ = plain;
    setToolTip(QStringLiteral("<span>%1</span>").arg(plain.toHtmlEscaped()));
    fit();
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
        if (fits(longer)) {
            line = longer;
            continue;
        }
        full << std::exchange(line, part);
        if (full.back().isEmpty() || full.size() == most || !fits(line)) return {};
    }
    return (full << line).join("<br>");
}

bool FigureLine::fits(const QString& html) const {
    QTextDocument text;
    text.setDocumentMargin(0);
    text.setDefaultFont(font());
    text.setHtml(html);
    return text.idealWidth() <= contentsRect().width();
}

void FigureLine::fit() {
    if (figures_.empty())
        return setText(fontMetrics().elidedText(words_, Qt::ElideRight, contentsRect().width()).toHtmlEscaped());
    int rank = 0;
    for (const auto& figure : figures_) rank = std::max(rank, figure.rank);
    QString html = lines(rank, false, 1);
    if (html.isEmpty()) html = lines(rank, true, 1);
    for (; html.isEmpty() && rank >= 0; --rank) html = lines(rank, true, most_figure_lines);
    if (html.isEmpty()) html = figures_.front().html;
    if (!closing_.isEmpty())
        html += QStringLiteral("<br><span style='color:%1;font-size:%2px'>%3</span>")
                    .arg(theme().text_2.name())
                    .arg(size::small_text)
                    .arg(QFontMetrics(small_font())
                             .elidedText(closing_, Qt::ElideRight, contentsRect().width())
                             .toHtmlEscaped());
    setText(html);
}

}  // namespace skippipe
