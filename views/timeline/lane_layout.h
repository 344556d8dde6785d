// SPDX-License-Identifier: GPL-3.0-or-later
// Which rows a timeline has, from top to bottom: lanes as they come, or groups of them that can be collapsed. Pure.
#pragma once
#include <set>
#include <string>
#include <vector>

namespace skippipe {

/// Lanes that stand together under a name.
struct LaneGroup {
    std::string name;        ///< empty: they stand together without a head
    int stage = -1;          ///< of all its lanes; -1: of several
    std::vector<int> lanes;  ///< in the order of the timeline
    bool operator==(const LaneGroup&) const = default;
};

/// Groups by a name of each lane, in the order in which names come; lanes without one stand last, as "Others". A
/// stage's groups come in the order of stages.
std::vector<LaneGroup> group_lanes(const std::vector<std::string>& name_of_lane);
std::vector<LaneGroup> group_by_stage(const std::vector<int>& stage_of_lane);
/// The same without heads, which low lanes have no room for.
std::vector<LaneGroup> bands_by_stage(const std::vector<int>& stage_of_lane);

/// A row of the timeline: a lane, the head of a group, or a line.
struct LaneRow {
    int lane = -1, group = -1, line = -1;
    bool is_head() const { return lane < 0 && line < 0; }
    bool operator==(const LaneRow&) const = default;
};

/// Rows of lanes, pinned ones first, then group by group, each under its head if it has one; of a collapsed one the
/// head alone.
class LaneLayout {
public:
    LaneLayout() = default;
    /// Without groups: one row a lane.
    LaneLayout(int lanes, std::vector<LaneGroup> groups, const std::set<std::string>& collapsed,
               const std::set<int>& pinned = {});

    /// So many rows of lines below all others.
    void add_lines(int lines);

    const std::vector<LaneRow>& rows() const { return rows_; }
    const std::vector<LaneGroup>& groups() const { return groups_; }
    int count() const { return static_cast<int>(rows_.size()); }
    /// Rows that are pinned: the first ones.
    int pinned() const { return pinned_; }
    /// The row of a lane, or of the head that it is collapsed into; -1: no such lane.
    int row_of(int lane) const;
    bool is_collapsed(int group) const;
    /// Lanes of the rows from first to last, those of collapsed groups included, each once.
    std::vector<int> lanes_between(int first_row, int last_row) const;
    bool operator==(const LaneLayout&) const = default;

private:
    std::vector<LaneGroup> groups_;
    std::vector<LaneRow> rows_;
    int pinned_ = 0;
    std::vector<int> row_of_lane_;
    std::vector<char> collapsed_;
};

}  // namespace skippipe
