// SPDX-License-Identifier: GPL-3.0-or-later
// What is selected in the timeline, as properties: a card writes them in lines, the selection panel in rows with links.
#pragma once
#include <optional>
#include <vector>

#include <QColor>
#include <QStringList>

#include "views/timeline/lanes.h"

namespace skippipe {

/// What the words of a property lead to.
enum class DetailLink { none, node, thing, microbatch, stage, iteration, cause, helps, loss };

/// "Microbatch" "7"; without a name it is a sentence.
struct Detail {
    QString name, value;
    DetailLink link = DetailLink::none;   ///< of each number, or each name of a node (`thing`: of links too), in
                                          ///< `value`; `cause`, `helps`, `loss`: of all of it
    double at_s = 0;                      ///< of a `loss`: when
    double share = -1;                    ///< of the longest bar that stands before the value; below 0: none does
    QColor bar = {};                      ///< its colour, of what is no cause
    std::optional<IdleCause> cause = {};  ///< whose bar it is, hatched as elsewhere
};

struct Details {
    QString title;  ///< "Backward on n3"
    std::vector<Detail> rows;
};

/// What an area holds: its sums, and of the causes the longest first.
struct TimelineArea;
Details area_details(const TimelineArea& area);
/// Of a span on its lane.
Details span_details(const LaneSpan& span, int lane, const TimelineData& data);
/// Of a gap of that node; of one in which it was lost, the outage.
Details gap_details(const LaneGap& gap, const std::string& node, const TimelineData& data);

// subject_details.cpp: what is selected by its name, in one iteration.

/// How much and how long a node worked, and what it waited for the longest, of whom.
Details node_details(int lane, const IterationTime& one, const TimelineData& data);
/// The same of the nodes that serve a stage then, all together, and how long its gradient is summed.
Details stage_details(int stage, const IterationTime& one, const TimelineData& data);
/// Which way a microbatch went, how long, and how much of that it was worked on, was sent, and waited.
Details microbatch_details(int microbatch, const IterationTime& one, const TimelineData& data);

Detail iteration_row(int iteration);
Detail stage_row(int stage);

/// The title, then a line a row: "microbatch 7".
QStringList in_lines(const Details& details);
/// A table of the title, in which nodes are links, and the rows; links are "node:n3", "link:Oregon ↔ LA" of those whose
/// names are given, "microbatch:7", "stage:2", "iteration:4", "cause:", "helps:", "loss:200.5", the seconds at which a
/// node was lost.
QString in_rows(const Details& details, const TimelineData& data, const QStringList& links = {});

/// A time fine enough to tell the ends of something of that length apart: "63.12 s".
QString moment_words(double seconds, double length_s);
/// The lane of a node; -1: there is none.
int lane_named(const std::string& node, const TimelineData& data);

}  // namespace skippipe
