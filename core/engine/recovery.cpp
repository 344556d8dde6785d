// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/recovery.h"

namespace skippipe {

Replan ReplanController::recover(const Problem& network, const Plan& plan, const ReplanRequest& request) {
    auto asked = request;
    asked.operations = operations_;
    return replan(network, plan, asked);
}

}  // namespace skippipe
