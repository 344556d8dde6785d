// SPDX-License-Identifier: GPL-3.0-or-later
// What stands before lanes: their nodes and the stages that these serve.
#include <algorithm>
#include <cmath>
#include <string_view>

#include "views/timeline/painter.h"

namespace skippipe {
namespace {

constexpr double least_small_lane = 12;
constexpr double band_left = 6, band_chip_width = 14, tiny_high = 11;  ///< pixels

}  // namespace

void TimelinePainter::mark_row(double top) {
    box(0, top, scale_.right, top + stack_.height - 1,
        packed(mix(theme_.surface, theme_.accent, theme_.dark ? 0.24 : 0.14)));
    box(0, top, 2, top + stack_.height - 1, packed(theme_.accent));
}

void TimelinePainter::lane_name(int index, double top) {
    const Lane& lane = view_.data_->lanes()[static_cast<std::size_t>(index)];
    const double moment = view_.moment_in_sight();
    int stage = view_.data_->stage_at(index, moment);
    const bool serves = stage >= 0;
    if (!serves && !view_.compact_) stage = view_.data_->last_stage_at(index, moment);
    const bool marked = view_.marked_nodes_.count(lane.name) > 0;
    if (marked && scale_.left > 0) mark_row(top);
    if (view_.compact_) {
        if (names_bands_) return;
        if (serves) box(0, top + 1, 4, top + stack_.height - 1, packed(theme_.stage(stage)));
        if (scale_.left > 0) compact_name(lane.name, serves ? stage : -1, index, top, marked);
        return;
    }
    const double middle = top + (stack_.height - 14) / 2;
    if (stage >= 0) {
        // Of a node that serves none any more the last one, struck through.
        const QColor fill = serves ? theme_.stage(stage) : theme_.surface;
        const std::string number = std::to_string(stage);
        const double chip = std::min(most_chip_height, stack_.height - 1), chip_top = top + (stack_.height - chip) / 2;
        box(8, chip_top, 24, chip_top + chip, packed(fill));
        text(16 - text_width(number) / 2, middle + 1, serves ? theme_.text_on(fill) : theme_.text_2, number);
        if (!serves)
            list_.AddLine({8, static_cast<float>(middle + 12)}, {24, static_cast<float>(middle + 2)},
                          packed(theme_.text_2), 1);
    }
    list_.PushClipRect({0, static_cast<float>(top)},
                       {static_cast<float>(scale_.left - 6), static_cast<float>(top + stack_.height)}, true);
    text(30, middle + 1, theme_.text, lane.name);
    list_.PopClipRect();
}

/// Letters get smaller with the lane, so that every lane is named. Lanes that are lower still stand by turns in two
/// columns, where each has the height of two; names that have no room in half of the width are every second one's, and
/// those of what is marked.
void TimelinePainter::compact_name(const std::string& name, int stage, int index, double top, bool marked) {
    constexpr double right = 4, edge = 6;
    const bool is_low = stack_.height < least_named_lane, is_second = is_low && view_.layout_.row_of(index) % 2 != 0;
    const Letters letters = stack_.height >= least_body_lane    ? Letters::body
                            : stack_.height >= least_small_lane ? Letters::small
                                                                : Letters::tiny;
    list_.PushClipRect({0, static_cast<float>(stack_.top)},
                       {static_cast<float>(scale_.left - right), static_cast<float>(view_.height())}, true);
    const double chip = is_low ? low_chip_width : compact_chip_width, half = (scale_.left - right - edge) / 2;
    double left = 0;
    if (is_low) left = edge + (is_second ? names_are_short_ ? half : chip + 1 : 0);
    if (stage >= 0) {
        const double middle = top + stack_.height / 2,
                     high = std::min(is_low ? 2 * stack_.height - 1 : stack_.height - 1, most_chip_height);
        const double chip_top = std::max(std::round(middle - high / 2), stack_.top);
        const std::string number = std::to_string(stage);
        const Letters digits = letters == Letters::tiny ? Letters::tiny : Letters::small;
        const double digits_high = digits == Letters::tiny ? 11 : 14;
        box(left, chip_top, left + chip, chip_top + std::round(high), packed(theme_.stage(stage)));
        text(left + (chip - text_width(number, digits)) / 2, chip_top + std::ceil((std::round(high) - digits_high) / 2),
             theme_.text_on(theme_.stage(stage)), number, digits);
    }
    const bool is_named = !is_second || names_are_short_ || marked;
    left = is_low && !names_are_short_ ? edge + 2 * (chip + 1) + 2 : left + chip + 3;
    const double room = is_low && names_are_short_ ? half - chip - 3 : scale_.left - left - right;
    const double high = letters == Letters::tiny ? 11 : 14, middle = top + (stack_.height - high) / 2;
    // Names are as high as low lanes and a little more: the first one stays below the ruler.
    const double name_top = top >= stack_.top ? std::max(middle, stack_.top - 1) : middle;
    if (is_named) text(left, name_top, marked ? theme_.text : theme_.text_2, elided(name, room, letters), letters);
    list_.PopClipRect();
}

/// Whether all names have room in one of two columns beside low lanes.
bool TimelinePainter::has_short_names() const {
    if (stack_.height >= least_named_lane || view_.data_ == nullptr) return false;
    const double room = (scale_.left - 10) / 2 - low_chip_width - 3;
    const auto& lanes = view_.data_->lanes();
    return std::all_of(lanes.begin(), lanes.end(),
                       [&](const Lane& lane) { return text_width(lane.name, Letters::tiny) <= room; });
}

/// Whether lanes that are too low for their names stand stage by stage, and all stages have room for their number.
bool TimelinePainter::has_bands() const {
    const auto& groups = view_.layout_.groups();
    return scale_.left > 0 && stack_.height < least_named_lane && !groups.empty() &&
           std::all_of(groups.begin(), groups.end(), [this](const LaneGroup& group) {
               return group.name.empty() && static_cast<double>(group.lanes.size()) * stack_.height >= tiny_high;
           });
}

/// A stage's lanes under one number, with their nodes in as many lines as they are high.
void TimelinePainter::bands() {
    list_.PushClipRect({0, static_cast<float>(stack_.top)},
                       {static_cast<float>(scale_.right), static_cast<float>(view_.height())}, true);
    for (const auto& group : view_.layout_.groups()) {
        const double top = stack_.lane_top(view_.layout_.row_of(group.lanes.front())),
                     bottom = stack_.lane_top(view_.layout_.row_of(group.lanes.back()) + 1);
        if (bottom > stack_.top && top < view_.height()) band(group, top, bottom);
    }
    list_.PopClipRect();
}

void TimelinePainter::band(const LaneGroup& group, double top, double bottom) {
    box(0, std::round(bottom) - 1, scale_.right, std::round(bottom), packed(theme_.line));
    const double middle = (top + bottom) / 2;
    if (group.stage >= 0) {
        const std::string number = std::to_string(group.stage);
        const bool is_high = bottom - top >= 15;
        const Letters digits = is_high ? Letters::small : Letters::tiny;
        box(band_left, std::round(top) + 1, band_left + band_chip_width, std::round(bottom) - 2,
            packed(theme_.stage(group.stage)));
        text(band_left + (band_chip_width - text_width(number, digits)) / 2, middle - (is_high ? 7 : tiny_high / 2),
             theme_.text_on(theme_.stage(group.stage)), number, digits);
    }
    const double left = band_left + band_chip_width + 4, room = scale_.left - left - 4;
    const auto lines = band_names(group, room, std::max(1, static_cast<int>((bottom - top) / tiny_high)));
    double y = middle - tiny_high * static_cast<double>(lines.size()) / 2;
    for (const auto& line : lines) {
        text(left, y, theme_.text_2, line, Letters::tiny);
        mark_names(line, left, y);
        y += tiny_high;
    }
}

/// Those of a line of names that are marked stand out, where they stand.
void TimelinePainter::mark_names(const std::string& line, double left, double y) {
    constexpr std::string_view between = ", ";
    constexpr double ground = 0.25;
    for (std::size_t at = 0; at < line.size();) {
        const std::size_t end = std::min(line.find(between, at), line.size());
        if (const std::string name = line.substr(at, end - at); view_.marked_nodes_.contains(name)) {
            const double from = left + text_width(line.substr(0, at), Letters::tiny);
            box(from - 1, y, from + text_width(name, Letters::tiny) + 1, y + tiny_high,
                packed(mix(theme_.surface, theme_.accent, ground)));
            text(from, y, theme_.text, name, Letters::tiny);
        }
        at = end + between.size();
    }
}

/// All of them, in no more lines than that; the last one ends in dots where they have no room. Of those the marked ones
/// come first, or they would not be seen.
std::vector<std::string> TimelinePainter::band_names(const LaneGroup& group, double room, int most_lines) const {
    std::vector<std::string> names;
    names.reserve(group.lanes.size());
    for (const int lane : group.lanes) names.push_back(view_.data_->lanes()[static_cast<std::size_t>(lane)].name);
    const auto is_marked = [&](const std::string& name) { return view_.marked_nodes_.contains(name); };
    const auto in_order = names_in_lines(names, room, most_lines);
    if (std::all_of(names.begin(), names.end(), [&](const std::string& name) {
            return !is_marked(name) || std::any_of(in_order.begin(), in_order.end(), [&](const std::string& line) {
                return (", " + line + ", ").find(", " + name + ", ") != std::string::npos;
            });
        }))
        return in_order;
    std::stable_partition(names.begin(), names.end(), is_marked);
    return names_in_lines(names, room, most_lines);
}

std::vector<std::string> TimelinePainter::names_in_lines(const std::vector<std::string>& names, double room,
                                                         int most_lines) const {
    std::vector<std::string> lines(1);
    for (const std::string& name : names) {
        const std::string longer = lines.back() + (lines.back().empty() ? "" : ", ") + name;
        if (lines.back().empty() || std::ssize(lines) == most_lines || text_width(longer, Letters::tiny) <= room)
            lines.back() = longer;
        else
            lines.push_back(name);
    }
    lines.back() = elided(std::move(lines.back()), room, Letters::tiny);
    return lines;
}

}  // namespace skippipe
