// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/experiment/failure_trace.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <unordered_set>

#include <fmt/format.h>

#include "core/experiment/io.h"
#include "core/experiment/text.h"

namespace skippipe {

namespace {

constexpr std::string_view header = "node,down_s,up_s";
constexpr double most_seconds = 1e12;  // at_s and rejoin_after_s of the document
constexpr std::size_t most_bytes = 16u << 20;

std::string_view trimmed(std::string_view text) {
    const auto first = text.find_first_not_of(" \t\r"), last = text.find_last_not_of(" \t\r");
    return first == std::string_view::npos ? std::string_view() : text.substr(first, last - first + 1);
}

/// The cells of a line; nothing where a quote is not closed, or something follows a closed one.
std::optional<std::vector<std::string>> cells_of(std::string_view line) {
    std::vector<std::string> cells(1);
    bool quoted = false, closed = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        const char c = line[i];
        auto& cell = cells.back();
        if (quoted) {
            if (c != '"')
                cell += c;
            else if (i + 1 < line.size() && line[i + 1] == '"')
                cell += line[++i];
            else
                quoted = false, closed = true;
        } else if (c == ',') {
            if (!closed) cell = trimmed(cell);
            cells.emplace_back();
            closed = false;
        } else if (c == '"' && trimmed(cell).empty() && !closed) {
            cell.clear();
            quoted = true;
        } else if (!closed) {
            cell += c;
        } else if (c != ' ' && c != '\t') {
            return std::nullopt;
        }
    }
    if (quoted) return std::nullopt;
    if (!closed) cells.back() = trimmed(cells.back());
    return cells;
}

struct Outage {
    double down_s = 0, up_s = 0;  ///< infinite: never
    int line = 0;
};

class TraceReader {
public:
    TraceReader(const std::string& name, const Topology& topology, Faults& faults) : name_(name), faults_(faults) {
        for (const auto& node : topology.nodes) nodes_.insert(node.id);
    }

    std::vector<Failure> read(std::string_view csv) {
        if (csv.starts_with("\xEF\xBB\xBF")) csv.remove_prefix(3);
        bool has_header = false;
        int number = 0;
        while (!csv.empty() && !is_full(faults_)) {
            const auto end = csv.find('\n');
            const auto line = trimmed(csv.substr(0, end));
            csv.remove_prefix(end == std::string_view::npos ? csv.size() : end + 1);
            ++number;
            if (line.empty() || line.front() == '#') continue;
            if (!has_header) {
                if (line != header) {
                    fault(number, fmt::format("{} is no header of a trace", in_quotes(line)),
                          "it says what the columns are", fmt::format("Begin the file with {}", header));
                    return {};
                }
                has_header = true;
                continue;
            }
            if (rows_++ == max_trace_rows) {
                fault(number, fmt::format("more than {} rows", max_trace_rows),
                      "each becomes a failure of the document",
                      "Keep the rows of the time that you train, and of the nodes that there are");
                break;
            }
            row(line, number);
        }
        if (!has_header)
            fault(number, "no header", "it says what the columns are", fmt::format("Begin the file with {}", header));
        check_overlaps();
        return std::move(failures_);
    }

private:
    void fault(int line, std::string what, std::string why, std::string remedy) {
        add_fault(faults_, {fmt::format("{}:{}", name_, line), std::move(what), std::move(why), std::move(remedy)});
    }

    std::optional<double> seconds(const std::string& cell, const char* column, int line) {
        double value = 0;
        const auto read = std::from_chars(cell.data(), cell.data() + cell.size(), value);
        if (read.ec != std::errc{} || read.ptr != cell.data() + cell.size() || !std::isfinite(value)) {
            fault(line, fmt::format("{} is no number", in_quotes(cell)), fmt::format("{} is a time in seconds", column),
                  "Write it as 120 or 120.5");
            return std::nullopt;
        }
        if (value < 0 || value > most_seconds) {
            fault(line, fmt::format("{} of {} is not within 0 and {}", cell, column, number_text(most_seconds)),
                  "network time begins at 0", "Give seconds since the training's beginning");
            return std::nullopt;
        }
        return value;
    }

    void row(std::string_view line, int number) {
        const auto cells = cells_of(line);
        if (!cells) return fault(number, "a quote is not closed", "a name in quotes ends with one", "Close it");
        if (cells->size() != 3)
            return fault(number, fmt::format("{} columns", cells->size()), fmt::format("the header has {}", header),
                         "Give three; up_s may be empty");
        const auto& node = cells->front();
        const bool drawn = node == any_target || node == any_data_node;
        if (!drawn && !nodes_.contains(node))
            return fault(number, fmt::format("{} is not there to fail", in_quotes(node)),
                         "an outage is one of the experiment's nodes",
                         fmt::format("Name a node, {} or {}", in_quotes(any_target), in_quotes(any_data_node)));
        const auto down_s = seconds((*cells)[1], "down_s", number);
        const bool returns = !(*cells)[2].empty();
        const auto up_s = returns ? seconds((*cells)[2], "up_s", number) : std::nullopt;
        if (!down_s || (returns && !up_s)) return;
        if (returns && *up_s <= *down_s)
            return fault(number, fmt::format("up at {} s, down at {} s", (*cells)[2], (*cells)[1]),
                         "a node is up again after it went down", "Swap the two, or leave the row out");
        Failure failure{.kind = FailureKind::crash, .target = node, .at_s = down_s};
        if (returns) failure.rejoin_after_s = *up_s - *down_s;
        failures_.push_back(failure);
        if (!drawn) outages_[node].push_back({*down_s, up_s.value_or(std::numeric_limits<double>::infinity()), number});
    }

    /// Of nodes that are named: which one "any" is, the seed says.
    void check_overlaps() {
        for (auto& [node, outages] : outages_) {
            std::stable_sort(outages.begin(), outages.end(),
                             [](const Outage& a, const Outage& b) { return a.down_s < b.down_s; });
            for (std::size_t i = 1; i < outages.size(); ++i)
                if (outages[i].down_s < outages[i - 1].up_s)
                    fault(outages[i].line,
                          fmt::format("{} goes down at {} s, but is down since line {}", in_quotes(node),
                                      number_text(outages[i].down_s), outages[i - 1].line),
                          "a node that is down cannot go down", "Join the two rows, or correct their times");
        }
    }

    const std::string& name_;
    Faults& faults_;
    std::unordered_set<std::string> nodes_;
    std::map<std::string, std::vector<Outage>> outages_;
    std::vector<Failure> failures_;
    std::size_t rows_ = 0;
};

}  // namespace

std::vector<Failure> parse_failure_trace(std::string_view csv, const std::string& name, const Topology& topology,
                                         Faults& faults) {
    return TraceReader(name, topology, faults).read(csv);
}

std::vector<Failure> load_failure_trace(const std::filesystem::path& file, const Topology& topology) {
    Faults faults;
    const auto csv = read_file(file, faults, {.bytes = most_bytes});
    auto failures = has_errors(faults) ? std::vector<Failure>{}
                                       : parse_failure_trace(csv, file.filename().string(), topology, faults);
    if (has_errors(faults)) throw InputError(faults);
    return failures;
}

}  // namespace skippipe
