// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <optional>

#include <QTimer>

#include "views/document/selection.h"
#include "views/imgui/host.h"
#include "views/timeline/colours.h"
#include "views/timeline/counters.h"
#include "views/timeline/find.h"
#include "views/timeline/geometry.h"
#include "views/timeline/lane_layout.h"
#include "views/timeline/lanes.h"
#include "views/timeline/line_rows.h"
#include "views/timeline/zoom.h"

class QMenu;

namespace skippipe {

/// A dragged-over area and what it holds.
struct TimelineArea {
    double begin = 0, end = 0;
    int first_row = 0, last_row = 0;
    std::vector<int> lanes;  ///< those of its rows, of collapsed groups all
    AreaStatistics statistics;

    bool is_same_place(const TimelineArea& other) const {
        return begin == other.begin && end == other.end && first_row == other.first_row && last_row == other.last_row;
    }
};

/// How a timeline stands beside others; at first it stands alone.
struct TimelineFrame {
    double names_px = 0;        ///< that names have, whatever they are; 0: as many as they need
    double least_lane_px = 0;   ///< of compact ones, whose lanes scroll rather than be lower; 0: as high as their names
    bool has_axis = true;       ///< without the axis of time there is nothing else above the lanes
    bool ends_in_line = false;  ///< with compact ones above and below, whichever of them scrolls
    /// Waits are drawn as in lanes too low for hatches, however high these are.
    bool has_low_waits = false;
    bool operator==(const TimelineFrame&) const = default;
};

/// Of one of several low timelines beneath each other, which share an axis: the first has it.
TimelineFrame stacked_frame(bool is_first);

/// One lane a node: work solid, waiting pale and hatched by cause, transfers as thin lines above. Keys and mouse as the
/// window's cheat sheet lists them. Several timelines may share one zoom.
class TimelineView : public ImGuiHost {
    Q_OBJECT
public:
    /// `compact`: low lanes without names' column detail, for the miniature under the canvas.
    explicit TimelineView(TimeZoom& zoom, bool compact = false, QWidget* parent = nullptr);

    /// Shows `data` (null: nothing). Where it is of the same run as before (its key), selection, area and place stay:
    /// what is selected is found again in it. Else bookmarks go too.
    void set_data(std::shared_ptr<const TimelineData> data);
    const TimelineData* data() const { return data_.get(); }
    void set_empty_text(const QString& text);
    void set_colour_by(ColourBy by);
    ColourBy colour_by() const { return colour_by_; }
    /// A strip of the whole time above, with what is in sight as a frame that can be dragged.
    void set_overview(bool on);
    /// What was planned for each iteration, as a strip under each lane's work; empty: none.
    void set_planned(PlannedIterations planned);
    /// Lanes in groups; none: as they come. What was collapsed by name stays so.
    void set_groups(std::vector<LaneGroup> groups);
    const std::vector<LaneGroup>& groups() const { return groups_; }
    void collapse_all(bool on);
    const LaneLayout& layout_of_lanes() const { return layout_; }
    /// Pixels of a lane that is not compact.
    /// Pixels, or fit_lane_height.
    void set_lane_height(double pixels);
    /// As far down as this, in pixels of lanes; no further than they go.
    void scroll_lanes(double pixels);
    double scrolled() const { return scroll_; }
    double height_of_lane() const { return lane_height_; }
    /// Lanes of these names stand above the others and stay there while those scroll.
    void set_pinned(std::set<std::string> names);
    const std::set<std::string>& pinned() const { return pinned_; }
    /// A row a line below the lanes: queue, wire and latency of its transfers; null: none.
    void set_lines(std::shared_ptr<const LineRows> lines);
    const LineRows* lines() const { return lines_.get(); }
    /// What lanes hold, send and work, as strips above them: of the marked nodes, else of all.
    void set_counters(bool on);
    /// The moment that other views show; it can be dragged on the axis. None: there is no such line.
    void set_moment(std::optional<double> seconds);
    /// Whose stages lanes say: the moment that other views show, where it is in sight, else the left edge.
    double moment_in_sight() const;
    /// Marks the lanes of the selected nodes, and those of the selected links, which come into sight; spans of another
    /// microbatch or stage than the selected one are faint, and where only nodes are selected those of lanes that they
    /// do not wait for in their iteration. What was selected here and is no part of that is no longer. `ways`: the
    /// lanes, by sender and receiver, whose transfers go over the selected links; all else is faint then.
    void set_marked(const Selection& selection, std::vector<std::pair<int, int>> ways = {});
    /// Marks what was found in the overview; all else is faint then, whatever is selected.
    void set_found(std::shared_ptr<const FoundSpans> found);
    /// Selects the span of that row and brings it into sight; -1: nothing.
    void select_row(std::int64_t row, bool bring_into_sight = true);
    /// Selects what was found and brings it into sight.
    void go(const Found& found);
    TimelineData::Place selected() const { return selected_; }
    const std::optional<LaneGap>& selected_gap() const { return selected_gap_; }
    /// The stretch in which nothing ran that counts.
    const std::optional<LostTime>& selected_lost() const { return selected_lost_; }
    int selected_lane() const { return selected_lane_; }
    const std::optional<TimelineArea>& area() const { return area_; }
    /// What the selection waited for.
    TimelineData::Place cause() const { return cause_; }
    /// What arrows lead along: all of the selected microbatch in its iteration, or in that of the moment shown.
    const std::vector<TimelineData::Place>& way() const { return way_; }
    /// From the selection to what it waited for, and back again.
    void follow_cause();
    /// All of it in sight.
    void show_iteration(const IterationTime& one);
    void go_back();
    /// Instants that were marked, by time.
    const std::vector<double>& bookmarks() const { return bookmarks_; }
    void set_bookmarks(std::vector<double> bookmarks);
    /// The stretch of time in sight.
    std::pair<double, double> in_sight() const { return {zoom_.begin(), zoom_.end()}; }
    /// That time in the middle of what is in sight, which stays as wide; where the run begins or ends, beside it.
    void show_time(double time);
    /// Where a time and a lane are drawn, in widget coordinates; for tests and other views.
    QPointF place_of(double seconds, int lane) const;
    /// What the card under the mouse says there, in widget coordinates; nothing there: empty.
    QStringList words_at(QPointF place) const;
    /// Selects a span of the data and brings it into sight; none: nothing happens.
    void go(TimelineData::Place place);
    /// As a click on its name does; scrolls there.
    void choose_lane(int lane);
    int height_for_all_lanes() const;
    void set_frame(const TimelineFrame& frame);
    bool is_compact() const { return compact_; }
    /// In which a compact one's lanes are just as high as its frame has them at least.
    int height_for_least_lanes() const;

Q_SIGNALS:
    void selected_changed();          ///< span, gap or area
    void area_dragged();              ///< over something else, which is summed up
    void lane_activated(int lane);    ///< a name was clicked
    void stage_activated(int stage);  ///< the number before a name was
    void line_activated(int line);    ///< the name of a line was
    void bookmarks_changed();
    void lanes_scrolled(double pixels);       ///< by whoever looks at them
    void alone_wanted();                      ///< without what stands beside it, or with it again
    void alike_wanted(const QString& words);  ///< to be looked for
    void menu_opens(QMenu* menu);             ///< others may add to it
    void layout_changed();                    ///< a group was collapsed or opened, or a lane pinned
    void moment_moved(double seconds);        ///< by a press or drag on the axis

protected:
    void draw(ImDrawList& list) override;
    void keyPressEvent(QKeyEvent*) override;
    void contextMenuEvent(QContextMenuEvent*) override;
    void focusInEvent(QFocusEvent*) override;
    void focusOutEvent(QFocusEvent*) override;

private:
    friend class TimelinePainter;
    /// What a card says, and what it must not cover.
    struct Card {
        QStringList lines;
        Box about;
        TimelineData::Place cause = {};  ///< what it waited for
    };
    /// Where the selection stood before a step to its cause.
    struct Spot {
        std::int64_t row = -1;
        std::optional<LaneGap> gap;
        int lane = -1;
    };
    enum class Drag { none, area, sight, sight_begin, sight_end, moment, lanes };

    TimeScale scale() const;
    TimeScale overview_scale() const;
    TimelineBands bands() const;
    LaneStack stack() const;
    double least_compact_lane() const;
    double lane_top(int lane) const { return stack().lane_top(layout_.row_of(lane)); }
    double work_middle(int lane) const;
    void lay_out();
    void take_area(TimelineArea area);
    void sum_area();
    void measure_names();
    void give_up_drag();
    std::vector<int> marked_lanes() const;
    std::pair<double, double> told_stretch() const;
    bool is_marked_line(int line) const;
    void show_marked_line();
    void scroll_to_row(int row);
    std::vector<int> counted_lanes() const;
    /// Strips that are drawn: that of GPUs only where some were read.
    std::size_t counter_count() const { return data_ && !data_->gpu_use().empty() ? counter_kinds : counter_kinds - 1; }
    /// Computed anew where what is in sight or counted has changed.
    const CounterProfile& counters_in_sight() const;

    // timeline_mouse.cpp
    void handle_mouse();
    void handle_wheel(double x);
    void press(double x, double y);
    void drag(double x, double y);
    void release(double x, double y);
    void click(double x, double y);
    void click_lane(int lane, double x, double y);
    void click_line(int line, double x);
    Card card_at(QPointF place) const;
    Card lane_card(int lane, QPointF place) const;
    Card counter_card(QPointF place) const;
    Card line_card(int line, QPointF place) const;
    void move_moment(double x);
    std::optional<Box> box_of(const TimelineData::Place& place) const;
    Box place_of_card(const Card& card, double width, double height, double x) const;
    void hover(double x, double y);
    void show_tip(const Card& card, double x);

    // timeline_selection.cpp
    void begin_area();
    void find_selection_again(const std::optional<LaneSpan>& before);
    void hold_still();
    void show_around(double time);
    void bring_into_sight(double start_s, double end_s, int lane);
    void clear_selection();
    /// After every change of the selection: finds what is drawn with it.
    void selection_moved();
    void find_way();
    const IterationTime* shown_iteration() const;
    void step_lane(int step);
    void step_hop(int step);
    void show_selection_or_all();
    QString alike_words() const;
    void fill_menu(QMenu& menu, const QStringList& words);
    void toggle_pin();
    void toggle_bookmark();
    void step_bookmark(int step);
    void scroll_by_hand(double pixels);
    bool fits_lanes() const;
    Spot spot() const { return {selected_row_, selected_gap_, selected_lane_}; }

    TimeZoom& zoom_;
    bool compact_, has_overview_ = false, has_counters_ = false;
    TimelineFrame frame_;
    double compact_names_px_ = 0;
    std::optional<double> moment_;
    std::shared_ptr<const LineRows> lines_;
    std::shared_ptr<const TimelineData> data_;
    PlannedIterations planned_;
    QString empty_text_;
    ColourBy colour_by_ = ColourBy::operation;
    double scroll_ = 0, lane_height_;
    std::vector<LaneGroup> groups_;
    std::set<std::string> collapsed_, pinned_;
    LaneLayout layout_;
    std::set<std::string> marked_nodes_;
    std::set<LinkKey> marked_links_;
    SpanQuery marked_spans_;
    TimelineData::Place selected_;
    std::int64_t selected_row_ = -1;
    std::optional<LaneGap> selected_gap_;
    std::optional<LostTime> selected_lost_;
    int selected_lane_ = -1;
    TimelineData::Place cause_;             ///< of the selection
    std::vector<TimelineData::Place> way_;  ///< of its microbatch
    int way_iteration_ = -1;                ///< of a microbatch that is selected by its number
    std::vector<Spot> before_;
    std::vector<double> bookmarks_;
    std::shared_ptr<const FoundSpans> found_;
    mutable std::vector<float> profile_;  ///< of the overview
    mutable std::pair<const TimelineData*, int> profile_of_{};
    /// What the counters were computed for.
    struct CounterKey {
        const TimelineData* data = nullptr;
        double begin = 0, end = 0;
        std::size_t stretches = 0;
        std::vector<int> lanes;
        bool operator==(const CounterKey&) const = default;
    };
    mutable CounterProfile counters_;
    mutable CounterKey counters_of_;
    std::optional<TimelineArea> area_;
    QTimer sum_later_;  ///< while it is dragged
    std::optional<QPointF> press_;
    QPointF mouse_;             ///< when it was last looked at
    bool card_hidden_ = false;  ///< a key or a click did something under a mouse that rests
    bool has_tip_ = false;      ///< a low one's card is in sight
    Drag drag_ = Drag::none;
    bool panning_ = false, centred_once_ = false;
    double pan_x_ = 0, pan_y_ = 0;
};

/// A loss in words: when, how soon it was known and planned again, what ran again and what was lost.
QStringList describe_loss(const Loss& loss);
/// Who was lost, when, and how soon that was known, in one short line: "n6 lost at 3 min 20 s, known 5 s later".
QString loss_in_short(const Loss& loss, const TimelineData& data);
/// What became of a stretch in which nothing ran that counts: "begun again", "went back", "no iteration".
QString lost_time_words(const LostTime& lost);
/// `whose`: what its seconds are called, as on the axis.
QStringList describe_lost_time(const LostTime& lost, const QString& whose = QObject::tr("Network time"));
/// The same with the losses that led to it: what was lost, how soon it was known and planned again.
QStringList describe_lost_time(const LostTime& lost, const TimelineData& data);
/// What happened, in lines of a card.
QStringList describe_event(const RunEvent& event);
/// An iteration of the ruler in words.
QStringList describe_iteration(const IterationTime& one, const TimelineData& data);
/// "lost since 2.00 s": an outage seen from within.
QString outage_words(const Outage& outage, const TimelineData& data);
/// When it began.
QString since_words(const Outage& outage, const TimelineData& data);
/// A node's outage in words, with the loss that began it.
QStringList describe_outage(const Outage& outage, int lane, const TimelineData& data);
/// A span in words, one fact a line: what a card says.
QStringList describe_span(const LaneSpan& span, int lane, const TimelineData& data);
/// What a transfer of a planned reduction carries; nothing where that is not known.
QStringList describe_cargo(const TimelineData::Place& place, const TimelineData& data);
/// A transfer as its line sees it: how long in the queue, on the wire, on its way.
QStringList describe_on_line(const LaneSpan& span, int lane, const TimelineData& data, double latency_s);
QStringList describe_gap(const LaneGap& gap, const std::string& node, const TimelineData& data);
QString counter_name(Counter counter);
/// What follows a value in a card: " in memory".
QString counter_suffix(Counter counter);
/// "12.3 microbatches", "4.50 MB/s", "67.1 %".
QString counter_words(Counter counter, double value);

}  // namespace skippipe
