// SPDX-License-Identifier: GPL-3.0-or-later
// One failure as a text that people type, and in words that they read.
//
//     KIND[:TARGET]@WHEN[xFACTOR][+BACK]
//
//     crash:node-3@120s+60s        node-3 crashes at 120 s of network time and is back 60 s later
//     crash:any@3%                 in each iteration, with a chance of 3 %, one or another node crashes for good
//     slow-down:node-2@iteration=5x3
//     link-cut:a->b@0.5/h+30s      half a time an hour, the gaps drawn from an exponential distribution
//     stage-loss:2@10min+1min
//     coordinator-loss@1h
//
// KIND and TARGET are the words of the document (`describe.h`). WHEN is a time with its unit (ms, s, min, h, d),
// `iteration=N` (from 0), a chance an iteration (%), or a rate (/h). xFACTOR is that of slow-down and
// link-degraded (times slower; 2 where none is given) and of jitter (standard deviation as a share; must be given).
// +BACK is a time; without it, it is for good.
#pragma once
#include <string>
#include <string_view>

#include "core/experiment/document.h"

namespace skippipe {

/// A failure from its text; `where` is the place that faults name, for example the option. Values are within the
/// document's limits; whether there is such a target is for `validate`. Throws InputError.
Failure parse_failure(std::string_view text, const std::string& where);

/// The text of a failure that has exactly one trigger; `parse_failure` reads the same failure from it, to the last bit.
std::string failure_text(const Failure& failure);

/// Whether its factor says something: slow-down, link-degraded, jitter.
bool has_factor(FailureKind kind);

/// Whom it happens to: "node-3", "Any node", "a → b", "Stage 2", "Coordinator".
std::string failure_subject(const Failure& failure);
/// When: "at 2 min 00 s", "in iteration 5 (from 0)", "chance of 3 % an iteration", "0.5 times an hour".
std::string failure_when(const Failure& failure);
/// What happens to it, when, and for how long: "Crashes at 2 min 00 s, back 1 min 00 s later".
std::string failure_words(const Failure& failure);
/// Both on one line: "node-3: crashes at 2 min 00 s, back 1 min 00 s later".
std::string failure_line(const Failure& failure);

}  // namespace skippipe
