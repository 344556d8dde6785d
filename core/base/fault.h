// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace skippipe {

/// One thing that is wrong with an input, in the four parts every error of this program has.
struct Fault {
    enum class Severity { error, warning };

    std::string pointer;  ///< where: JSON pointer (RFC 6901) into the document, or a file or option name
    std::string what;     ///< what is wrong, with the offending value
    std::string why;      ///< why it matters
    std::string remedy;   ///< what to do about it
    Severity severity = Severity::error;

    bool operator==(const Fault&) const = default;
};

using Faults = std::vector<Fault>;

/// True when at least one fault forbids going on (warnings alone do not).
inline bool has_errors(const Faults& faults) {
    for (const auto& fault : faults)
        if (fault.severity == Fault::Severity::error) return true;
    return false;
}

/// "pointer: what; why. Remedy" on one line, for terminals and logs.
inline std::string to_string(const Fault& fault) {
    std::string text = fault.pointer.empty() ? std::string{"/"} : fault.pointer;
    text += ": " + fault.what;
    if (!fault.why.empty()) text += "; " + fault.why;
    if (!fault.remedy.empty()) text += ". " + fault.remedy;
    return text;
}

/// Thrown where an input cannot be used; carries every fault found, not only the first.
class InputError : public std::runtime_error {
public:
    explicit InputError(Faults faults)
        : std::runtime_error(faults.empty() ? "bad input" : to_string(faults.front())), faults_(std::move(faults)) {}
    InputError(std::string pointer, std::string what, std::string why, std::string remedy)
        : InputError(Faults{Fault{std::move(pointer), std::move(what), std::move(why), std::move(remedy)}}) {}

    const Faults& faults() const noexcept { return faults_; }

private:
    Faults faults_;
};

}  // namespace skippipe
