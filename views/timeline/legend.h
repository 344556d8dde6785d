// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <vector>

#include <QMenu>

#include "views/timeline/timeline_view.h"

namespace skippipe {

/// Those that timelines draw as gaps, in the order in which they are defined.
std::vector<IdleCause> drawn_causes();
/// A timeline that says what timelines draw: a lane a kind of span and a cause of idling, called what it is.
std::shared_ptr<const TimelineData> legend_data(const std::vector<IdleCause>& causes = drawn_causes(),
                                                bool with_down = true);

/// It as a view, as high as all of its lanes, to be looked at alone.
TimelineView* legend_view(QWidget* parent);
/// The same for a narrow panel: work and, beside it, waits, each in a word or two.
class DrawnKey : public QWidget {
public:
    explicit DrawnKey(QWidget* parent = nullptr);
    /// These causes, in their order; `with_down`: and that a node can be down.
    void show_causes(const std::vector<IdleCause>& causes, bool with_down = true);
    void set_colour_by(ColourBy by);
    const TimelineView& work() const { return *work_; }
    const TimelineView& waits() const { return *waits_; }

private:
    TimelineView *work_, *waits_;
};

/// A menu that shows all of it.
QMenu* legend_menu(QWidget* parent);
/// With causes of idling as lanes have them that are too low for hatches, or as others have.
void show_as_low_lanes(QMenu& legend, bool low);
void colour_legend(QMenu& legend, ColourBy by);

}  // namespace skippipe
