// SPDX-License-Identifier: GPL-3.0-or-later
// Colour distances for the theme's test: CIEDE2000 (Sharma, Wu, Dalal 2005) and colour blindness (Machado et al. 2009,
// severity 1).
#pragma once
#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include <QColor>

namespace colour_science {

using Triple = std::array<double, 3>;
using Matrix = std::array<Triple, 3>;

inline double linear(double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); }

inline Triple times(const Matrix& m, const Triple& v) {
    Triple r{};
    for (std::size_t i = 0; i < 3; ++i)
        for (std::size_t j = 0; j < 3; ++j) r[i] += m[i][j] * v[j];
    return r;
}

inline constexpr Matrix normal{{{1, 0, 0}, {0, 1, 0}, {0, 0, 1}}};
inline constexpr Matrix protanopia{
    {{0.152286, 1.052583, -0.204868}, {0.114503, 0.786281, 0.099216}, {-0.003882, -0.048116, 1.051998}}};
inline constexpr Matrix deuteranopia{
    {{0.367322, 0.860646, -0.227968}, {0.280085, 0.672501, 0.047413}, {-0.011820, 0.042940, 0.968881}}};
inline constexpr Matrix tritanopia{
    {{1.255528, -0.076749, -0.178779}, {-0.078411, 0.930809, 0.147602}, {0.004733, 0.691367, 0.303900}}};

/// CIE Lab (D65) of a colour as seen through `eyes`.
inline Triple lab(const QColor& c, const Matrix& eyes) {
    Triple rgb = times(eyes, {linear(c.redF()), linear(c.greenF()), linear(c.blueF())});
    for (auto& v : rgb) v = std::clamp(v, 0.0, 1.0);
    const Triple xyz = times(
        {{{0.4124564, 0.3575761, 0.1804375}, {0.2126729, 0.7151522, 0.0721750}, {0.0193339, 0.1191920, 0.9503041}}},
        rgb);
    const auto f = [](double t) { return t > 216.0 / 24389 ? std::cbrt(t) : (24389.0 / 27 * t + 16) / 116; };
    const double x = f(xyz[0] / 0.95047), y = f(xyz[1]), z = f(xyz[2] / 1.08883);
    return {116 * y - 16, 500 * (x - y), 200 * (y - z)};
}

inline double ciede2000(const Triple& p, const Triple& q) {
    constexpr double turn = 2 * std::numbers::pi, degree = std::numbers::pi / 180;
    const double c_mean = (std::hypot(p[1], p[2]) + std::hypot(q[1], q[2])) / 2;
    const double g = 0.5 * (1 - std::sqrt(std::pow(c_mean, 7) / (std::pow(c_mean, 7) + std::pow(25.0, 7))));
    const double a1 = (1 + g) * p[1], a2 = (1 + g) * q[1];
    const double c1 = std::hypot(a1, p[2]), c2 = std::hypot(a2, q[2]);
    const auto hue = [&](double b, double a) {
        const double h = std::atan2(b, a);
        return h < 0 ? h + turn : h;
    };
    const double h1 = c1 == 0 ? 0 : hue(p[2], a1), h2 = c2 == 0 ? 0 : hue(q[2], a2);
    double dh = h2 - h1;
    if (c1 * c2 == 0)
        dh = 0;
    else if (dh > std::numbers::pi)
        dh -= turn;
    else if (dh < -std::numbers::pi)
        dh += turn;
    const double dl = q[0] - p[0], dc = c2 - c1, big_dh = 2 * std::sqrt(c1 * c2) * std::sin(dh / 2);
    double h = h1 + h2;
    if (c1 * c2 != 0) {
        if (std::abs(h1 - h2) > std::numbers::pi) h += h < turn ? turn : -turn;
        h /= 2;
    }
    const double l = (p[0] + q[0]) / 2, c = (c1 + c2) / 2;
    const double t = 1 - 0.17 * std::cos(h - 30 * degree) + 0.24 * std::cos(2 * h) +
                     0.32 * std::cos(3 * h + 6 * degree) - 0.2 * std::cos(4 * h - 63 * degree);
    const double sl = 1 + 0.015 * std::pow(l - 50, 2) / std::sqrt(20 + std::pow(l - 50, 2)), sc = 1 + 0.045 * c,
                 sh = 1 + 0.015 * c * t;
    const double theta = 30 * degree * std::exp(-std::pow((h / degree - 275) / 25, 2));
    const double rt = -2 * std::sqrt(std::pow(c, 7) / (std::pow(c, 7) + std::pow(25.0, 7))) * std::sin(2 * theta);
    return std::sqrt(std::pow(dl / sl, 2) + std::pow(dc / sc, 2) + std::pow(big_dh / sh, 2) +
                     rt * dc / sc * big_dh / sh);
}

}  // namespace colour_science
