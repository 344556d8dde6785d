// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/base/fault.h"
#include "core/experiment/document.h"

namespace skippipe {

/// Faults of meaning over a document whose fields are each in range: references, counts that must divide, unreachable
/// nodes, settings that contradict each other. Outliers (a bandwidth 1,000 times that of other links of its kind: a
/// unit mistaken) are warnings.
Faults validate(const Experiment& experiment);

}  // namespace skippipe
