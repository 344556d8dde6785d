// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/run_bookmarks.h"

#include <algorithm>
#include <cmath>

namespace skippipe {
namespace {

constexpr std::size_t most_runs = 200;

}  // namespace

std::vector<double> RunBookmarks::of(const MarkedRun& run) const {
    const auto found = std::find_if(runs_.begin(), runs_.end(), [&](const auto& one) { return one.first == run; });
    return found == runs_.end() ? std::vector<double>{} : found->second;
}

void RunBookmarks::set(const MarkedRun& run, std::vector<double> seconds) {
    std::erase_if(runs_, [&](const auto& one) { return one.first == run; });
    if (!seconds.empty()) runs_.emplace_back(run, std::move(seconds));
    if (runs_.size() > most_runs) runs_.erase(runs_.begin());
}

QStringList RunBookmarks::words() const {
    QStringList all;
    for (const auto& [run, seconds] : runs_) {
        QString words = QStringLiteral("%1 %2").arg(run.id).arg(QString::fromStdString(run.started_utc));
        for (const double one : seconds) words += ' ' + QString::number(one, 'g', 17);
        all << words;
    }
    return all;
}

RunBookmarks RunBookmarks::from(const QStringList& words) {
    RunBookmarks all;
    for (const QString& text : words) {
        const QStringList parts = text.split(' ');
        bool is_number = false;
        const RunId id = parts.front().toLongLong(&is_number);
        if (!is_number || id <= 0 || parts.size() < 3) continue;
        std::vector<double> seconds;
        for (const QString& part : parts.mid(2))
            if (const double one = part.toDouble(&is_number); is_number && std::isfinite(one)) seconds.push_back(one);
        all.set({id, parts[1].toStdString()}, std::move(seconds));
    }
    return all;
}

}  // namespace skippipe
