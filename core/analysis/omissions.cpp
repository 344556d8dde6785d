// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/omissions.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numbers>
#include <numeric>
#include <set>

#include "core/base/rng.h"

namespace skippipe {

namespace {

constexpr std::uint64_t omission_stream = 0x6F6D6974;  // "omit": apart from the other streams of a seed

/// Ways to choose k of n; a double, since there may be more than 2^64.
double ways(int n, int k) {
    double count = 1;
    for (int i = 1; i <= k; ++i) count = std::round(count * (n - k + i) / i);
    return count;
}

/// All sets of `count` of the stages 1 .. last, in lexicographic order.
void add_all(int last, int count, std::vector<std::vector<int>>& sets) {
    std::vector<int> chosen(static_cast<std::size_t>(count));
    std::iota(chosen.begin(), chosen.end(), 1);
    while (true) {
        sets.push_back(chosen);
        int i = count - 1;
        while (i >= 0 && chosen[static_cast<std::size_t>(i)] == last - (count - 1 - i)) --i;
        if (i < 0) return;
        const int next = chosen[static_cast<std::size_t>(i)] + 1;
        std::iota(chosen.begin() + i, chosen.end(), next);
    }
}

void add_drawn(int last, int count, int samples, Rng rng, std::vector<std::vector<int>>& sets) {
    std::set<std::vector<int>> drawn;
    std::vector<int> stages(static_cast<std::size_t>(last));
    std::iota(stages.begin(), stages.end(), 1);
    while (drawn.size() < static_cast<std::size_t>(samples)) {
        auto shuffled = stages;
        rng.shuffle(shuffled);
        shuffled.resize(static_cast<std::size_t>(count));
        std::sort(shuffled.begin(), shuffled.end());
        drawn.insert(std::move(shuffled));
    }
    sets.insert(sets.end(), drawn.begin(), drawn.end());
}

}  // namespace

std::vector<std::vector<int>> choose_omissions(int stages, int samples, std::uint64_t seed) {
    std::vector<std::vector<int>> sets;
    const int last = stages - 1;
    const auto stream = Rng(seed, omission_stream).next();
    for (int count = 0; count <= last; ++count)
        if (ways(last, count) <= samples)
            add_all(last, count, sets);
        else
            add_drawn(last, count, samples, Rng(stream, static_cast<std::uint64_t>(count)), sets);
    sets.push_back({0});
    return sets;
}

std::vector<KeptRow> by_stages_kept(const Evaluation& evaluation) {
    std::map<std::pair<bool, int>, KeptRow> rows;  // by whether stage 0 is left out, then by how many are
    for (const auto& one : evaluation.losses) {
        const int omitted = static_cast<int>(one.omitted.size());
        const bool first = !one.omitted.empty() && one.omitted.front() == 0;
        auto& row = rows[{first, omitted}];
        const double value = perplexity(one.loss_nats);
        if (row.sets == 0 || value < row.least) row.least = value, row.best = one.omitted;
        if (row.sets == 0 || value > row.most) row.most = value, row.worst = one.omitted;
        row.kept = evaluation.stages - omitted;
        row.without_stage_0 = first;
        row.all_sets = ways(evaluation.stages - 1, omitted - (first ? 1 : 0));
        ++row.sets;
        row.perplexity += value;
        row.loss_nats += one.loss_nats;
    }
    std::vector<KeptRow> all;
    for (auto& [key, row] : rows) {
        row.perplexity /= static_cast<double>(row.sets);
        row.loss_nats /= static_cast<double>(row.sets);
        all.push_back(std::move(row));
    }
    return all;
}

double perplexity(double loss_nats) { return std::exp(loss_nats); }

std::optional<double> bits_per_byte(double loss_nats, const Evaluation& evaluation) {
    if (!(evaluation.bytes_per_token > 0)) return std::nullopt;
    return loss_nats / std::numbers::ln2 / evaluation.bytes_per_token;
}

}  // namespace skippipe
