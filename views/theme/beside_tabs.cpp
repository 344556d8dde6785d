// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/theme/beside_tabs.h"

#include <QTabBar>

#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {

BesideTabs::BesideTabs(QTabWidget& tabs, QWidget& page, Side side, int from, double share)
    : QSplitter(side == Side::below ? Qt::Vertical : Qt::Horizontal),
      tabs_(tabs),
      page_(page),
      holder_(new QWidget),
      column_(seamless_column(holder_)),
      side_(side),
      from_(from),
      share_(share),
      title_(tabs.tabText(tabs.indexOf(&page))) {
    order_.reserve(static_cast<std::size_t>(tabs.count()));
    for (int i = 0; i < tabs.count(); ++i) order_.push_back(tabs.widget(i));
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

int BesideTabs::place() const {
    int place = 0;
    for (auto* page : order_) {
        if (page == &page_) break;
        if (tabs_.indexOf(page) >= 0) ++place;
    }
    return place;
}

void BesideTabs::arrange() {
    const int room = side_ == Side::below ? height() : width();
    const bool wanted = allowed_ && room >= from_;
    if (wanted == is_beside_) return;
    is_beside_ = wanted;
    if (wanted) {
        tabs_.removeTab(tabs_.indexOf(&page_));
        column_->addWidget(&page_, 1);
        page_.show();
        holder_->show();
        const int own = static_cast<int>(share_ * room);
        setSizes(side_ == Side::left ? QList{own, room - own} : QList{room - own, own});
    } else {
        holder_->hide();
        tabs_.insertTab(place(), &page_, title_);
    }
}

}  // namespace skippipe
