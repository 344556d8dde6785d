// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/benchmarks/bench_views/parts.h"

#include <algorithm>
#include <QWheelEvent>
#include <fmt/format.h>
#include <imgui.h>

#include "core/base/rng.h"
#include "tests/benchmarks/bench_views/measure.h"
#include "views/theme/theme.h"
#include "views/timeline/timeline_view.h"

namespace skippipe {
namespace {

/// What spans of finished lanes take in memory, their share of running sums included; idle stretches are none.
double bytes_a_span(const TimelineData& data) {
    const TimelineData kept = data;  // as the window keeps it: without room to grow
    std::size_t bytes = 0;
    for (const auto& lane : kept.lanes())
        bytes += (lane.work.capacity() + lane.transfers.capacity()) * sizeof(LaneSpan) +
                 (lane.worked.capacity() + lane.forward.capacity() + lane.reach.capacity()) * sizeof(double);
    return static_cast<double>(bytes) / static_cast<double>(kept.span_count());
}

}  // namespace

void timeline_frame(int count, double goal_ms, bool counters) {
    constexpr int lanes = 50, repeats = 20;
    auto data = std::make_shared<TimelineData>();
    std::vector<std::string> names;
    for (int i = 0; i < lanes; ++i) names.push_back("node-" + std::to_string(i));
    data->set_lanes(names);
    Rng rng(1);
    std::vector<double> at(lanes, 0.0);
    for (int i = 0; i < count; ++i) {
        const NodeIndex node(i % lanes);
        auto& now = at[static_cast<std::size_t>(node)];
        const double start = now + 0.01 * static_cast<double>(rng.below(100)) / 100,
                     end = start + 0.02 + 0.01 * static_cast<double>(rng.below(100)) / 100;
        data->add(Span{i % 3 == 0 ? SpanKind::backward : SpanKind::forward, node, -1, StageIndex(node % 8),
                       MicrobatchIndex(i / lanes % 60), start, start, end, 0},
                  i / lanes / 60, 0, i);
        now = end;
    }
    data->finish();
    std::vector<IterationTime> iterations;
    for (int i = 0; i < 100; ++i) iterations.push_back({i, data->extent_s() * (i + 1) / 100, data->extent_s() / 100});
    data->set_iterations(iterations);
    TimeZoom zoom;
    zoom.set_extent(data->extent_s());
    TimelineView view(zoom);
    view.resize(1280, 24 + lanes * 28);
    view.set_data(data);
    view.set_counters(counters);
    if (counters) {  // as Watch shows it
        std::vector<int> stages;
        for (int i = 0; i < lanes; ++i) stages.push_back(i % 8);
        view.set_overview(true);
        view.set_groups(group_by_stage(stages));
    }
    view.show();
    run_events(50);
    if (!counters)
        print("memory of a span, of " + std::to_string(count / 1000) + ",000", bytes_a_span(*data), "B", 48,
              "40 B and its share of running sums", 1);
    for (const auto& [words, share] :
         {std::pair{"all in sight", 1.0}, {"a tenth in sight", 0.1}, {"a hundredth in sight", 0.01}}) {
        double best_s = 1e300;
        int vertices = 0;
        for (int i = 0; i < repeats; ++i) {
            zoom.show(0, data->extent_s() * share * (1 + 0.001 * i));
            const double begin_s = thread_s();
            vertices = view.build_frame()->TotalVtxCount;
            best_s = std::min(best_s, thread_s() - begin_s);
        }
        print(
            "timeline of " + std::to_string(count / 1000) + ",000 spans" +
                (counters ? ", overview, ruler, groups and counters" : "") + ", a frame up to the draw call, " + words,
            1e3 * best_s, "ms", goal_ms, (std::to_string(vertices) + " vertices of what is in sight").c_str(), repeats);
    }
}

}  // namespace skippipe
