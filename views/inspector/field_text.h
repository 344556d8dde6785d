// SPDX-License-Identifier: GPL-3.0-or-later
// Fields of the document as text and back, with their limits. No widget.
#pragma once
#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include <QString>
#include <QStringList>

#include "core/experiment/describe.h"
#include "views/theme/numbers.h"

namespace skippipe {

/// What a typed text is: a value, or a fault in words.
template <class T>
struct Read {
    std::optional<T> value;
    QString fault;
};

/// Limits in words: "0 to 1", "more than 0 s"; empty where there are none.
QString limits_text(const Info& info);
/// Empty where `value` is within the limits, else what is wrong.
QString limit_fault(double value, const Info& info);

template <class T>
inline constexpr bool is_number = std::is_arithmetic_v<T> && !std::is_same_v<T, bool>;

/// A number that may not be set, too: what can be multiplied.
template <class T>
inline constexpr bool is_scaled = is_number<T>;
template <class T>
inline constexpr bool is_scaled<std::optional<T>> = is_number<T>;

/// A number with an SI prefix and a unit behind it: "125M", "20 ms", "1 Gbit/s" (an eighth, where the unit is B/s), and
/// perhaps times or by another: "125M / 2"; nothing where it is none, or has another unit.
std::optional<double> read_number(const QString& text, const char* unit);
/// "/2" is 0.5, "*1.5" is 1.5: what a value is to be multiplied by; nothing where the text is something else, or by 0.
std::optional<double> read_factor(const QString& text);
/// The unit in which people read what has this one in files: bit/s of B/s.
QString read_unit(const char* unit);
/// The fewest digits that are exactly that number, without an exponent up to 10^16.
QString digits_of(double value);
/// Whether a field says this unit itself, as bytes and seconds: "16 GB", "58 ms".
bool has_unit_in_field(const char* unit);
/// Plain digits; bytes, bandwidths and seconds with their unit, and an SI prefix where that is exact to 15 digits: "16
/// GB", "58 ms". Bandwidths are in bit/s, as everywhere else they are read: "140.509184 Mbit/s" of 17,563,648 B/s.
QString number_text(double value, const char* unit);
/// What is typed over `shown`: a number alone is in its unit, "20" over "1 Gbit/s" is "20 Gbit/s", and over nothing in
/// the unit in which such values are read; any other text is as it is.
QString in_unit_shown(const QString& typed, const QString& shown, const char* unit);
/// A bandwidth's text with as many digits as are read, and no zeros that tell nothing: "141 Mbit/s" of "140.509184
/// Mbit/s", "1 Gbit/s"; any other text as it is.
QString short_text(const QString& text, const char* unit);

template <class T>
requires is_number<T> QString to_field(T value, const Info& info = {}) {
    if (*info.unit != 0) return number_text(static_cast<double>(value), info.unit);
    return digits_of(static_cast<double>(value));
}

inline QString to_field(const std::string& value, const Info& = {}) { return QString::fromStdString(value); }

template <class T>
QString to_field(const std::optional<T>& value, const Info& info = {}) {
    return value ? to_field(*value, info) : QString{};
}

/// "train.bin = 3": a file and its weight.
inline QString to_field(const DataFile& file, const Info& = {}) {
    return QString::fromStdString(file.path) + QStringLiteral(" = ") + to_field(file.weight);
}

/// Lists of these are separated by semicolons, since their own text may have commas.
template <class T>
inline constexpr bool has_commas = std::is_same_v<T, std::vector<std::string>> || std::is_same_v<T, DataFile>;

template <class T>
QString to_field(const std::vector<T>& values, const Info& info = {}) {
    QStringList parts;
    for (const auto& value : values) parts << to_field(value, info);
    return parts.join(has_commas<T> ? QStringLiteral("; ") : QStringLiteral(", "));
}

/// A number as a value of the field, or what is wrong with it.
template <class T>
Read<T> checked_number(double number, const Info& info) {
    if (std::is_integral_v<T> && number != std::floor(number)) return {{}, QObject::tr("A whole number is needed")};
    if (QString fault = limit_fault(number, info); !fault.isEmpty()) return {{}, fault};
    constexpr double exact = 9007199254740992.0, largest = static_cast<double>(std::numeric_limits<T>::max());
    if (std::is_integral_v<T> && std::abs(number) > std::min(exact, largest)) return {{}, QObject::tr("Too large")};
    return {static_cast<T>(number), {}};
}

template <class T>
requires is_number<T> Read<T> read_field(const QString& text, const Info& info, T*) {
    if (const auto read = read_number(text, info.unit)) return checked_number<T>(*read, info);
    return {{},
            *info.unit != 0 ? QObject::tr("\"%1\" is no number of %2").arg(text, read_unit(info.unit))
                            : QObject::tr("\"%1\" is no number").arg(text)};
}

/// `value` times `factor`, within the limits; what is not set stays so.
template <class T>
requires is_number<T> Read<T> scaled_field(const T& value, double factor, const Info& info) {
    const double number = static_cast<double>(value) * factor;
    return checked_number<T>(std::is_integral_v<T> ? std::round(number) : number, info);
}
template <class T>
Read<std::optional<T>> scaled_field(const std::optional<T>& value, double factor, const Info& info) {
    if (!value) return {std::optional<std::optional<T>>{std::in_place, std::nullopt}, {}};
    const auto read = scaled_field(*value, factor, info);
    if (!read.value) return {{}, read.fault};
    return {std::optional<std::optional<T>>{std::in_place, *read.value}, {}};
}

inline Read<std::string> read_field(const QString& text, const Info& info, std::string*) {
    if (info.required && text.trimmed().isEmpty()) return {{}, QObject::tr("May not be empty")};
    return {text.toStdString(), {}};
}

template <class T>
Read<std::optional<T>> read_field(const QString& text, const Info& info, std::optional<T>*) {
    if (text.trimmed().isEmpty()) return {std::optional<std::optional<T>>{std::in_place, std::nullopt}, {}};
    auto read = read_field(text, info, static_cast<T*>(nullptr));
    if (!read.value) return {{}, read.fault};
    return {std::optional<std::optional<T>>{std::in_place, *read.value}, {}};
}

inline Read<DataFile> read_field(const QString& text, const Info&, DataFile*) {
    const auto equals = text.lastIndexOf(QStringLiteral(" = "));
    DataFile file{(equals < 0 ? text : text.left(equals)).trimmed().toStdString(), 1};
    if (file.path.empty()) return {{}, QObject::tr("A file is needed, as in \"train.bin = 3\"")};
    if (equals < 0) return {file, {}};
    const auto weight =
        read_field(text.mid(equals + 3), Info{.min = 0, .max = 1e9, .above_min = true}, static_cast<double*>(nullptr));
    if (!weight.value) return {{}, weight.fault};
    file.weight = *weight.value;
    return {file, {}};
}

template <class T>
Read<std::vector<T>> read_field(const QString& text, const Info& info, std::vector<T>*) {
    constexpr bool nested = has_commas<T>;
    std::vector<T> values;
    if (text.trimmed().isEmpty()) return {values, {}};
    for (const auto& part : text.split(nested ? ';' : ',')) {
        auto read = read_field(part.trimmed(), info, static_cast<T*>(nullptr));
        if (!read.value) return {{}, read.fault};
        values.push_back(std::move(*read.value));
    }
    return {values, {}};
}

}  // namespace skippipe
