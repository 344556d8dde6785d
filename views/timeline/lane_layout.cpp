// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/timeline/lane_layout.h"

#include <algorithm>
#include <map>

#include "core/base/index.h"

namespace skippipe {

std::vector<LaneGroup> group_lanes(const std::vector<std::string>& name_of_lane) {
    std::vector<LaneGroup> groups;
    std::map<std::string, std::size_t> place;
    LaneGroup others{"Others", -1, {}};
    for (std::size_t lane = 0; lane < name_of_lane.size(); ++lane) {
        if (name_of_lane[lane].empty()) {
            others.lanes.push_back(static_cast<int>(lane));
            continue;
        }
        const auto [found, is_new] = place.try_emplace(name_of_lane[lane], groups.size());
        if (is_new) groups.push_back({name_of_lane[lane], -1, {}});
        groups[found->second].lanes.push_back(static_cast<int>(lane));
    }
    if (!others.lanes.empty()) groups.push_back(std::move(others));
    return groups;
}

std::vector<LaneGroup> group_by_stage(const std::vector<int>& stage_of_lane) {
    std::map<int, LaneGroup> by_stage;
    LaneGroup others{"Others", -1, {}};
    for (std::size_t lane = 0; lane < stage_of_lane.size(); ++lane) {
        const int stage = stage_of_lane[lane];
        auto& group = stage < 0 ? others : by_stage[stage];
        if (stage >= 0) group.name = "Stage " + std::to_string(stage);
        group.stage = stage;
        group.lanes.push_back(static_cast<int>(lane));
    }
    std::vector<LaneGroup> groups;
    for (auto& [_, group] : by_stage) groups.push_back(std::move(group));
    if (!others.lanes.empty()) groups.push_back(std::move(others));
    return groups;
}

std::vector<LaneGroup> bands_by_stage(const std::vector<int>& stage_of_lane) {
    auto bands = group_by_stage(stage_of_lane);
    for (auto& band : bands) band.name.clear();
    return bands;
}

LaneLayout::LaneLayout(int lanes, std::vector<LaneGroup> groups, const std::set<std::string>& collapsed,
                       const std::set<int>& pinned)
    : groups_(std::move(groups)), row_of_lane_(at(lanes), -1) {
    const auto add = [this](int lane, int group) {
        row_of_lane_[at(lane)] = count();
        rows_.push_back({lane, group});
    };
    for (const int lane : pinned)
        if (lane >= 0 && lane < lanes) add(lane, -1);
    pinned_ = count();
    if (groups_.empty())
        for (int lane = 0; lane < lanes; ++lane)
            if (!pinned.contains(lane)) add(lane, -1);
    for (std::size_t g = 0; g < groups_.size(); ++g) {
        const bool has_head = !groups_[g].name.empty();
        collapsed_.push_back(has_head && collapsed.contains(groups_[g].name));
        const int head = count();
        if (has_head) rows_.push_back({-1, static_cast<int>(g)});
        for (const int lane : groups_[g].lanes) {
            if (pinned.contains(lane)) continue;
            if (collapsed_.back() != 0)
                row_of_lane_[at(lane)] = head;
            else
                add(lane, static_cast<int>(g));
        }
    }
}

void LaneLayout::add_lines(int lines) {
    for (int line = 0; line < lines; ++line) rows_.push_back({.line = line});
}

int LaneLayout::row_of(int lane) const {
    return lane >= 0 && at(lane) < row_of_lane_.size() ? row_of_lane_[at(lane)] : -1;
}

bool LaneLayout::is_collapsed(int group) const {
    return group >= 0 && at(group) < collapsed_.size() && collapsed_[at(group)] != 0;
}

std::vector<int> LaneLayout::lanes_between(int first_row, int last_row) const {
    std::vector<int> lanes;
    for (int row = std::max(first_row, 0); row <= std::min(last_row, count() - 1); ++row) {
        const LaneRow& one = rows_[at(row)];
        if (one.line >= 0) continue;
        if (!one.is_head()) {
            lanes.push_back(one.lane);
        } else if (is_collapsed(one.group)) {
            for (const int lane : groups_[at(one.group)].lanes)
                if (row_of(lane) == row) lanes.push_back(lane);
        }
    }
    return lanes;
}

}  // namespace skippipe
