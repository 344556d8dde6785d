// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/inspector/prose_edit.h"

#include <algorithm>

#include <QHelpEvent>
#include <QPainter>
#include <QTextBlock>
#include <QToolTip>

#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr qsizetype most_lines = 16;
constexpr double text_margin = 2;
constexpr int edges = 10;  ///< pixels of frame and padding, above and below together

}  // namespace

ProseEdit::ProseEdit(QWidget* parent) : QPlainTextEdit(parent) {
    setTabChangesFocus(true);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    document()->setDocumentMargin(text_margin);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    connect(this, &QPlainTextEdit::textChanged, this, &ProseEdit::fit_height);
    fit_height();
}

void ProseEdit::show_text(const QString& text) {
    if (text == shown_ && !document()->isModified()) return;
    if (hasFocus() && document()->isModified()) return;
    shown_ = text;
    setPlainText(text);
    document()->setModified(false);
}

void ProseEdit::set_lines_at_rest(int lines) {
    lines_at_rest_ = lines;
    fit_height();
    viewport()->update();
}

QStringList ProseEdit::all_lines() const {
    QStringList lines;
    for (QTextBlock block = document()->begin(); block.isValid(); block = block.next()) {
        blockBoundingRect(block);  // lays it out
        const auto* layout = block.layout();
        if (layout->lineCount() == 0) lines << block.text();
        for (int i = 0; i < layout->lineCount(); ++i) {
            const auto line = layout->lineAt(i);
            lines << block.text().mid(line.textStart(), line.textLength());
        }
    }
    return lines;
}

QStringList ProseEdit::seen_lines() const {
    QStringList lines = all_lines();
    if (lines.size() <= lines_at_rest_) return lines;
    // The last one has what follows too, so that it is full before the ellipsis.
    const QString rest = lines.mid(lines_at_rest_ - 1).join(QString{});
    lines = lines.mid(0, lines_at_rest_);
    lines.last() =
        fontMetrics().elidedText(rest, Qt::ElideRight, viewport()->width() - static_cast<int>(2 * text_margin));
    return lines;
}

void ProseEdit::fit_height() {
    const qsizetype lines = std::max<qsizetype>(1, all_lines().size());
    const qsizetype seen = std::min<qsizetype>(lines, hasFocus() ? most_lines : lines_at_rest_);
    setVerticalScrollBarPolicy(hasFocus() && lines > seen ? Qt::ScrollBarAsNeeded : Qt::ScrollBarAlwaysOff);
    const int high = static_cast<int>(seen) * fontMetrics().lineSpacing() + static_cast<int>(2 * text_margin) + edges;
    if (high != minimumHeight() || high != maximumHeight()) setFixedHeight(high);
    setToolTip(lines > lines_at_rest_ ? toPlainText() : accessibleDescription());
}

void ProseEdit::enter() {
    if (!document()->isModified()) return;
    document()->setModified(false);
    shown_ = toPlainText().trimmed();
    Q_EMIT entered(shown_);
}

/// A long text is a wide tip: in lines, as rich text is.
bool ProseEdit::event(QEvent* event) {
    if (event->type() != QEvent::ToolTip || toolTip().isEmpty() || hasFocus()) return QPlainTextEdit::event(event);
    QToolTip::showText(dynamic_cast<QHelpEvent*>(event)->globalPos(),
                       QStringLiteral("<qt>%1</qt>").arg(toolTip().toHtmlEscaped().replace('\n', "<br>")), this);
    return true;
}

void ProseEdit::keyPressEvent(QKeyEvent* event) {
    const bool is_enter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (is_enter && !(event->modifiers() & Qt::ShiftModifier)) return enter();
    if (event->key() == Qt::Key_Escape && document()->isModified()) {
        setPlainText(shown_);
        document()->setModified(false);
        return;
    }
    QPlainTextEdit::keyPressEvent(event);
}

void ProseEdit::focusInEvent(QFocusEvent* event) {
    QPlainTextEdit::focusInEvent(event);
    fit_height();
    viewport()->update();
}

void ProseEdit::focusOutEvent(QFocusEvent* event) {
    QPlainTextEdit::focusOutEvent(event);
    enter();
    moveCursor(QTextCursor::Start);
    fit_height();
    viewport()->update();
}

void ProseEdit::resizeEvent(QResizeEvent* event) {
    QPlainTextEdit::resizeEvent(event);
    fit_height();
}

void ProseEdit::paintEvent(QPaintEvent* event) {
    if (hasFocus() || document()->isEmpty()) return QPlainTextEdit::paintEvent(event);
    QPainter painter(viewport());
    painter.setPen(palette().color(isEnabled() ? QPalette::Active : QPalette::Disabled, QPalette::Text));
    int y = static_cast<int>(text_margin);
    for (const auto& line : seen_lines()) {
        painter.drawText(QRect(static_cast<int>(text_margin), y, viewport()->width(), fontMetrics().lineSpacing()),
                         Qt::AlignLeft | Qt::AlignVCenter, line);
        y += fontMetrics().lineSpacing();
    }
}

}  // namespace skippipe
