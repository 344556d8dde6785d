// SPDX-License-Identifier: GPL-3.0-or-later
// A timeline whose spans are known by heart, and a view of it.
#pragma once
#include <cstdint>
#include <memory>
#include <utility>

#include "views/timeline/lanes.h"
#include "views/timeline/timeline_view.h"

namespace skippipe {

/// Two iterations of 10 s on two lanes, 1 s lost between them.
inline std::shared_ptr<TimelineData> two_iterations() {
    auto data = std::make_shared<TimelineData>();
    data->set_lanes({"a", "b"});
    data->set_stage(1, 1);
    std::int64_t row = 0;
    for (int iteration = 0; iteration < 2; ++iteration)
        for (int lane = 0; lane < 2; ++lane)
            for (int i = 0; i < 5; ++i)
                data->add(Span{i < 3 ? SpanKind::forward : SpanKind::backward, NodeIndex(lane), -1, StageIndex(lane),
                               MicrobatchIndex(i), 2.0 * i, 2.0 * i, 2.0 * i + 1 + 0.1 * lane, 0},
                          iteration, 11.0 * iteration, row++);
    for (int lane = 0; lane < 2; ++lane)
        data->add(IdleGap{NodeIndex(lane), IdleCause::memory, 1.5, 2, MicrobatchIndex(1)}, 0);
    data->set_iterations({{0, 10, 10}, {1, 21, 10}});
    data->set_lost_times({{10, 11, 1, LostTime::Why::begun_again, 0}});
    Loss loss;
    loss.iteration = 1;
    loss.nodes = 1;
    loss.begin_s = 10.25;
    loss.end_s = 11;
    loss.detection_s = 0.75;
    loss.replanning_s = 0.5;
    loss.begun_again = true;
    data->set_losses({loss});
    data->set_key(7);
    data->finish();
    return data;
}

inline QString plain(const QStringList& lines) { return lines.join('\n').replace(QChar(0x2009), ' '); }

/// A view of a timeline, all of it in sight.
struct ShownTimeline {
    explicit ShownTimeline(std::shared_ptr<const TimelineData> shown, const QSize& size) : data(std::move(shown)) {
        view.resize(size);
        zoom.set_extent(data->extent_s());
        view.set_data(data);
        view.show();
    }

    TimeZoom zoom;
    TimelineView view{zoom};
    std::shared_ptr<const TimelineData> data;
};

}  // namespace skippipe
