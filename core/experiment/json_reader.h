// SPDX-License-Identifier: GPL-3.0-or-later
// Typed reading of JSON values with a fault for each one that does not fit.
#pragma once
#include <cmath>
#include <limits>
#include <optional>
#include <set>
#include <string>
#include <type_traits>
#include <vector>

#include "core/experiment/describe.h"
#include "core/experiment/text.h"

namespace skippipe {

/// Where the reader stands, and what it has to say.
class JsonReader {
public:
    using Json = nlohmann::ordered_json;

    explicit JsonReader(Faults& faults, std::string at = {}) : faults_(faults), pointer_(std::move(at)) {}

    /// One step down, until it goes out of scope.
    class [[nodiscard]] Step {
    public:
        Step(std::string& pointer, std::string_view step) : pointer_(pointer), length_(pointer.size()) {
            pointer_ += step;
        }
        Step(const Step&) = delete;
        Step& operator=(const Step&) = delete;
        ~Step() { pointer_.resize(length_); }

    private:
        std::string& pointer_;
        std::size_t length_;
    };
    Step into(std::string_view key) { return {pointer_, pointer_step(key)}; }
    Step into(std::size_t index) { return {pointer_, "/" + std::to_string(index)}; }

    const std::string& pointer() const { return pointer_; }
    bool full() const { return is_full(faults_); }
    void fault(std::string what, std::string why, std::string remedy);
    void wrong_type(const Json& value, const char* wanted, const Info& info);
    void missing(std::string_view key, const Info& info);
    void unknown(std::string_view key, const std::vector<std::string_view>& known);
    void unknown_word(const std::string& word, const std::vector<std::string_view>& words, const Info& info);

    bool read(const Json& value, bool& member, const Info& info);
    bool read(const Json& value, double& member, const Info& info);
    bool read(const Json& value, std::string& member, const Info& info);

    template <class Int>
    requires(std::is_integral_v<Int> && !std::is_same_v<Int, bool>) bool read(const Json& value, Int& member,
                                                                              const Info& info) {
        using Limits = std::numeric_limits<Int>;
        if (value.is_number_unsigned() && value.get<std::uint64_t>() <= static_cast<std::uint64_t>(Limits::max())) {
            const auto number = value.get<std::uint64_t>();
            if (!in_range(static_cast<double>(number), info)) return false;
            member = static_cast<Int>(number);
            return true;
        }
        double number = 0;
        if (!whole_number(value, number, info) || !in_range(number, info)) return false;
        if (number < static_cast<double>(Limits::min()) || number >= std::ldexp(1.0, Limits::digits)) {
            fault(number_text(number) + " does not fit", info.doc, "Give a smaller number");
            return false;
        }
        member = static_cast<Int>(number);
        return true;
    }

    template <class Enum>
    requires std::is_enum_v<Enum>
    bool read(const Json& value, Enum& member, const Info& info) {
        if (!value.is_string()) {
            wrong_type(value, "a word", info);
            return false;
        }
        const auto& word = value.get_ref<const std::string&>();
        std::vector<std::string_view> words;
        for (const auto& [candidate, name] : names_of(static_cast<Enum*>(nullptr))) {
            if (name == word) {
                member = candidate;
                return true;
            }
            words.push_back(name);
        }
        unknown_word(word, words, info);
        return false;
    }

private:
    bool in_range(double number, const Info& info);
    bool whole_number(const Json& value, double& number, const Info& info);

    Faults& faults_;
    std::string pointer_;
};

}  // namespace skippipe
