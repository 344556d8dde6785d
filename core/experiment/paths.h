// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>

#include "core/experiment/document.h"

namespace skippipe {

/// The experiment with every file and folder that it names made absolute, relative ones from `folder`: it means the
/// same wherever it is stored then. Empty paths stay empty.
Experiment with_absolute_paths(Experiment experiment, const std::filesystem::path& folder);

}  // namespace skippipe
