// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/jitter.h"

#include <charconv>
#include <cmath>

#include <fmt/format.h>

#include "app/cli/planning.h"
#include "core/base/fault.h"
#include "core/base/format.h"

namespace skippipe::cli {

namespace {

/// "20%", "20 %" or "0.2".
double share_of(const std::string& option, const std::string& text) {
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    std::string rest(end, text.data() + text.size());
    rest.erase(0, rest.find_first_not_of(' '));
    if (rest == "%") value /= 100;
    const bool understood = error == std::errc() && (rest.empty() || rest == "%");
    if (!understood || !(value >= 0 && value <= 1))
        throw InputError(option, fmt::format("\"{}\" is {}", text, understood ? "not between 0 and 100 %" : "no share"),
                         "it is the standard deviation of how many times longer things take, as a share",
                         "Write 20% or 0.2");
    return value;
}

}  // namespace

void add_jitter_options(CLI::App& verb, JitterOptions& options) {
    verb.add_option("--jitter", options.both,
                    "Vary every node and line at random, by this standard deviation (20% or 0.2), and show the "
                    "iteration's median, 95th\n"
                    "percentile and deviation. Factors are lognormal with mean 1, and hold for the whole iteration");
    verb.add_option("--jitter-compute", options.compute, "The same for nodes alone; default: --jitter");
    verb.add_option("--jitter-links", options.links, "The same for lines alone; default: --jitter");
    verb.add_option("--samples", options.samples, "Networks drawn for --jitter; by the seed, the same for every plan")
        ->check(CLI::Range(1, 1'000'000))
        ->capture_default_str();
}

std::optional<Jitter> jitter_of(const JitterOptions& options) {
    if (options.both.empty() && options.compute.empty() && options.links.empty()) return {};
    Jitter jitter;
    if (!options.both.empty()) jitter.compute = jitter.links = share_of("--jitter", options.both);
    if (!options.compute.empty()) jitter.compute = share_of("--jitter-compute", options.compute);
    if (!options.links.empty()) jitter.links = share_of("--jitter-links", options.links);
    return jitter;
}

void add_jitter(const Problem& problem, const Plan& plan, const Jitter& jitter, int samples, std::uint64_t seed,
                int threads, Score& score) {
    if (!score.violations.empty()) return;
    score.jitter = distribution(problem, plan, jitter, samples, seed, threads, interrupted);
    if (interrupted()) {
        score.jitter.reset();
        score.note +=
            fmt::format("{}stopped before all {} networks were tried", score.note.empty() ? "" : "; ", samples);
        return;
    }
    if (score.jitter->deadlocks == 0) return;
    score.note += fmt::format(
        "{}deadlocks on memory (TC1) in {} of {} drawn networks: dispatch decides there, a binding order would not",
        score.note.empty() ? "" : "; ", score.jitter->deadlocks, samples);
}

const std::vector<std::string>& jitter_headings() {
    static const std::vector<std::string> headings{"p50", "p95", "sd"};
    return headings;
}

std::vector<std::string> jitter_cells(const Score& score) {
    if (!score.jitter) return std::vector<std::string>(jitter_headings().size(), std::string{no_number});
    const auto cell = [](double seconds) {
        return std::isfinite(seconds) ? fmt::format("{:.2f} s", seconds) : std::string{no_number};
    };
    return {cell(score.jitter->p50_s), cell(score.jitter->p95_s), cell(score.jitter->standard_deviation_s)};
}

nlohmann::ordered_json to_json(const Distribution& d) {
    return {{"compute", d.jitter.compute}, {"links", d.jitter.links},
            {"samples", d.samples},        {"seed", d.seed},
            {"deadlocks", d.deadlocks},    {"nominal_seconds", d.nominal_s},
            {"mean_seconds", d.mean_s},    {"standard_deviation_seconds", d.standard_deviation_s},
            {"least_seconds", d.least_s},  {"p5_seconds", d.p5_s},
            {"p50_seconds", d.p50_s},      {"p95_seconds", d.p95_s},
            {"most_seconds", d.most_s}};
}

}  // namespace skippipe::cli
