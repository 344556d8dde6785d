// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <QString>

#include "core/base/fault.h"
#include "core/experiment/document.h"

namespace skippipe {

/// A setting of the whole experiment, as its form calls it.
struct FormField {
    QString section, label;
    QString pointer;  ///< JSON pointer into the document
};

/// All that have a field of their own, in the form's order; those without a meaning in this experiment left out.
std::vector<FormField> form_fields(const Experiment& experiment, const Faults& faults);

}  // namespace skippipe
