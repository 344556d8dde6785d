// SPDX-License-Identifier: GPL-3.0-or-later
#include <algorithm>
#include <deque>
#include <unordered_set>

#include <fmt/format.h>

#include "core/experiment/io.h"
#include "core/experiment/number_repair.h"
#include "core/experiment/text.h"

namespace skippipe {

namespace {

using Json = nlohmann::ordered_json;

/// What the parser's message means for somebody who has the text before him. The first that is in it counts.
std::string plain_reason(std::string_view message) {
    struct Meaning {
        std::string_view sign, words;
    };
    constexpr Meaning meanings[] = {
        {"missing closing quote", "a text has no closing quote"},
        {"must be escaped", "a text goes on beyond its line, or has a control character in it"},
        {"UTF-8", "a text has bytes that are no characters (UTF-8)"},
        {"invalid string", "a text has a backslash with nothing that JSON knows after it"},
        {"invalid number", "a number is not complete"},
        {"unexpected end of input", "the file ends before it is complete: what was opened is not closed"},
        {"; expected end of input", "there is more text after the end"},
        {"; expected '}'", "a comma is missing between two entries, or the brace that closes them"},
        {"; expected ']'", "a comma is missing between two values, or the bracket that closes their list"},
        {"object separator", "a colon is missing between a name and its value"},
        {"object key - unexpected '}'", "a comma stands before the closing brace"},
        {"object key", "the name of an entry in double quotes is missing"},
        {"invalid literal", "this is no value: texts stand in double quotes, other words are true, false and null"},
        {"unexpected ']'", "a comma stands before the closing bracket, or a value is missing"},
        {"unexpected", "a value is missing"},
    };
    for (const auto& [sign, words] : meanings)
        if (message.find(sign) != std::string_view::npos) return std::string(words);
    return "this is no JSON";
}

/// Builds the value while it checks duplicate keys, depth and count; returns false to stop the parser.
class Builder final : public nlohmann::json_sax<Json> {
public:
    Builder(const RepairedText& text, Faults& faults, const JsonLimits& limits)
        : text_(text), faults_(faults), limits_(limits) {}

    Json take() { return failed_ ? Json() : std::move(root_); }

    bool null() override {
        if (text_.repaired_null(nulls_++) && !is_full(faults_))
            add_fault(faults_, text_.fault(nulls_ - 1, next_pointer()));
        return value(Json());
    }
    bool boolean(bool v) override { return value(v); }
    bool number_integer(number_integer_t v) override { return value(v); }
    bool number_unsigned(number_unsigned_t v) override { return value(v); }
    bool number_float(number_float_t v, const string_t&) override { return value(v); }
    bool string(string_t& v) override { return value(std::move(v)); }
    bool binary(binary_t&) override { return stop("binary data", "JSON has none", "Save the file as JSON text"); }
    bool start_object(std::size_t) override { return open(Json::object()); }
    bool start_array(std::size_t) override { return open(Json::array()); }
    bool end_object() override { return close(); }
    bool end_array() override { return close(); }

    bool key(string_t& name) override {
        Frame& frame = frames_.back();
        frame.key = name;
        frame.duplicate = !frame.keys.insert(name).second;
        if (frame.duplicate && !is_full(faults_))
            add_fault(faults_, {next_pointer(), fmt::format("the key {} occurs twice in one object", in_quotes(name)),
                                "only one of the two values could be used", "Remove one of them"});
        return true;
    }

    bool parse_error(std::size_t position, const std::string&, const Json::exception& error) override {
        failed_ = true;
        const auto at = text_.place(position);
        add_fault(faults_, {next_pointer(),
                            fmt::format("line {}, column {}: {}", at.line, at.column, plain_reason(error.what())),
                            "nothing can be read from there on", "Mend the text there and open the file again"});
        return false;
    }

private:
    struct Frame {
        Json* container;
        std::string key;
        std::unordered_set<std::string> keys;
        bool duplicate = false;
    };

    bool stop(std::string what, std::string why, std::string remedy) {
        failed_ = true;
        add_fault(faults_, {next_pointer(), std::move(what), std::move(why), std::move(remedy)});
        return false;
    }

    /// Pointer of the value that is being read. In the innermost list it is not there yet, in those around it it is.
    std::string next_pointer() const {
        std::string pointer;
        for (std::size_t i = 0; i < frames_.size(); ++i) {
            const Frame& frame = frames_[i];
            const bool inside = i + 1 < frames_.size();
            pointer += frame.container->is_array() ? "/" + std::to_string(frame.container->size() - (inside ? 1 : 0))
                                                   : pointer_step(frame.key);
        }
        return pointer;
    }

    Json* place(Json&& v) {
        if (frames_.empty()) {
            root_ = std::move(v);
            return &root_;
        }
        Frame& frame = frames_.back();
        if (frame.container->is_array()) {
            auto& list = frame.container->get_ref<Json::array_t&>();
            list.push_back(std::move(v));
            return &list.back();
        }
        if (frame.duplicate) {  // the first one stays
            discarded_.push_back(std::move(v));
            return &discarded_.back();
        }
        // Straight to the vector below: the map's own insert looks through all keys each time.
        auto& members = frame.container->get_ref<Json::object_t&>();
        members.emplace_back(frame.key, std::move(v));
        return &members.back().second;
    }

    bool count() {
        if (++values_ <= limits_.values) return true;
        return stop(fmt::format("more than {} values", limits_.values),
                    "larger files are refused before they fill the memory", "Check that this is the right file");
    }

    template <class T>
    bool value(T&& v) {
        if (!count()) return false;
        place(Json(std::forward<T>(v)));
        return true;
    }

    bool open(Json&& empty) {
        if (!count()) return false;
        if (static_cast<int>(frames_.size()) >= limits_.depth)
            return stop(fmt::format("nested deeper than {} levels", limits_.depth),
                        "no file of this program is nested that deep", "Check that this is the right file");
        Json* container = place(std::move(empty));
        frames_.push_back(Frame{container, {}, {}, false});
        return true;
    }

    bool close() {
        frames_.pop_back();
        return true;
    }

    const RepairedText& text_;
    Faults& faults_;
    const JsonLimits& limits_;
    Json root_;
    std::deque<Json> discarded_;
    std::vector<Frame> frames_;
    std::size_t values_ = 0, nulls_ = 0;
    bool failed_ = false;
};

}  // namespace

Json parse_json(std::string_view text, Faults& faults, const JsonLimits& limits) {
    if (text.size() > limits.bytes) {
        add_fault(faults,
                  {"", fmt::format("{} bytes of text", text.size()),
                   fmt::format("at most {} bytes are read", limits.bytes), "Check that this is the right file"});
        return {};
    }
    const RepairedText repaired(text);
    Builder builder(repaired, faults, limits);
    Json::sax_parse(repaired.text(), &builder);
    return builder.take();
}

}  // namespace skippipe
