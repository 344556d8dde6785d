// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <string_view>

namespace skippipe::palette {

/// Colours of the stages on light ground, beyond eight they repeat with a hatch. Found by search for the largest
/// smallest CIEDE2000 distance between any two, also under simulated colour blindness.
inline constexpr std::array<std::string_view, 8> stages_light{"#4D63CA", "#DD6478", "#006555", "#875E04",
                                                              "#433263", "#8B910E", "#AC7CAF", "#642902"};
/// Of gradients being summed.
inline constexpr std::string_view reduction = "#2400CC";
inline constexpr std::string_view surface = "#FFFFFF", pale = "#E3E6EB", text = "#1B1F27", faint_text = "#5B6472";

}  // namespace skippipe::palette
