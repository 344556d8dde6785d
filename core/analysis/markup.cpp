// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/markup.h"

#include <cmath>

namespace skippipe {

std::string escaped(const std::string& text) {
    std::string out;
    for (const char c : text) {
        if (c == '&')
            out += "&amp;";
        else if (c == '<')
            out += "&lt;";
        else if (c == '>')
            out += "&gt;";
        else if (c == '"')
            out += "&quot;";
        else if (static_cast<unsigned char>(c) >= 0x20)
            out += c;  // control characters are no XML
    }
    return out;
}

double round_step(double extent, double most) {
    const double raw = extent / most, power = std::pow(10.0, std::floor(std::log10(raw)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (raw <= factor * power * (1 + 1e-9)) return factor * power;
    return 10 * power;
}

}  // namespace skippipe
