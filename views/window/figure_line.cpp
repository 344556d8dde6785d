// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/figure_line.h"

#include <algorithm>
#include <utility>

#include <QEvent>
#include <QTextDocument>

namespace skippipe {
namespace {
const QString between = QStringLiteral("&nbsp;&nbsp; ");
}  // namespace

FigureLine::FigureLine(QWidget* parent) : QLabel(parent) {
    setTextFormat(Qt::RichText);
    setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
}

void FigureLine::show_figures(std::vector<Figure> figures, const QString& note) {
    figures_ = std::move(figures);
    words_.clear();
    QStringList all;
    for (const auto& figure : figures_) all << figure.html;
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
    fit();
}

void FigureLine::changeEvent(QEvent* event) {
    QLabel::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) fit();
}

QString FigureLine::line(int highest_rank) const {
    QStringList parts;
    for (const auto& figure : figures_)
        if (figure.rank <= highest_rank) parts << figure.html;
    if (static_cast<std::size_t>(parts.size()) < figures_.size()) parts << QString(QChar(0x2026));
    return parts.join(between);
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
    while (rank > 0 && !fits(line(rank))) --rank;
    setText(line(rank));
}

}  // namespace skippipe
