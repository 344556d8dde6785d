// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/planners/joint/pipelines/pipeline_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/index.h"
#include "plugins/planners/common/feasibility.h"

namespace skippipe::planners::joint {

namespace {

/// Of so many pipelines drawn, the longest is relieved.
constexpr int drawn_pipelines = 4;
/// An exchange is looked at that the design thinks makes both so much longer at most: its guess is as good as that.
constexpr double worse_guess = 0.01;
/// What a search of the orders gains, about, where nodes wait for each other rather than work all the time.
constexpr double orders_gain = 0.07;
/// Exchanges that are only guessed at take about as long as so much of one that is looked at.
constexpr std::int64_t draws_a_try = 200;

std::optional<PipelinePart> part_of(const PartProblems& problems, const PipelineDesign& design, std::size_t k) {
    const int each = problems.whole().microbatches / static_cast<int>(design.pipelines().size());
    auto part = pipeline_part(problems, design.pipelines()[k], design.routes()[k], each);
    if (part) part->promised_s = std::max(part->seconds * (1 - orders_gain), design.least_seconds_of(k));
    return part;
}

double longest_promise_s(const PipelinePlan& plan) {
    double longest_s = 0;
    for (const auto& part : plan.parts) longest_s = std::max(longest_s, part.promised_s);
    return longest_s;
}

std::size_t one_of_the_longest(const PipelinePlan& plan, Rng& rng) {
    std::size_t longest = rng.below(plan.parts.size());
    for (int k = 1; k < drawn_pipelines; ++k) {
        const std::size_t other = rng.below(plan.parts.size());
        if (plan.parts[other].promised_s > plan.parts[longest].promised_s) longest = other;
    }
    return longest;
}

/// What an exchange that the design has made does to one or two pipelines of the plan.
class Relief {
public:
    Relief(const PartProblems& problems, const PipelineDesign& design, const PipelinePlan& plan, std::size_t first,
           const PipelineDesign::Exchange& exchange, double aim_s)
        : problems_(problems), design_(design), exchange_(exchange), first_(first), aim_s_(aim_s) {
        first_s_ = plan.parts[first_].promised_s;
        second_s_ = both() ? plan.parts[exchange_.pipeline].promised_s : 0;
    }

    /// What a pipeline took more than the design says, it is thought to take then.
    bool is_worth_a_look() const {
        const double first_s = first_s_ * design_.seconds_of(first_) / exchange_.first_said_s;
        const double second_s = second_s_ * design_.seconds_of(exchange_.pipeline) / exchange_.second_said_s;
        return std::max(first_s, second_s) < std::max(first_s_, second_s_) * (1 + worse_guess);
    }

    /// By their timelines; whether the plan has it now.
    bool take(PipelinePlan& plan) const {
        auto first = part_of(problems_, design_, first_);
        auto second = both() ? part_of(problems_, design_, exchange_.pipeline) : std::nullopt;
        if (!first || (both() && !second)) return false;
        const double after = energy(first->promised_s) + (both() ? energy(second->promised_s) : 0),
                     before = energy(first_s_) + (both() ? energy(second_s_) : 0);
        if (after >= before) return false;
        plan.parts[first_] = std::move(*first);
        if (both()) plan.parts[exchange_.pipeline] = std::move(*second);
        return true;
    }

private:
    bool both() const { return exchange_.pipeline != first_; }
    double energy(double seconds) const { return std::exp(pipeline_steepness * (seconds / aim_s_ - 1)); }

    const PartProblems& problems_;
    const PipelineDesign& design_;
    const PipelineDesign::Exchange& exchange_;
    const std::size_t first_;
    const double aim_s_;
    double first_s_, second_s_;
};

}  // namespace

std::optional<PipelinePlan> pipeline_plan(const PartProblems& problems, const PipelineDesign& design,
                                          const std::function<bool()>& go_on) {
    PipelinePlan plan{.shape = design.shape(), .parts = {}, .whole = {}};
    for (std::size_t k = 0; k < design.pipelines().size(); ++k) {
        auto part = part_of(problems, design, k);
        if (!part || !go_on()) return std::nullopt;
        plan.parts.push_back(std::move(*part));
    }
    return plan;
}

void relieve_longest(const PartProblems& problems, PipelineDesign& design, PipelinePlan& plan, std::uint64_t seed,
                     const std::function<bool(std::int64_t)>& go_on) {
    Rng rng(seed, 0x9E1);
    const double aim_s = longest_promise_s(plan);
    std::int64_t tried = 0;
    for (std::int64_t drawn = 0; go_on(std::max(tried, drawn / draws_a_try)); ++drawn) {
        const std::size_t a = one_of_the_longest(plan, rng);
        const auto exchange = design.exchange_with_any(a, rng);
        if (!exchange) continue;
        const Relief relief(problems, design, plan, a, *exchange, aim_s);
        if (relief.is_worth_a_look()) {
            ++tried;
            if (relief.take(plan)) continue;
        }
        design.take_back(*exchange);
    }
}

void merge(const Problem& problem, PipelinePlan& plan) {
    plan.whole = merge_parts(problem, plan.parts);
    double longest_s = 0;
    for (const auto& part : plan.parts) longest_s = std::max(longest_s, part.seconds);
    plan.seconds = fits_everywhere(problem, plan.whole) ? iteration_s(problem, plan.whole)
                                                        : std::numeric_limits<double>::infinity();
    // What the lines between pipelines, and sums, add.
    plan.promised_s = longest_promise_s(plan) * plan.seconds / longest_s;
}

}  // namespace skippipe::planners::joint
