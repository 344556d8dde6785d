// SPDX-License-Identifier: GPL-3.0-or-later
// What ranks leave for each other in the run's store while they meet: under which keys, and as which texts.
#pragma once
#include <string>

#include "plugins/transports/rendezvous.h"

namespace skippipe::meeting_text {

/// Under which a rank beats: a count, and the number of the meeting it has come to.
std::string beat_key(int rank);
/// The number in a beat; 0 where it has none.
int meeting_of_beat(const std::string& beat);
/// Who is lost since a meeting.
std::string lost_key(int meeting);
/// A rank that has come back and waits.
std::string return_key(int rank);
/// The last meeting, and why the run cannot go on.
inline const std::string meeting_key = "meeting", failed_key = "failed";

std::string write(const LostRank& loss);
/// Of what another rank wrote: rank -1 where the text is none, or names no rank.
LostRank read_loss(const std::string& text, int world_size);
std::string write(const Meeting& meeting);
/// Number 0 where the text is none.
Meeting read_meeting(const std::string& text, int world_size);

}  // namespace skippipe::meeting_text
