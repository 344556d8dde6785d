// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/span_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <system_error>

namespace skippipe::protocol {

namespace {

constexpr std::size_t longest_number = 32, usual_span = 96;  ///< characters

class Reader {
public:
    explicit Reader(std::string_view text) : at_(text.data()), end_(at_ + text.size()) {}
    bool is_at_end() const { return at_ == end_; }

    template <class Number>
    Number next() {
        Number value{};
        const auto [after, error] = std::from_chars(at_, end_, value);
        if (error != std::errc{} || after == end_ || *after != ' ') throw std::out_of_range("unreadable spans");
        at_ = after + 1;
        return value;
    }

    double next_finite() {
        const auto value = next<double>();
        if (!std::isfinite(value)) throw std::out_of_range("a span that is not finite");
        return value;
    }

    SpanKind next_kind() {
        const int kind = next<int>();
        if (kind < 0 || kind > static_cast<int>(last_span_kind)) throw std::out_of_range("unknown kind of span");
        return static_cast<SpanKind>(kind);
    }

private:
    const char *at_, *end_;
};

}  // namespace

std::string to_text(const std::vector<Span>& spans) {
    std::string text;
    text.reserve(usual_span * spans.size());
    const auto add = [&](auto number) {
        char digits[longest_number];
        text.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
        text.push_back(' ');
    };
    for (const auto& s : spans) {
        for (const int number : std::array<int, 5>{static_cast<int>(s.kind), s.node, s.to_node, s.stage, s.microbatch})
            add(number);
        for (const double number : {s.ready_s, s.start_s, s.end_s, s.bytes}) add(number);
    }
    return text;
}

std::vector<Span> read_spans(std::string_view text) {
    std::vector<Span> spans;
    spans.reserve(text.size() / usual_span);
    for (Reader reader(text); !reader.is_at_end();) {
        Span s;
        s.kind = reader.next_kind();
        s.node = NodeIndex(reader.next<int>());
        s.to_node = NodeIndex(reader.next<int>());
        s.stage = StageIndex(reader.next<int>());
        s.microbatch = MicrobatchIndex(reader.next<int>());
        for (double* number : {&s.ready_s, &s.start_s, &s.end_s, &s.bytes}) *number = reader.next_finite();
        spans.push_back(s);
    }
    return spans;
}

}  // namespace skippipe::protocol
