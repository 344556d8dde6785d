// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/timeline/timeline_view.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <QFontMetricsF>

#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/timeline/follow.h"
#include "views/timeline/painter.h"

namespace skippipe {
namespace {
constexpr float handle_width = 5;  // of what scrolls the lanes
constexpr int sum_ms = 80;         // an area that is dragged is summed up so often
}  // namespace

TimelineView::TimelineView(TimeZoom& zoom, bool compact, QWidget* parent)
    : ImGuiHost(parent), zoom_(zoom), compact_(compact), lane_height_(usual_lane_height) {
    setAccessibleName(tr("Timeline"));
    setMinimumHeight(compact ? 60 : 120);
    connect(&zoom, &TimeZoom::changed, this, [this] { request_frame(); });
    sum_later_.setSingleShot(true);
    sum_later_.setInterval(sum_ms);
    connect(&sum_later_, &QTimer::timeout, this, &TimelineView::sum_area);
}

void TimelineView::set_data(std::shared_ptr<const TimelineData> data) {
    if (data == data_) return;
    const bool same = data && data_ && data->key() != 0 && data->key() == data_->key();
    const auto before = selected_.span != nullptr ? std::optional(*selected_.span) : std::nullopt;
    data_ = std::move(data);
    if (!same) {
        clear_selection();
        give_up_drag();
        before_.clear();
        found_.reset();
        bookmarks_.clear();
        scroll_ = 0;
    } else {
        find_selection_again(before);
    }
    if (compact_) measure_names();
    selection_moved();
    const auto area = std::exchange(area_, std::nullopt);
    lay_out();
    if (area) take_area(*area);
    scroll_ = stack().clamp_scroll(scroll_, height());
    request_frame();
}

/// The longest name has room, within reason.
void TimelineView::measure_names() {
    if (frame_.names_px > 0) return;
    constexpr double room = compact_chip_width + 11;
    std::string longest;
    if (data_)
        for (const auto& lane : data_->lanes())
            if (lane.name.size() > longest.size()) longest = lane.name;
    const double wide = QFontMetricsF(body_font()).horizontalAdvance(QString::fromStdString(longest));
    compact_names_px_ = std::clamp(std::ceil(wide) + room, compact_names_width, most_compact_names_width);
}

TimelineFrame stacked_frame(bool is_first) {
    return {.names_px = stacked_names, .least_lane_px = least_stacked_lane, .has_axis = is_first, .ends_in_line = true};
}

void TimelineView::set_frame(const TimelineFrame& frame) {
    if (frame == frame_) return;
    frame_ = frame;
    request_frame();
}

/// The same rows and times of what is shown now; where it has not so many rows, none.
void TimelineView::take_area(TimelineArea area) {
    if (area.last_row >= layout_.count()) return;
    area.lanes = layout_.lanes_between(area.first_row, area.last_row);
    area.statistics = data_->statistics(area.lanes, area.begin, area.end);
    area_ = std::move(area);
}

void TimelineView::sum_area() {
    if (!area_ || !data_) return;
    area_->statistics = data_->statistics(area_->lanes, area_->begin, area_->end);
    Q_EMIT area_dragged();
}

void TimelineView::give_up_drag() {
    press_.reset();
    drag_ = Drag::none;
}

void TimelineView::set_empty_text(const QString& text) {
    empty_text_ = text;
    request_frame();
}

void TimelineView::set_colour_by(ColourBy by) {
    colour_by_ = by;
    request_frame();
}

void TimelineView::set_overview(bool on) {
    has_overview_ = on;
    request_frame();
}

void TimelineView::set_planned(PlannedIterations planned) {
    if (planned == planned_) return;
    planned_ = std::move(planned);
    scroll_ = stack().clamp_scroll(scroll_, height());
    request_frame();
}

void TimelineView::set_groups(std::vector<LaneGroup> groups) {
    if (groups == groups_) return;
    groups_ = std::move(groups);
    lay_out();
    const auto marked = marked_lanes();
    const int lane = selected_lane_ >= 0 || marked.empty() ? selected_lane_ : marked.front();
    if (lane >= 0) scroll_to_row(layout_.row_of(lane));
}

void TimelineView::collapse_all(bool on) {
    collapsed_.clear();
    for (const auto& group : groups_)
        if (on) collapsed_.insert(group.name);
    lay_out();
    Q_EMIT layout_changed();
}

void TimelineView::set_lane_height(double pixels) {
    lane_height_ = pixels;
    scroll_ = stack().clamp_scroll(scroll_, height());
    request_frame();
}

void TimelineView::scroll_lanes(double pixels) {
    scroll_ = stack().clamp_scroll(pixels, height());
    request_frame();
}

void TimelineView::scroll_by_hand(double pixels) {
    scroll_lanes(pixels);
    Q_EMIT lanes_scrolled(scroll_);
}

void TimelineView::lay_out() {
    const int lanes = data_ ? static_cast<int>(data_->lanes().size()) : 0;
    const bool fits = std::all_of(groups_.begin(), groups_.end(), [lanes](const LaneGroup& group) {
        return std::all_of(group.lanes.begin(), group.lanes.end(), [lanes](int lane) { return lane < lanes; });
    });
    std::set<int> pinned;
    for (int lane = 0; lane < lanes; ++lane)
        if (pinned_.contains(data_->lanes()[static_cast<std::size_t>(lane)].name)) pinned.insert(lane);
    layout_ = LaneLayout(lanes, fits ? groups_ : std::vector<LaneGroup>{}, collapsed_, pinned);
    if (lines_ && !compact_) layout_.add_lines(static_cast<int>(lines_->names.size()));
    area_.reset();
    scroll_ = stack().clamp_scroll(scroll_, height());
    request_frame();
}

void TimelineView::set_lines(std::shared_ptr<const LineRows> lines) {
    if (lines == lines_) return;
    lines_ = std::move(lines);
    lay_out();
    show_marked_line();
}

void TimelineView::set_pinned(std::set<std::string> names) {
    if (names == pinned_) return;
    pinned_ = std::move(names);
    lay_out();
    Q_EMIT layout_changed();
}

void TimelineView::set_counters(bool on) {
    has_counters_ = on;
    scroll_ = stack().clamp_scroll(scroll_, height());
    request_frame();
}

void TimelineView::set_moment(std::optional<double> seconds) {
    if (seconds == moment_) return;
    moment_ = seconds;
    if (way_iteration_ >= 0 && shown_iteration()->iteration != way_iteration_) find_way();
    request_frame();
}

std::vector<int> TimelineView::marked_lanes() const {
    std::vector<int> marked;
    if (data_ == nullptr || marked_nodes_.empty()) return marked;
    for (int lane = 0; lane < static_cast<int>(data_->lanes().size()); ++lane)
        if (marked_nodes_.contains(data_->lanes()[static_cast<std::size_t>(lane)].name)) marked.push_back(lane);
    return marked;
}

/// The iteration that a node's figures are of: that of what is selected, else the last in sight, however much is.
std::pair<double, double> TimelineView::told_stretch() const {
    const double at_s = selected_.span != nullptr ? selected_.span->start_s
                        : selected_gap_           ? selected_gap_->start_s
                                                  : std::min(zoom_.end(), data_->extent_s());
    const auto& all = data_->iterations();
    const auto* one = all.empty() ? nullptr : iteration_at(all, at_s);
    return one != nullptr ? std::pair{one->begin_s(), one->end_s} : std::pair{zoom_.begin(), zoom_.end()};
}

std::vector<int> TimelineView::counted_lanes() const {
    std::vector<int> lanes = marked_lanes();
    if (!lanes.empty()) return lanes;
    lanes.resize(data_->lanes().size());
    std::iota(lanes.begin(), lanes.end(), 0);
    return lanes;
}

const CounterProfile& TimelineView::counters_in_sight() const {
    const TimeScale s = scale();
    CounterKey key{data_.get(), s.begin, s.end,
                   static_cast<std::size_t>(std::max(1.0, std::ceil((s.right - s.left) / counter_step))),
                   counted_lanes()};
    if (key == counters_of_) return counters_;
    const double end = s.time(s.left + static_cast<double>(key.stretches) * counter_step);
    counters_ = counter_profile(*data_, key.lanes, s.begin, end, key.stretches);
    counters_of_ = std::move(key);
    return counters_;
}

void TimelineView::set_marked(const Selection& selection, std::vector<std::pair<int, int>> ways) {
    SpanQuery spans;
    spans.microbatch = selection.microbatch;
    spans.stage = selection.stage;
    spans.ways = std::move(ways);
    if (selection.nodes == marked_nodes_ && selection.links == marked_links_ && spans == marked_spans_) return;
    const bool is_other = selection.nodes != marked_nodes_ || selection.links != marked_links_ || spans != SpanQuery{};
    marked_nodes_ = selection.nodes;
    marked_links_ = selection.links;
    marked_spans_ = std::move(spans);
    const bool has_own = data_ && selected_lane_ >= 0 &&
                         (marked_nodes_.contains(data_->lanes()[static_cast<std::size_t>(selected_lane_)].name) ||
                          (selected_.span != nullptr && marked_spans_.microbatch &&
                           *marked_spans_.microbatch == selected_.span->microbatch));
    if (is_other && (area_ || selected_lane_ >= 0) && !has_own) clear_selection();
    find_way();
    show_marked_line();
    request_frame();
}

bool TimelineView::is_marked_line(int line) const {
    if (marked_links_.empty()) return false;
    const LinkKey& ends = lines_->ends[static_cast<std::size_t>(line)];
    return marked_links_.contains(ends) || marked_links_.contains({ends.to, ends.from});
}

void TimelineView::show_marked_line() {
    if (!lines_ || marked_links_.empty()) return;
    for (int row = 0; row < layout_.count(); ++row)
        if (const int line = layout_.rows()[static_cast<std::size_t>(row)].line; line >= 0 && is_marked_line(line))
            return scroll_to_row(row);
}

void TimelineView::set_found(std::shared_ptr<const FoundSpans> found) {
    found_ = std::move(found);
    request_frame();
}

void TimelineView::set_bookmarks(std::vector<double> bookmarks) {
    std::sort(bookmarks.begin(), bookmarks.end());
    if (bookmarks == bookmarks_) return;
    bookmarks_ = std::move(bookmarks);
    request_frame();
    Q_EMIT bookmarks_changed();
}

double TimelineView::moment_in_sight() const {
    return moment_ && *moment_ >= zoom_.begin() && *moment_ <= zoom_.end() ? *moment_ : zoom_.begin();
}

TimeScale TimelineView::scale() const {
    const LaneStack lanes = stack();
    const double aside = compact_ && (frame_.ends_in_line || lanes.handle(height()).height > 0) ? handle_width + 2 : 0;
    return {zoom_.begin(), zoom_.end(),
            frame_.names_px > 0                ? frame_.names_px
            : !compact_                        ? names_width
            : lanes.height >= least_named_lane ? compact_names_px_
                                               : 0.0,
            std::max(width() - aside, names_width + 1)};
}

TimeScale TimelineView::overview_scale() const {
    const TimeScale now = scale();
    return {0, std::max(zoom_.extent(), 1e-9), now.left, now.right};
}

TimelineBands TimelineView::bands() const {
    if (compact_ || !frame_.has_axis) return {0, frame_.has_axis ? axis_height : 0, 0, 0};
    const bool has_ruler = data_ && !data_->iterations().empty();
    return {has_overview_ ? overview_height : 0, axis_height, has_ruler ? ruler_height : 0,
            has_counters_ ? static_cast<double>(counter_count()) * counter_height : 0};
}

bool TimelineView::fits_lanes() const { return !compact_ && lane_height_ == fit_lane_height; }

LaneStack TimelineView::stack() const {
    const int count = layout_.count();
    const double top = bands().top();
    double tall = lane_height_;
    // Lanes that are too many for their names scroll.
    if (fits_lanes())
        tall = count > 0 ? std::clamp(std::floor((height() - top) / count), least_fit_lane_height, most_fit_lane_height)
                         : lane_height;
    if (!compact_ && !planned_.empty()) tall = std::max(tall, least_planned_lane_height);
    if (compact_)
        tall =
            count > 0 ? std::clamp((height() - top) / count, least_compact_lane(), compact_lane_height) : lane_height;
    return {top, tall, scroll_, count, layout_.pinned()};
}

/// Of the bars of its work.
double TimelineView::work_middle(int lane) const {
    const double tall = stack().height;
    return lane_top(lane) + (work_row(tall) + tall - below_work(tall)) / 2;
}

QPointF TimelineView::place_of(double seconds, int lane) const {
    return {scale().x(seconds), lane_top(lane) + stack().height * 0.6};
}

int TimelineView::height_for_all_lanes() const {
    return static_cast<int>(bands().top() +
                            (fits_lanes() ? layout_.count() * usual_lane_height : stack().content_height()));
}

double TimelineView::least_compact_lane() const {
    return frame_.least_lane_px > 0 ? frame_.least_lane_px : least_named_lane;
}

int TimelineView::height_for_least_lanes() const {
    return static_cast<int>(std::ceil(bands().top() + stack().count * least_compact_lane()));
}

void TimelineView::draw(ImDrawList& list) {
    if (!data_ || data_->lanes().empty()) {
        const std::string words = empty_text_.toStdString();
        const float size = atlas().body->FontSize / static_cast<float>(atlas().scale);
        const ImVec2 extent = atlas().body->CalcTextSizeA(size, 1e9f, 0, words.c_str());
        list.AddText(atlas().body, size,
                     {std::floor((static_cast<float>(width()) - extent.x) / 2),
                      std::floor((static_cast<float>(height()) - extent.y) / 2)},
                     packed(theme().text_2), words.c_str());
        return;
    }
    handle_mouse();
    TimelinePainter(*this, atlas(), list).draw();
    if (const auto handle = stack().handle(height()); handle.height > 0) {
        const float right = static_cast<float>(width()) - 2;
        list.AddRectFilled({right - handle_width, static_cast<float>(handle.top)},
                           {right, static_cast<float>(handle.top + handle.height)},
                           packed(drag_ == Drag::lanes ? theme().accent : theme().text_2), handle_width / 2);
    }
    if (hasFocus())
        list.AddRect({0, 0}, {static_cast<float>(width()), static_cast<float>(height())}, packed(theme().accent), 0, 0,
                     2);
    const auto& io = ImGui::GetIO();
    if (ImGui::IsWindowHovered() && drag_ == Drag::none && !panning_)
        hover(io.MousePos.x, io.MousePos.y);
    else
        show_tip({}, 0);
}

}  // namespace skippipe
