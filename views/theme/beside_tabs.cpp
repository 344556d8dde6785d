// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/theme/beside_tabs.h"

#include <utility>

#include <QTabBar>

#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {

BesideTabs::BesideTabs(QTabWidget& tabs, QWidget& page, Side side, int from_width, double share)
    : QSplitter(Qt::Horizontal),
      tabs_(tabs),
      page_(page),
      holder_(new QWidget),
      column_(seamless_column(holder_)),
      side_(side),
      from_width_(from_width),
      share_(share),
      title_(tabs.tabText(tabs.indexOf(&page))) {
    holder_->setProperty("role", "surface");
    holder_->setAttribute(Qt::WA_StyledBackground);
    auto* title = words_label(title_, "secondary");
    title->setContentsMargins(size::gap + 3, 0, size::gap, 0);
    title->setFixedHeight(tabs.tabBar()->sizeHint().height());
    column_->addWidget(title);
    addWidget(&tabs);
    insertWidget(side == Side::left ? 0 : 1, holder_);
    holder_->hide();
    setChildrenCollapsible(false);
}

void BesideTabs::allow_beside(bool allowed) {
    allowed_ = allowed;
    arrange();
}

void BesideTabs::resizeEvent(QResizeEvent* event) {
    QSplitter::resizeEvent(event);
    arrange();
}

void BesideTabs::arrange() {
    const bool wanted = allowed_ && width() >= from_width_;
    if (wanted == is_beside()) return;
    if (wanted) {
        place_ = tabs_.indexOf(&page_);
        tabs_.removeTab(place_);
        column_->addWidget(&page_, 1);
        page_.show();
        holder_->show();
        const int own = static_cast<int>(share_ * width());
        setSizes(side_ == Side::left ? QList{own, width() - own} : QList{width() - own, own});
    } else {
        holder_->hide();
        tabs_.insertTab(std::exchange(place_, -1), &page_, title_);
    }
}

}  // namespace skippipe
