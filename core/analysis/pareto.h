// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <vector>

namespace skippipe {

/// [i]: no other row is at least as small in every column and smaller in one. A row with a column missing is never one.
std::vector<bool> pareto_front(const std::vector<std::vector<std::optional<double>>>& rows);

}  // namespace skippipe
