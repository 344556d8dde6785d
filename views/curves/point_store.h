// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "views/curves/curve_data.h"

namespace skippipe {

/// Points of runs, each worked out once as long as the run stays what it is: of a hundred that are shown one grows.
class PointStore {
public:
    /// `curve_points`; stays valid until `keep`.
    const SharedPoints& points(const RunData& run, const std::string& name, WorkAxis x);
    /// Holds these runs, and forgets the points of all others.
    void keep(std::vector<std::shared_ptr<const RunData>> runs);

private:
    std::vector<std::shared_ptr<const RunData>> held_;  ///< so that no other run takes the place of one
    std::map<std::tuple<const RunData*, std::string, WorkAxis>, SharedPoints> points_;
};

}  // namespace skippipe
