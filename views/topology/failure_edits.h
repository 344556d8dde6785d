// SPDX-License-Identifier: GPL-3.0-or-later
// What the window does to failures, as functions on the experiment, beside edits.h: no widget.
#pragma once
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "core/experiment/document.h"

namespace skippipe {

/// Which of the four says when a failure happens.
enum class Trigger { time, iteration, chance, rate };

/// The first that is given; an iteration where none is.
Trigger trigger_of(const Failure& failure);
/// That one alone, with its value kept or a sensible one.
void set_trigger(Failure& failure, Trigger trigger);
/// That one alone: the value just entered counts, the others go. Nothing where it was emptied.
void keep_trigger(Failure& failure, const std::string& entered_key);

/// Targets that fit a kind, those that the seed chooses first; of links the lines that the network has,
/// by direction: a link within a region is none, there each pair of nodes has a line of its own.
std::vector<std::string> failure_targets(const Experiment& experiment, FailureKind kind);
/// Another kind, with target and factor that fit it; a line that is not drawn by itself stays a target of links.
void set_kind(const Experiment& experiment, Failure& failure, FailureKind kind);
/// A failure with sensible values. `target`: the first that fits where this one does not; `iteration_s`: network time
/// of an iteration, 0: not known.
Failure new_failure(const Experiment& experiment, FailureKind kind, const std::string& target, double iteration_s);

/// Places in the list of failures that happen to a node: by its name, or with its stage (-1: none).
std::vector<std::size_t> failures_of_node(const Experiment& experiment, const std::string& id, int stage);
/// The same for a link as it is drawn, in either direction that it has.
std::vector<std::size_t> failures_of_link(const Experiment& experiment, const Link& link);

void remove_failure(Experiment& experiment, std::size_t index);
/// Where the failure at `index` is after the list was changed elsewhere; nothing where it is gone.
std::optional<std::size_t> followed_failure(const std::vector<Failure>& before, const std::vector<Failure>& after,
                                            std::size_t index);

}  // namespace skippipe
