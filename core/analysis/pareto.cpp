// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/pareto.h"

#include <algorithm>

namespace skippipe {
namespace {

using ParetoRow = std::vector<std::optional<double>>;

bool has_all(const ParetoRow& row) {
    return std::all_of(row.begin(), row.end(), [](const auto& value) { return value.has_value(); });
}

bool beats(const ParetoRow& a, const ParetoRow& b) {
    bool smaller = false;
    for (std::size_t c = 0; c < b.size(); ++c) {
        if (*a[c] > *b[c]) return false;
        smaller = smaller || *a[c] < *b[c];
    }
    return smaller;
}

}  // namespace

std::vector<bool> pareto_front(const std::vector<ParetoRow>& rows) {
    std::vector<bool> front;
    for (const auto& row : rows)
        front.push_back(has_all(row) && std::none_of(rows.begin(), rows.end(), [&](const ParetoRow& other) {
                            return has_all(other) && beats(other, row);
                        }));
    return front;
}

}  // namespace skippipe
