// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <optional>

#include "views/document/selection.h"
#include "views/imgui/host.h"
#include "views/timeline/colours.h"
#include "views/timeline/geometry.h"
#include "views/timeline/lanes.h"
#include "views/timeline/zoom.h"

namespace skippipe {

/// A dragged-over area and what it holds.
struct TimelineArea {
    double begin = 0, end = 0;
    int first_lane = 0, last_lane = 0;
    AreaStatistics statistics;
};

/// One lane a node: work solid, waiting pale and hatched by cause, transfers as thin lines above. Keys and mouse as the
/// window's cheat sheet lists them. Several timelines may share one zoom.
class TimelineView : public ImGuiHost {
    Q_OBJECT
public:
    /// `compact`: low lanes without names' column detail, for the miniature under the canvas.
    explicit TimelineView(TimeZoom& zoom, bool compact = false, QWidget* parent = nullptr);

    /// Shows `data` (null: nothing). Where it is of the same run as before (its key), selection and place stay.
    void set_data(std::shared_ptr<const TimelineData> data);
    const TimelineData* data() const { return data_.get(); }
    void set_empty_text(const QString& text);
    void set_colour_by(ColourBy by);
    ColourBy colour_by() const { return colour_by_; }
    /// Marks the lanes of these nodes, and a microbatch's spans.
    void set_marked(const std::set<std::string>& nodes, std::optional<int> microbatch);
    /// Selects the span of that row and brings it into sight; -1: nothing.
    void select_row(std::int64_t row, bool bring_into_sight = true);
    TimelineData::Place selected() const { return selected_; }
    const std::optional<LaneGap>& selected_gap() const { return selected_gap_; }
    int selected_lane() const { return selected_lane_; }
    const std::optional<TimelineArea>& area() const { return area_; }
    /// Where a time and a lane are drawn, in widget coordinates; for tests and other views.
    QPointF place_of(double seconds, int lane) const;
    /// What the card under the mouse says there, in widget coordinates; nothing there: empty.
    QStringList words_at(QPointF place) const;
    /// Selects a span of the data and brings it into sight; none: nothing happens.
    void go(TimelineData::Place place);
    int height_for_all_lanes() const;
    /// In which a compact one's lanes are just high enough for their names.
    int height_for_named_lanes() const;

Q_SIGNALS:
    void selected_changed();          ///< span, gap or area
    void lane_activated(int lane);    ///< a name was clicked
    void stage_activated(int stage);  ///< the number before a name was

protected:
    void draw(ImDrawList& list) override;
    void keyPressEvent(QKeyEvent*) override;

private:
    friend class TimelinePainter;
    TimeScale scale() const;
    LaneStack stack() const;
    void handle_mouse();
    void click(double x, double y);
    void hover(double x, double y);
    void bring_into_sight(const TimelineData::Place& place);
    void clear_selection();
    void step_lane(int step);
    void step_hop(int step);

    TimeZoom& zoom_;
    bool compact_;
    std::shared_ptr<const TimelineData> data_;
    QString empty_text_;
    ColourBy colour_by_ = ColourBy::operation;
    double scroll_ = 0;
    std::set<std::string> marked_nodes_;
    std::optional<int> marked_microbatch_;
    TimelineData::Place selected_;
    std::int64_t selected_row_ = -1;
    std::optional<LaneGap> selected_gap_;
    int selected_lane_ = -1;
    std::optional<TimelineArea> area_;
    std::optional<QPointF> press_;
    bool dragging_area_ = false, panning_ = false, centred_once_ = false;
    double pan_x_ = 0;
};

/// A loss in words: when, how soon it was known and planned again, what ran again and what was lost.
QStringList describe_loss(const Loss& loss);
/// What became of a stretch in which nothing ran that counts: "begun again", "went back", "no iteration".
QString lost_time_words(const LostTime& lost);
QStringList describe_lost_time(const LostTime& lost);
/// "lost since 2.00 s": an outage seen from within.
QString outage_words(const Outage& outage, const TimelineData& data);
/// A node's outage in words, with the loss that began it.
QStringList describe_outage(const Outage& outage, int lane, const TimelineData& data);
/// A span in words, one fact a line: what a tooltip and the selection panel say.
QStringList describe_span(const LaneSpan& span, int lane, const TimelineData& data);
/// What a transfer of a planned reduction carries; nothing where that is not known.
QStringList describe_cargo(const TimelineData::Place& place, const TimelineData& data);
QStringList describe_gap(const LaneGap& gap, const std::string& node, const TimelineData& data);
/// An area's sums in words.
QStringList describe_area(const TimelineArea& area);

}  // namespace skippipe
