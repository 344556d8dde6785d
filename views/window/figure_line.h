// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <QLabel>

namespace skippipe {

/// What matters first, and small figures below it: on one line, in a narrow window on two. Where that is too short each
/// is in its shorter words, then there are only as many as there is room for, each whole. The tooltip has all of them
/// at length.
class FigureLine : public QLabel {
    Q_OBJECT
public:
    struct Figure {
        QString html;
        int rank = 0;        ///< where room is short, the highest goes first
        QString brief = {};  ///< html where room is short; empty: it has no shorter words
    };

    explicit FigureLine(QWidget* parent = nullptr);

    /// In this order; `note`: plain, under them in the tooltip.
    void show_figures(Figure first, std::vector<Figure> figures, const QString& note);
    /// Words in their place, on two lines where one is too short for them, shortened where those are; after them a link
    /// of these words, which is activated as a label's are. `note`: after them in the tooltip.
    void show_words(const QString& plain, const QString& link = {}, const QString& note = {});

protected:
    void resizeEvent(QResizeEvent*) override;
    void changeEvent(QEvent*) override;

private:
    void reserve_lines();
    void fit();
    /// Those up to that rank, on one line or two; empty where they do not fit.
    QString lines(int highest_rank, bool brief, int most_lines) const;
    QString wrapped_words() const;
    bool fits(const QString& html, const QFont& font) const;

    Figure first_;
    std::vector<Figure> figures_;
    QString words_, link_;
};

}  // namespace skippipe
