// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <QLabel>

namespace skippipe {

/// Figures on one line: as many as there is room for, each whole; the others are in the tooltip.
class FigureLine : public QLabel {
    Q_OBJECT
public:
    struct Figure {
        QString html;
        int rank = 0;  ///< where room is short, the highest goes first
    };

    explicit FigureLine(QWidget* parent = nullptr);

    /// In this order; `note`: plain, under them in the tooltip.
    void show_figures(std::vector<Figure> figures, const QString& note);
    /// Words in their place, shortened where there is no room.
    void show_words(const QString& plain);

protected:
    void resizeEvent(QResizeEvent*) override;
    void changeEvent(QEvent*) override;

private:
    void fit();
    QString line(int highest_rank) const;
    bool fits(const QString& html) const;

    std::vector<Figure> figures_;
    QString words_;
};

}  // namespace skippipe
