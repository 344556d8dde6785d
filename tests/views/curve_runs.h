// SPDX-License-Identifier: GPL-3.0-or-later
// Runs whose curves are known.
#pragma once
#include "views/runs/run_data.h"

namespace skippipe {

/// `count` iterations of 10 s and 1,000 tokens: the loss falls from 6 in steps of 0.1 - id / 1,000; validation every
/// other one.
inline RunData run_of(RunId id, int count) {
    RunData run;
    run.info.id = id;
    run.info.planner = "gpipe";
    run.iteration = Accounting{
        .iterations = 1, .microbatches = 30, .tokens = 1000, .lines = {{"A->B", 2e6, 0, 0}}, .transfer_bytes = 2e6};
    for (int i = 0; i < count; ++i) {
        const double loss = 6 - i * (0.1 - static_cast<double>(id) / 1000);
        const auto add = [&](const char* name, double value) {
            run.metrics.push_back(
                {.iteration = i, .name = name, .value = value, .network_s = 10.0 * (i + 1), .tokens = 1000 * (i + 1)});
        };
        add("loss", loss);
        add("iteration_s", 10);
        if (i % 2 == 0) add("validation_loss", loss + 0.5);
        run.idle_of_iteration[i] = 0.25;
    }
    return run;
}

}  // namespace skippipe
