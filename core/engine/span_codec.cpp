// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/span_codec.h"

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <stdexcept>

#include <fmt/format.h>

#include "core/engine/transport.h"

namespace skippipe {

namespace {

static_assert(std::endian::native == std::endian::little, "numbers travel as this machine keeps them");

constexpr std::string_view magic = "SPAN";
constexpr std::uint8_t format_version = 1;
constexpr std::size_t header_bytes = 4 + 1 + 4, span_bytes = 1 + 4 * 4 + 4 * 8;
constexpr double most_s = 1e9, most_bytes = 1e18;

template <class Number>
void put(std::string& text, Number value) {
    char bytes[sizeof value];
    std::memcpy(bytes, &value, sizeof value);
    text.append(bytes, sizeof value);
}

/// Takes numbers off the front of what was found long enough before.
class Reader {
public:
    explicit Reader(std::string_view bytes) : bytes_(bytes) {}
    template <class Number>
    Number take() {
        Number value;
        std::memcpy(&value, bytes_.data(), sizeof value);
        bytes_.remove_prefix(sizeof value);
        return value;
    }

private:
    std::string_view bytes_;
};

bool is_time(double value) { return std::abs(value) <= most_s; }  // false for what is no number

/// What is wrong with a span; empty: nothing.
std::string fault_of(const Span& span, const SpanLimits& limits) {
    const auto outside = [](const char* name, int value, int least, int end) {
        return value < least || value >= end ? fmt::format("{} {} of {}", name, value, end) : std::string();
    };
    if (auto fault = outside("node", span.node, 0, limits.nodes); !fault.empty()) return fault;
    if (auto fault = outside("stage", span.stage, 0, limits.stages); !fault.empty()) return fault;
    if (is_on_line(span.kind)) {
        if (auto fault = outside("receiving node", span.to_node, 0, limits.nodes); !fault.empty()) return fault;
    } else if (span.to_node != -1) {
        return "a receiver of what is no transfer";
    }
    if (is_transfer(span.kind) || is_compute(span.kind)) {
        if (auto fault = outside("microbatch", span.microbatch, 0, limits.microbatches); !fault.empty()) return fault;
    } else if (span.microbatch != -1) {
        return "a microbatch of what belongs to none";
    }
    if (!is_time(span.ready_s) || !is_time(span.start_s) || !is_time(span.end_s)) return "a time that is none";
    if (span.end_s < span.start_s) return "an end before its start";
    if (!(span.bytes >= 0 && span.bytes <= most_bytes)) return "a size that is none";
    return "";
}

}  // namespace

std::string encode_spans(std::span<const Span> spans) {
    std::string text(magic);
    text.reserve(header_bytes + spans.size() * span_bytes);
    put(text, format_version);
    put(text, static_cast<std::uint32_t>(spans.size()));
    for (const auto& span : spans) {
        put(text, static_cast<std::uint8_t>(span.kind));
        for (const int index : std::initializer_list<int>{span.node, span.to_node, span.stage, span.microbatch})
            put(text, static_cast<std::int32_t>(index));
        for (const double number : {span.ready_s, span.start_s, span.end_s, span.bytes}) put(text, number);
    }
    return text;
}

std::vector<Span> decode_spans(std::string_view message, const SpanLimits& limits, int rank) {
    const auto refuse = [rank](std::string what) { throw PeerFault(rank, "sent spans that cannot be: " + what); };
    if (message.size() < header_bytes || message.substr(0, magic.size()) != magic) refuse("they begin otherwise");
    Reader read(message.substr(magic.size()));
    if (const auto version = read.take<std::uint8_t>(); version != format_version)
        refuse(fmt::format("format {}, not {}", version, format_version));
    const std::size_t count = read.take<std::uint32_t>();
    if (count > limits.most) refuse(fmt::format("{} of them", count));
    if (message.size() != header_bytes + count * span_bytes)
        refuse(fmt::format("{} bytes for {} spans", message.size(), count));
    std::vector<Span> spans;
    spans.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
        Span span;
        const auto kind = read.take<std::uint8_t>();
        if (kind > static_cast<std::uint8_t>(last_span_kind)) refuse(fmt::format("kind {}", kind));
        span.kind = static_cast<SpanKind>(kind);
        for (int* index :
             {&span.node.number(), &span.to_node.number(), &span.stage.number(), &span.microbatch.number()})
            *index = read.take<std::int32_t>();
        for (double* number : {&span.ready_s, &span.start_s, &span.end_s, &span.bytes}) *number = read.take<double>();
        if (const auto fault = fault_of(span, limits); !fault.empty()) refuse(fault);
        spans.push_back(span);
    }
    return spans;
}

}  // namespace skippipe
