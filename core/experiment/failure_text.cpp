// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/failure_text.h"

#include <cctype>
#include <charconv>
#include <cmath>
#include <optional>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/base/format.h"
#include "core/experiment/describe.h"
#include "core/experiment/text.h"

namespace skippipe {

namespace {

constexpr const char* form = "a failure is KIND:TARGET@WHEN, then xFACTOR and +BACK where wanted";
constexpr const char* when_forms =
    "Give a time (120s, 2min), iteration=5, a chance an iteration (3%) or a rate an hour (0.5/h)";

/// "7e-02" as 7 with `power` = 2: digits are moved, so that nothing is rounded twice.
std::optional<double> scaled(std::string_view number, int power) {
    const auto e = number.find_first_of("eE");
    int exponent = 0;
    if (e != std::string_view::npos) {
        auto digits = number.substr(e + 1);
        if (digits.starts_with('+')) digits.remove_prefix(1);
        std::from_chars(digits.data(), digits.data() + digits.size(), exponent);
    }
    const auto text = fmt::format("{}e{}", number.substr(0, e), exponent + power);
    double value = 0;
    const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
    return read.ec == std::errc{} ? std::optional(value) : std::nullopt;
}

/// The text of a share as percent that reads back as the same share.
std::string percent_text(double share) {
    char buffer[40];
    const auto end = std::to_chars(buffer, buffer + sizeof buffer, share, std::chars_format::scientific).ptr;
    const std::string exact(buffer, end);
    if (const auto percent = scaled(exact, 2)) {
        auto text = number_text(*percent);
        if (scaled(text, -2) == share) return text + "%";
        text = exact.substr(0, exact.find('e'));
        return fmt::format("{}e{}%", text, std::stoi(exact.substr(exact.find('e') + 1)) + 2);
    }
    return number_text(100 * share) + "%";
}

/// Faults of a failure's numbers that are beyond the document's limits.
struct LimitCheck {
    std::string& wrong;

    template <class T>
    void operator()(const char*, const T&, const Info&) const {}
    void operator()(const char*, const double& value, const Info& info) const { check(value, info); }
    template <class T>
    requires std::is_arithmetic_v<T>
    void operator()(const char*, const std::optional<T>& value, const Info& info) const {
        if (value) check(static_cast<double>(*value), info);
    }

    void check(double value, const Info& info) const {
        if (!std::isfinite(value) || value < info.min || value > info.max)
            wrong = fmt::format("{} is not within {} and {}", number_text(value), number_text(info.min),
                                number_text(info.max));
    }
};

/// Reads one text from left to right.
class Scanner {
public:
    Scanner(std::string_view text, const std::string& where) : text_(text), where_(where) {}

    Failure read() {
        const auto at = text_.rfind('@');
        if (at == std::string_view::npos) refuse("says no time", when_forms);
        Failure failure = read_subject(text_.substr(0, at));
        rest_ = text_.substr(at + 1);
        read_when(failure);
        bool has_size = false;
        while (!rest_.empty()) {
            if (take("+")) {
                if (failure.rejoin_after_s) refuse("says twice when it is back", "Leave one +BACK out");
                failure.rejoin_after_s = seconds("after \"+\"");
            } else if (take("x")) {
                if (!has_factor(failure.kind))
                    refuse(fmt::format("has a factor, but a {} has none", name_of(failure.kind)), "Leave xFACTOR out");
                if (has_size) refuse("says its factor twice", "Leave one xFACTOR out");
                has_size = true;
                failure.factor = value("after \"x\"");
            } else {
                refuse(fmt::format("goes on with {}", in_quotes(rest_)),
                       "After the time come xFACTOR and +BACK, for example x3 and +60s");
            }
        }
        if (failure.kind == FailureKind::jitter && !has_size)
            refuse("does not say how much durations vary",
                   "Add the standard deviation as a share of a duration, for example x0.2");
        std::string wrong;
        LimitCheck check{wrong};
        describe(check, std::as_const(failure));
        if (!wrong.empty()) refuse("has a number beyond its limits: " + wrong, "Give one within them");
        return failure;
    }

private:
    [[noreturn]] void refuse(const std::string& what, const std::string& remedy) const {
        throw InputError(where_, in_quotes(text_) + " " + what, form, remedy);
    }

    Failure read_subject(std::string_view subject) const {
        const auto colon = subject.find(':');
        const auto word = subject.substr(0, colon);
        Failure failure;
        bool known = false;
        std::vector<std::string_view> words;
        for (const auto& [kind, name] : names_of(static_cast<FailureKind*>(nullptr))) {
            words.push_back(name);
            if (name == word) failure.kind = kind, known = true;
        }
        if (!known) {
            const auto meant = closest(word, words);
            refuse(fmt::format("names no kind of failure: {}", in_quotes(word)),
                   meant.empty() ? "Use " + choices(words) : fmt::format("Did you mean {}?", in_quotes(meant)));
        }
        if (colon != std::string_view::npos) failure.target = subject.substr(colon + 1);
        const bool wants_none = failure.kind == FailureKind::coordinator_loss;
        if (wants_none && !failure.target.empty())
            refuse(fmt::format("names {}", in_quotes(failure.target)), "Leave it out: there is one coordinator");
        if (!wants_none && failure.target.empty())
            refuse("does not say what it happens to",
                   fmt::format("Name it, for example {}:{}", word,
                               failure.kind == FailureKind::stage_loss ? "2"
                               : failure.kind == FailureKind::link_cut || failure.kind == FailureKind::link_degraded
                                   ? "a->b"
                                   : "node-3"));
        return failure;
    }

    void read_when(Failure& failure) {
        if (take("iteration=")) {
            int iteration = 0;
            const auto read = std::from_chars(rest_.data(), rest_.data() + rest_.size(), iteration);
            if (read.ec != std::errc{}) refuse("has no number after \"iteration=\"", "Write iteration=5");
            rest_.remove_prefix(static_cast<std::size_t>(read.ptr - rest_.data()));
            failure.at_iteration = iteration;
            return;
        }
        const auto digits = number("after \"@\"");
        if (take("%"))
            failure.probability_per_iteration = scaled(digits, -2);
        else if (take("/h"))
            failure.rate_per_hour = scaled(digits, 0);
        else
            failure.at_s = with_unit(digits);
    }

    bool take(std::string_view word) {
        if (!rest_.starts_with(word)) return false;
        rest_.remove_prefix(word.size());
        return true;
    }

    /// The digits of a number, taken off what is left.
    std::string_view number(const char* place) {
        double value = 0;
        const auto read = std::from_chars(rest_.data(), rest_.data() + rest_.size(), value);
        if (read.ec != std::errc{} || !std::isfinite(value)) refuse(fmt::format("has no number {}", place), when_forms);
        const auto digits = rest_.substr(0, static_cast<std::size_t>(read.ptr - rest_.data()));
        rest_.remove_prefix(digits.size());
        return digits;
    }

    double value(const char* place) { return scaled(number(place), 0).value_or(0); }
    double seconds(const char* place) { return with_unit(number(place)); }

    double with_unit(std::string_view digits) {
        if (take("ms")) return scaled(digits, -3).value_or(0);
        constexpr std::pair<std::string_view, double> units[] = {{"min", 60}, {"s", 1}, {"h", 3600}, {"d", 86400}};
        for (const auto& [word, factor] : units)
            if (take(word)) return scaled(digits, 0).value_or(0) * factor;
        refuse(fmt::format("has no unit behind {}", digits),
               "Write ms, s, min, h or d behind a time, for example 120s");
    }

    std::string_view text_, rest_;
    const std::string& where_;
};

std::string times_text(double factor) { return fmt::format("{:.3g}", factor); }

/// A share that somebody chose: "3 %", not "3.00 %".
std::string share_text(double share) { return fmt::format("{:.3g}{}%", 100 * share, thin_space); }

/// What happens, without when.
std::string event_words(const Failure& failure) {
    switch (failure.kind) {
        case FailureKind::crash: return "Crashes";
        case FailureKind::slow_down:
        case FailureKind::link_degraded:
            return failure.factor == 2 ? "Twice as slow" : times_text(failure.factor) + " times as slow";
        case FailureKind::link_cut: return "Cut";
        case FailureKind::jitter: return "Durations vary by " + share_text(failure.factor);
        case FailureKind::stage_loss: return "All its nodes are lost";
        case FailureKind::coordinator_loss: return "Lost";
    }
    return "";
}

}  // namespace

bool has_factor(FailureKind kind) {
    return kind == FailureKind::slow_down || kind == FailureKind::link_degraded || kind == FailureKind::jitter;
}

Failure parse_failure(std::string_view text, const std::string& where) { return Scanner(text, where).read(); }

std::string failure_text(const Failure& failure) {
    std::string text(name_of(failure.kind));
    if (!failure.target.empty()) text += ":" + failure.target;
    text += "@";
    if (failure.at_s)
        text += number_text(*failure.at_s) + "s";
    else if (failure.at_iteration)
        text += fmt::format("iteration={}", *failure.at_iteration);
    else if (failure.probability_per_iteration)
        text += percent_text(*failure.probability_per_iteration);
    else if (failure.rate_per_hour)
        text += number_text(*failure.rate_per_hour) + "/h";
    if (has_factor(failure.kind)) text += "x" + number_text(failure.factor);
    if (failure.rejoin_after_s) text += "+" + number_text(*failure.rejoin_after_s) + "s";
    return text;
}

std::string failure_subject(const Failure& failure) {
    if (failure.kind == FailureKind::coordinator_loss) return "Coordinator";
    if (failure.kind == FailureKind::stage_loss)
        return failure.target == any_target ? "Any stage" : "Stage " + failure.target;
    if (failure.target == any_target) return "Any node";
    if (failure.target == any_data_node) return "Any data node";
    const auto arrow = failure.target.find("->");
    if (arrow == std::string::npos) return failure.target;
    return failure.target.substr(0, arrow) + " \xE2\x86\x92 " + failure.target.substr(arrow + 2);
}

std::string failure_when(const Failure& failure) {
    if (failure.at_s) return "at " + format_seconds(*failure.at_s);
    if (failure.at_iteration) return fmt::format("in iteration {} (from 0)", *failure.at_iteration);
    if (failure.probability_per_iteration)
        return fmt::format("chance of {} an iteration", share_text(*failure.probability_per_iteration));
    if (failure.rate_per_hour)
        return *failure.rate_per_hour == 1 ? "once an hour on average"
                                           : fmt::format("{:.3g} times an hour on average", *failure.rate_per_hour);
    return "never";
}

std::string failure_words(const Failure& failure) {
    const bool states = has_factor(failure.kind) || failure.kind == FailureKind::link_cut;
    std::string words = event_words(failure);
    words += (failure.probability_per_iteration || failure.rate_per_hour ? ", " : " ") + failure_when(failure);
    if (failure.rejoin_after_s)
        return words + (states ? ", for " + format_seconds(*failure.rejoin_after_s)
                               : ", back " + format_seconds(*failure.rejoin_after_s) + " later");
    return words + ", for good";
}

std::string failure_line(const Failure& failure) {
    auto words = failure_words(failure);
    if (!words.empty()) words[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(words[0])));
    return failure_subject(failure) + ": " + words;
}

}  // namespace skippipe
