// SPDX-License-Identifier: GPL-3.0-or-later
// The planners of this folder, one by one; all.h registers them.
#pragma once
#include <memory>

#include "core/planner/planner.h"

namespace skippipe {

std::unique_ptr<Planner> make_gpipe();
std::unique_ptr<Planner> make_one_forward_one_backward();
std::unique_ptr<Planner> make_zero_bubble();
std::unique_ptr<Planner> make_dtfm();
std::unique_ptr<Planner> make_dtfm_skip();
std::unique_ptr<Planner> make_skippipe_without_tc2();
std::unique_ptr<Planner> make_skippipe();
std::unique_ptr<Planner> make_skippipe_joint();

}  // namespace skippipe
