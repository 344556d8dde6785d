// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace skippipe {

/// In versions_json of a fork: {"run", "iterations"}, the run that it began in and how many of it were done.
inline constexpr const char* fork_origin_key = "forked_from";

}  // namespace skippipe
