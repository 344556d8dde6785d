// SPDX-License-Identifier: GPL-3.0-or-later
// The figures, by what they are of.
#pragma once
#include <cstdint>
#include <filesystem>

class QApplication;

namespace skippipe {

/// The window as the program opens it. `idle`: prints the share of a core that it takes over 5 s; else ends at its
/// first frame.
int window_process(QApplication& application, bool idle);
/// From the start of the process to the window's first frame.
void opening();
/// What a window costs in which nothing happens.
void idling();

/// `count` spans on 50 lanes. With counters, what is in sight moves each frame, so that they are summed up anew.
void timeline_frame(int count, double goal_ms, bool counters);

/// A list of 10,000 runs: what a person waits for after a letter of the filter, and after a click on a column's head.
void run_list();
/// What a chart of 100 runs takes that all have grown: from the metrics to pixels; and how long the window is held up
/// when it is written as a file, which is drawn elsewhere.
void many_curves();

/// A record on the disk of 10,000 runs with 100 values each: until it is listed, then filtered and sorted.
void stored_runs(const std::filesystem::path& folder);
/// A stored run's spans: until the newest are painted, until all that is read unasked is, and a frame then.
void stored_spans(const std::filesystem::path& folder, std::int64_t count, double paint_goal_s, double frame_goal_ms);

/// Another process records 50,000 spans a second while Watch follows them: how evenly the window answers, as gaps
/// between ticks of 16 ms, and what its thread works. `others`: finished runs that the record has besides.
void live_run(const std::filesystem::path& folder, int others);

/// Frames of large networks, edits of them, and the first plan after an edit.
void canvases();

}  // namespace skippipe
