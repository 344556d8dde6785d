// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <QLabel>

namespace skippipe {

/// Figures on one line; where that is too short each in its shorter words, then on two lines, then only as many as
/// there is room for, each whole. A sentence may close them. The tooltip has all of them at length.
class FigureLine : public QLabel {
    Q_OBJECT
public:
    struct Figure {
        QString html;
        int rank = 0;        ///< where room is short, the highest goes first
        QString brief = {};  ///< html where room is short; empty: it has no shorter words
    };

    explicit FigureLine(QWidget* parent = nullptr);

    /// In this order; `note`: plain, under them in the tooltip; `closing`: plain, on a line of its own below them,
    /// shortened where there is no room.
    void show_figures(std::vector<Figure> figures, const QString& note, const QString& closing = {});
    /// Words in their place, shortened where there is no room.
    void show_words(const QString& plain);

protected:
    void resizeEvent(QResizeEvent*) override;
    void changeEvent(QEvent*) override;

private:
    void reserve_lines();
    void fit();
    /// Those up to that rank, on one line or two; empty where they do not fit.
    QString lines(int highest_rank, bool brief, int most_lines) const;
    bool fits(const QString& html) const;

    std::vector<Figure> figures_;
    QString words_, closing_;
};

}  // namespace skippipe
