// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QSplitter>
#include <QTabWidget>
#include <QVBoxLayout>

namespace skippipe {

/// Tabs, and beside them one of their pages where there is room for both: on a large screen nobody has to press for it.
/// Where there is not, it is a tab again, in its place.
class BesideTabs : public QSplitter {
public:
    enum class Side { left, right };
    /// `page` is one of the tabs; it stands at that side from that width on, with that share of it.
    BesideTabs(QTabWidget& tabs, QWidget& page, Side side, int from_width, double share = 0.5);
    bool is_beside() const { return place_ >= 0; }
    /// Whether it may: a page that has nothing to show need not.
    void allow_beside(bool allowed);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void arrange();

    QTabWidget& tabs_;
    QWidget& page_;
    QWidget* holder_;
    QVBoxLayout* column_;
    Side side_;
    int from_width_;
    double share_;
    bool allowed_ = true;
    int place_ = -1;  ///< among the tabs, of a page that is not there now
    QString title_;
};

}  // namespace skippipe
