// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/all.h"

#include "plugins/planners/planners.h"

namespace skippipe {

void register_planners(PlannerRegistry& registry) {
    using namespace planners;
    registry.add(make_gpipe());
    registry.add(make_one_forward_one_backward());
    registry.add(make_zero_bubble());
    registry.add(make_dtfm());
    registry.add(make_dtfm_skip());
    registry.add(make_skippipe_without_tc2());
    registry.add(make_skippipe());
    registry.add(make_skippipe_joint());
}

}  // namespace skippipe
