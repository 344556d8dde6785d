// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/traffic.h"

#include <algorithm>

#include <QObject>

#include "views/theme/numbers.h"

namespace skippipe {
int Traffic::working() const {
    return static_cast<int>(std::count_if(work.begin(), work.end(), [](const auto& now) { return now.has_value(); }));
}

Traffic only_parcels(Traffic traffic, int microbatch) {
    traffic.busy.clear();
    traffic.work.clear();
    traffic.lines.clear();
    std::erase_if(traffic.parcels, [microbatch](const Parcel& parcel) { return parcel.microbatch != microbatch; });
    return traffic;
}

QString traffic_words(const Traffic& traffic, TrafficWords how) {
    const bool is_brief = how == TrafficWords::brief;
    // First what is read in a narrow panel too.
    const QString down = traffic.down == 0 ? QString{} : QObject::tr("%1 down, ").arg(traffic.down);
    if (traffic.is_mean) {
        double worked = 0, bytes_per_s = 0;
        for (const double share : traffic.busy) worked += share;
        for (const auto& line : traffic.lines) bytes_per_s += line.bytes_per_s;
        return down + (is_brief ? QObject::tr("work %1, %2") : QObject::tr("nodes work %1, %2 over lines"))
                          .arg(percent(worked / static_cast<double>(std::max<std::size_t>(traffic.busy.size(), 1))),
                               quantity(bytes_per_s, "B/s"));
    }
    const QString sent = traffic.parcels.empty()       ? QString{}
                         : traffic.parcels.size() == 1 ? QObject::tr(", 1 transfer")
                                                       : QObject::tr(", %1 transfers").arg(traffic.parcels.size());
    return down +
           (is_brief ? QObject::tr("%1/%2 work") : QObject::tr("%1/%2 nodes work"))
               .arg(traffic.working())
               .arg(std::ssize(traffic.work) - traffic.down) +
           sent;
}

}  // namespace skippipe
