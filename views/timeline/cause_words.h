// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QString>

#include "core/analysis/idle.h"

namespace skippipe {

/// A cause in a word or two, as it stands in keys.
QString short_cause_words(IdleCause cause);
/// What it means, in a sentence for who does not know the field's terms (docs/semantics.md, Idle time).
QString cause_meaning(IdleCause cause);

}  // namespace skippipe
