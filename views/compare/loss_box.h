// SPDX-License-Identifier: GPL-3.0-or-later
// A box in which the loss is chosen that trainings are compared by.
#pragma once
#include <initializer_list>
#include <vector>

#include <QComboBox>

#include "views/runs/run_data.h"

namespace skippipe {

/// Entries of those metrics, their names as data. What somebody chooses stays (`choose_readable_loss`).
void fill_losses(QComboBox& box, std::initializer_list<const char*> metrics);

/// Until somebody has chosen: the loss that was read often enough in these runs (loss_to_compare). Without a signal.
void choose_readable_loss(QComboBox& box, const std::vector<const RunData*>& runs);

}  // namespace skippipe
