// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <vector>

#include <QTabWidget>
#include <QToolButton>

#include "views/timeline/cause_words.h"
#include "views/timeline/lanes.h"

namespace skippipe {

/// What colours and hatches of a plan's lanes mean: beside the tabs that hold them, as many causes of idling as there
/// is room for, each with its share of the plan's time, the largest first. Pressed, it shows all that timelines draw.
class LaneKey : public QToolButton {
    Q_OBJECT
public:
    /// Of the lanes on that page of the tabs.
    LaneKey(QTabWidget& tabs, const QWidget& page);
    /// Idle time by cause, as shares of the plan; all 0: there is no plan.
    void show_shares(const std::array<double, idle_causes>& shares);
    /// Causes that have an entry, in this order.
    const std::vector<IdleCause>& entries() const { return entries_; }
    QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent*) override;
    bool eventFilter(QObject*, QEvent*) override;

private:
    void follow();
    int width_with(std::size_t entries) const;
    QString entry_words(IdleCause cause) const;

    QTabWidget& tabs_;
    const QWidget& page_;
    std::array<double, idle_causes> shares_{};
    std::vector<IdleCause> causes_, entries_;  ///< of the plan; those that have room
};

}  // namespace skippipe
