// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/fault.h"

namespace skippipe {

/// JSON text in which numbers that JSON cannot carry (NaN, Infinity, 1e999) are replaced by null, so that one of them
/// does not hide the faults after it. Remembers which nulls these are and where the original text was.
class RepairedText {
public:
    struct Place {
        std::size_t line = 1, column = 1, byte = 0;
    };

    /// Keeps a view of `original`.
    explicit RepairedText(std::string_view original);

    std::string_view text() const { return repaired_.empty() ? original_ : std::string_view(repaired_); }
    /// Whether the n-th null of the text, from 0, stands for such a number.
    bool repaired_null(std::size_t n) const { return words_.contains(n); }
    Fault fault(std::size_t null, std::string pointer) const;
    /// Line, column and byte (from 1, 1, 0) in the original of a position in `text()`.
    Place place(std::size_t position) const;

private:
    struct Shift {
        std::size_t position;   ///< in `text()`, just after a replacement
        std::ptrdiff_t offset;  ///< original position - position, from there on
    };

    std::string_view original_;
    std::string repaired_;
    std::map<std::size_t, std::string> words_;
    std::vector<Shift> shifts_;
};

}  // namespace skippipe
