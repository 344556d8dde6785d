// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>

namespace skippipe {

/// Tabs, and beside or below them one of their pages where there is room for both: on a large screen nobody has to
/// press for it. Where there is not, it is a tab again, in its place.
class BesideTabs : public QSplitter {
public:
    enum class Side { left, right, below };
    /// `page` is one of the tabs; it stands at that side from so many pixels on, of the width or, below, of the height,
    /// with that share of them.
    BesideTabs(QTabWidget& tabs, QWidget& page, Side side, int from, double share = 0.5);
    bool is_beside() const { return is_beside_; }
    /// Whether it may: a page that has nothing to show need not.
    void allow_beside(bool allowed);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void arrange();
    /// Of the page among those that are tabs now: as all stood at first, whichever of them others took out.
    int place() const;

    QTabWidget& tabs_;
    QWidget& page_;
    QWidget* holder_;
    QVBoxLayout* column_;
    Side side_;
    int from_;
    double share_;
    bool allowed_ = true, is_beside_ = false;
    std::vector<QWidget*> order_;  ///< of all tabs' pages
    QString title_;
};

}  // namespace skippipe
