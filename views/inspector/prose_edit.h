// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QPlainTextEdit>

namespace skippipe {

/// A few sentences, wrapped: the first lines while nobody is in it, with an ellipsis where there are more, which its
/// tip has; all of them while somebody writes. Enter, and going elsewhere, enter them; Shift+Enter begins a line,
/// Escape gives up what was typed.
class ProseEdit final : public QPlainTextEdit {
    Q_OBJECT
public:
    explicit ProseEdit(QWidget* parent = nullptr);
    /// Unless somebody is writing.
    void show_text(const QString& text);
    /// The lines that are seen while nobody is in it, the last one elided.
    QStringList seen_lines() const;

    /// So many are seen while nobody writes in it; what is longer ends in an ellipsis.
    void set_lines_at_rest(int lines);

Q_SIGNALS:
    void entered(const QString& text);

protected:
    bool event(QEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void focusInEvent(QFocusEvent*) override;
    void focusOutEvent(QFocusEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void paintEvent(QPaintEvent*) override;

private:
    void enter();
    void fit_height();
    int lines_at_rest_ = 3;
    /// As they are wrapped.
    QStringList all_lines() const;
    QString shown_;  ///< of the document
};

}  // namespace skippipe
