// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/same_work.h"

#include <algorithm>

#include <QObject>

#include "core/analysis/ranking.h"
#include "views/runs/parameters.h"
#include "views/theme/words.h"

namespace skippipe {

bool train_the_same(const std::vector<const RunData*>& runs) {
    return std::all_of(runs.begin(), runs.end(),
                       [&](const RunData* run) { return train_the_same(run->experiment, runs.front()->experiment); });
}

std::vector<bool> held_against(const std::vector<const RunData*>& runs, std::size_t baseline) {
    std::vector<const Experiment*> experiments(runs.size());
    std::transform(runs.begin(), runs.end(), experiments.begin(), [](const RunData* run) { return &run->experiment; });
    return held_against(experiments, baseline);
}

QString not_the_same_words() {
    return QObject::tr(
        "These runs train different models, or on different data: their losses and times do not say which run is "
        "better");
}

QString set_aside_words(const std::vector<RunId>& runs) {
    return (runs.size() == 1 ? QObject::tr("%1 trains another model, or on other data, and is set aside")
                             : QObject::tr("%1 train other models, or on other data, and are set aside"))
        .arg(capitalised(run_numbers(runs)));
}

}  // namespace skippipe
