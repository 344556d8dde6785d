// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/differences.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <QObject>

#include "core/analysis/compare.h"
#include "core/analysis/ranking.h"
#include "views/runs/clock_words.h"
#include "views/runs/parameters.h"
#include "views/runs/run_table.h"
#include "views/runs/same_work.h"
#include "views/theme/numbers.h"
#include "views/timeline/colours.h"

namespace skippipe {
namespace {

using Number = std::optional<double>;

void finish(DifferenceRow& row) {
    row.differs =
        std::any_of(row.values.begin(), row.values.end(), [&](const QString& v) { return v != row.values.front(); });
    while (row.deltas.size() < row.values.size()) row.deltas << QString{};
    row.verdicts.resize(static_cast<std::size_t>(row.values.size()), Verdict::none);
}

/// How a value is compared with the baseline's: as a ratio, where both are shares as points of them, or by how much
/// more it is: ratios of small parts are louder than they matter.
enum class Compared { ratio, points, difference };

/// What a row's figures mean.
struct Kind {
    DifferenceSection section = DifferenceSection::results;
    Better better = Better::neither;
    Compared compared = Compared::ratio;
    bool varies_by_seed = false;  ///< as losses do: small changes say nothing
    double least_apart = 0;       ///< of differences: less is neither better nor worse
};
constexpr double hardly = 0.01, hardly_points = 0.005;  ///< so small a difference is neither better nor worse
constexpr Kind less_is_better{DifferenceSection::results, Better::smaller};
constexpr Kind loss{DifferenceSection::results, Better::smaller, Compared::ratio, true};
constexpr Kind share_of_time{DifferenceSection::results, Better::smaller, Compared::points};
constexpr Kind idle_cause{DifferenceSection::idle, Better::smaller, Compared::difference};
constexpr Kind what_it_took{DifferenceSection::cost};

Verdict verdict(double now, double base, Better better) {
    if (better == Better::neither || now == base) return Verdict::none;
    return (now < base) == (better == Better::smaller) ? Verdict::better : Verdict::worse;
}

/// Which of more than two runs' values is better than all others; -1: none is. Of two colours say it. Those that read
/// the same are the same.
template <class Value, class Words>
qsizetype best_of(const std::vector<const RunData*>& runs, const Value& value, const Words& words, Better better) {
    qsizetype best = -1;
    Number best_value;
    for (std::size_t i = 0; i < runs.size() && better != Better::neither; ++i) {
        const Number now = value(*runs[i]);
        if (!now || goes_on(runs[i]->info)) continue;
        const bool is_same = best_value && words(*now) == words(*best_value);
        if (is_same) best = -1;
        if (is_same || (best_value && verdict(*now, *best_value, better) != Verdict::better)) continue;
        best = static_cast<qsizetype>(i);
        best_value = now;
    }
    return runs.size() > 2 ? best : -1;
}

/// Plans of one search differ by as much, and losses by more where another seed may be why.
bool is_worth_telling(double now, double base, Kind kind) {
    if (kind.varies_by_seed) return !seeds_may_explain(now, base);
    const double apart = std::abs(now - base);
    if (kind.compared == Compared::difference) return apart >= kind.least_apart;
    return kind.compared == Compared::points ? apart >= hardly_points : apart >= hardly * std::abs(base);
}

/// Whether the figure of the run may be marked against the other's: neither goes on, and a loss is not of more work.
bool may_be_marked(const RunInfo& run, const RunInfo& base, Kind kind) {
    if (goes_on(run) || goes_on(base)) return false;
    return !kind.varies_by_seed || run.iterations_done == base.iterations_done;
}

template <class Value, class Words>
DifferenceRow metric(const QString& name, const std::vector<const RunData*>& runs, const Value& value,
                     const Words& words, Kind kind) {
    DifferenceRow row;
    row.section = kind.section;
    row.name = name;
    row.is_metric = row.is_figure = true;
    const auto value_of = [&](const RunData& run) {
        return did_nothing(run.info) && kind.section == DifferenceSection::cost ? Number{} : value(run);
    };
    const Number base = value_of(*runs.front());
    // What goes on is not there yet: its times and counts say how far it came, its losses are of less work.
    const auto is_compared = [&](const RunData& run) {
        return !goes_on(run.info) || (!kind.varies_by_seed && kind.section != DifferenceSection::cost);
    };
    // One way of saying it in all of a row: as soon as one run has many times the baseline's, all are told so.
    const bool times = std::any_of(runs.begin(), runs.end(), [&](const RunData* run) {
        const Number now = value_of(*run);
        return kind.compared == Compared::ratio && now && base && *base > 0 && *now > 0 && is_compared(*run) &&
               change(*now / *base - 1).endsWith(QChar(0xd7));
    });
    for (const auto* run : runs) {
        const Number now = value_of(*run);
        row.values << (now ? words(*now) : QString{});
        const bool is_sure =
            now && base && is_worth_telling(*now, *base, kind) && may_be_marked(run->info, runs.front()->info, kind);
        const bool differs = run != runs.front() && now && base && words(*now) != words(*base) && is_compared(*run) &&
                             is_compared(*runs.front());
        row.deltas << (!differs                            ? QString{}
                       : kind.compared == Compared::points ? change_in_points(*now - *base)
                       : kind.compared == Compared::difference
                           ? (*now < *base ? QChar(0x2212) : QChar('+')) + words(std::abs(*now - *base))
                       : *base == 0 ? QStringLiteral("+") + words(*now)
                       : times      ? QObject::tr("%1\u2009\u00d7").arg(three_digits(*now / *base))
                                    : change(*now / *base - 1));
        row.verdicts.push_back(differs && is_sure ? verdict(*now, *base, kind.better) : Verdict::none);
    }
    row.best = best_of(runs, value, words, kind.better);
    // One that another seed, or more work, may have made the best is not called so.
    for (const auto* run : runs)
        if (const Number now = value_of(*run); row.best >= 0 && kind.varies_by_seed && now)
            if (const auto* best = runs[static_cast<std::size_t>(row.best)];
                run != best && !goes_on(run->info) &&
                (seeds_may_explain(*now, *value_of(*best)) || !may_be_marked(run->info, best->info, kind)))
                row.best = -1;
    finish(row);
    return row;
}

Number last_metric(const RunData& run, const std::string& name) {
    const auto it =
        std::find_if(run.metrics.rbegin(), run.metrics.rend(), [&](const Metric& m) { return m.name == name; });
    return it == run.metrics.rend() ? Number{} : Number{it->value};
}

/// Of one that goes on the mean of the iterations so far.
Number iteration_of(const RunData& run) {
    if (run.info.iteration_s || !goes_on(run.info)) return run.info.iteration_s;
    double sum = 0;
    int count = 0;
    for (const auto& metric : run.metrics)
        if (metric.name == "iteration_s") sum += metric.value, ++count;
    return count > 0 ? Number{sum / count} : Number{};
}

/// Of one that goes on what it trained between its first iteration and its last so far.
Number tokens_per_second_of(const RunData& run) {
    if (run.info.tokens_per_second || !goes_on(run.info)) return run.info.tokens_per_second;
    const auto is_trained = [](const Metric& metric) { return metric.name == "iteration_s"; };
    const auto first = std::find_if(run.metrics.begin(), run.metrics.end(), is_trained);
    const auto last = std::find_if(run.metrics.rbegin(), run.metrics.rend(), is_trained);
    if (last == run.metrics.rend() || last->machine_s <= first->machine_s) return {};
    return static_cast<double>(last->tokens - first->tokens) / (last->machine_s - first->machine_s);
}

/// What the runs did and sent, whole runs; none where no plan could be accounted for.
void add_accounting(const std::vector<const RunData*>& runs, std::vector<DifferenceRow>& rows) {
    std::vector<std::pair<const RunData*, Accounting>> totals;
    for (const auto* run : runs)
        if (run->iteration) totals.push_back({run, account_run(*run->iteration, run->info)});
    if (totals.empty()) return;
    const auto of = [&](double (*get)(const Accounting&)) {
        return [&totals, get](const RunData& run) {
            const auto found =
                std::find_if(totals.begin(), totals.end(), [&](const auto& total) { return total.first == &run; });
            return found == totals.end() ? Number{} : Number{get(found->second)};
        };
    };
    const auto count = [](double n) { return n < 1e6 ? whole_number(n) : quantity(n, {}); };
    const auto unit = [](const char* name) { return [name](double value) { return quantity(value, name); }; };
    const auto add = [&](const QString& name, double (*get)(const Accounting&), const auto& words) {
        rows.push_back(metric(name, runs, of(get), words, what_it_took));
    };
    add(
        QObject::tr("Microbatches"), [](const Accounting& a) { return static_cast<double>(a.microbatches); }, count);
    add(
        QObject::tr("Tokens"), [](const Accounting& a) { return static_cast<double>(a.tokens); }, count);
    add(
        QObject::tr("Block FLOPs"), [](const Accounting& a) { return a.block_flops(); }, unit("FLOP"));
    add(
        QObject::tr("Bytes sent"), [](const Accounting& a) { return a.bytes(); }, unit("B"));
    add(
        QObject::tr("Busiest line, bytes"),
        [](const Accounting& a) { return a.busiest_line() ? a.busiest_line()->bytes() : 0; }, unit("B"));
    DifferenceRow line;
    line.name = QObject::tr("Busiest line");
    line.is_metric = true;
    line.section = DifferenceSection::cost;
    for (const auto* run : runs) {
        const auto* busiest = run->iteration ? run->iteration->busiest_line() : nullptr;
        line.values << (busiest ? QString::fromStdString(busiest->name).replace("->", " → ") : QString{});
    }
    finish(line);
    rows.push_back(std::move(line));
}

/// Of how many stages a microbatch visits how many: planners of full pipelines skip none, whatever the skip ratio says.
DifferenceRow stages_visited(const std::vector<const RunData*>& runs) {
    DifferenceRow row;
    row.name = QObject::tr("Stages a microbatch visits");
    row.is_metric = true;
    for (const auto* run : runs) {
        const auto& paths = run->plan.paths;
        row.values << (paths.empty()
                           ? QString{}
                           : QObject::tr("%1 of %2").arg(paths.front().nodes.size()).arg(run->plan.stages.size()));
    }
    finish(row);
    return row;
}

void add_parameters(const std::vector<Parameter>& parameters, bool differ, std::vector<DifferenceRow>& rows) {
    for (const auto& parameter : parameters) {
        if (parameter.pointer == "/name" || parameter.pointer == "/description")
            continue;  // the column's head has them
        DifferenceRow row;
        row.section = differ ? DifferenceSection::parameters : DifferenceSection::same_parameters;
        row.name = parameter.name;
        row.values = parameter.values;
        row.details = parameter.details;
        finish(row);
        row.differs = differ;
        rows.push_back(std::move(row));
    }
}

}  // namespace

QString describe(DifferenceSection section) {
    switch (section) {
        case DifferenceSection::parameters: return QObject::tr("Parameters that differ");
        case DifferenceSection::results: return QObject::tr("Results");
        case DifferenceSection::idle: return QObject::tr("Idle time by cause, of a node in an iteration");
        case DifferenceSection::cost: return QObject::tr("What it took");
        case DifferenceSection::same_parameters: return QObject::tr("Parameters that are the same");
    }
    return {};
}

namespace {

/// What trains another model than the baseline, or on other data, is neither better nor worse; then none is the best.
void leave_out_other_work(DifferenceRow& row, const std::vector<const RunData*>& runs) {
    for (std::size_t i = 0; i < runs.size(); ++i) {
        if (train_the_same({runs.front(), runs[i]})) continue;
        row.verdicts[i] = Verdict::none;
        row.best = -1;
    }
}

/// Which runs differ from the baseline in their seeds alone, and which from any of them.
struct Seeds {
    std::vector<bool> of_baseline, of_any;

    explicit Seeds(const std::vector<const RunData*>& runs) : of_baseline(runs.size()), of_any(runs.size()) {
        std::vector<RankedRun> ranked;
        for (const auto* run : runs) ranked.push_back({&run->info, &run->experiment});
        const SeedGroups groups(ranked);
        for (std::size_t i = 0; i < runs.size(); ++i)
            for (std::size_t k = i + 1; k < runs.size(); ++k) {
                if (!groups.are_seeds(i, k)) continue;
                of_any[i] = of_any[k] = true;
                if (i == 0) of_baseline[k] = true;
            }
    }
};

/// What only another seed made so is neither better nor worse, nor the best of all.
void leave_out_seeds(DifferenceRow& row, const Seeds& seeds) {
    for (std::size_t i = 0; i < row.verdicts.size(); ++i)
        if (seeds.of_baseline[i]) row.verdicts[i] = Verdict::none;
    if (row.best >= 0 && seeds.of_any[static_cast<std::size_t>(row.best)]) row.best = -1;
}

/// First what tells those apart that are compared: of a run that is set aside nearly all differs.
void put_compared_first(std::vector<DifferenceRow>& rows, const std::vector<const RunData*>& runs) {
    const auto held = held_against(runs, 0);
    std::stable_partition(rows.begin(), rows.end(), [&](const DifferenceRow& row) {
        for (std::size_t i = 0; i < held.size(); ++i)
            if (held[i] && row.values[static_cast<qsizetype>(i)] != row.values.front()) return true;
        return false;
    });
}

}  // namespace

std::vector<DifferenceRow> differences(const std::vector<const RunData*>& runs) {
    std::vector<DifferenceRow> rows;
    if (runs.empty()) return rows;
    add_parameters(folded(differing(runs)), true, rows);
    put_compared_first(rows, runs);
    const RunClock clock = clock_of(runs);
    const auto seconds = [](double s) { return duration(s); };
    const auto plain = [](double v) { return three_digits(v); };
    rows.push_back(stages_visited(runs));
    rows.push_back(metric(
        QObject::tr("Iteration, %1").arg(in_sentence(time_name(clock))), runs,
        [](const RunData& r) { return iteration_of(r); }, seconds, less_is_better));
    rows.push_back(metric(
        QObject::tr("Predicted iteration"), runs,
        [](const RunData& r) {
            return r.info.predicted_iteration_s > 0 ? Number{r.info.predicted_iteration_s} : Number{};
        },
        seconds, less_is_better));
    rows.push_back(metric(
        QObject::tr("Idle share"), runs,
        [](const RunData& r) {
            return r.explained_iterations > 0 ? Number{std::accumulate(r.idle_share.begin(), r.idle_share.end(), 0.0)}
                                              : Number{};
        },
        [](double part) { return percent(part); }, share_of_time));
    Kind of_cause = idle_cause;
    of_cause.least_apart = hardly * iteration_of(*runs.front()).value_or(0);
    for (std::size_t c = 0; c < idle_causes; ++c) {
        // As time, not as a share of it: iterations may differ in length.
        auto row = metric(
            cause_words(static_cast<IdleCause>(c)), runs,
            [c](const RunData& r) {
                const Number iteration = iteration_of(r);
                return r.explained_iterations > 0 && iteration ? Number{r.idle_share[c] * *iteration} : Number{};
            },
            seconds, of_cause);
        if (std::any_of(runs.begin(), runs.end(), [c](const RunData* r) { return r->idle_share[c] > 5e-6; }))
            rows.push_back(std::move(row));
    }
    rows.push_back(metric(QObject::tr("First validation loss"), runs,
                          [](const RunData& r) { return r.info.first_validation_loss; }, plain, {}));
    rows.push_back(metric(
        QObject::tr("Last validation loss"), runs, [](const RunData& r) { return r.info.last_validation_loss; }, plain,
        loss));
    // Of a run that goes on it may be what it began with.
    rows.push_back(metric(
        QObject::tr("Bits per byte"), runs,
        [](const RunData& r) { return goes_on(r.info) ? Number{} : last_metric(r, "bits_per_byte"); }, plain, loss));
    if (std::any_of(runs.begin(), runs.end(), [](const RunData* run) { return goes_on(run->info); }))
        rows.push_back(metric(QObject::tr("Last training loss"), runs,
                              [](const RunData& r) { return last_metric(r, "loss"); }, plain, {}));
    rows.push_back(metric(
        QObject::tr("Tokens/s of this machine"), runs, [](const RunData& r) { return tokens_per_second_of(r); },
        [](double v) { return v < 1000 ? three_digits(v) : whole_number(v); }, {}));
    add_accounting(runs, rows);
    rows.push_back(metric(
        time_name(clock), runs, [](const RunData& r) { return Number{r.network_s}; }, seconds, what_it_took));
    rows.push_back(metric(
        QObject::tr("Machine time"), runs, [](const RunData& r) { return Number{r.info.machine_s}; }, seconds,
        what_it_took));
    DifferenceRow state;
    state.name = QObject::tr("State");
    state.is_metric = true;
    for (const auto* run : runs) {
        const auto words = to_string(run->info.state);
        state.values << QString::fromUtf8(words.data(), static_cast<qsizetype>(words.size()));
        if (goes_on(run->info))
            state.values.back() += QObject::tr(", %1 of %2").arg(run->info.iterations_done).arg(run->info.iterations);
    }
    finish(state);
    rows.push_back(std::move(state));
    const Seeds seeds(runs);
    for (auto& row : rows)
        if (row.is_metric) {
            leave_out_other_work(row, runs);
            leave_out_seeds(row, seeds);
        }
    std::erase_if(rows, [](const DifferenceRow& row) {
        return row.is_metric && std::all_of(row.values.begin(), row.values.end(), [](auto& v) { return v.isEmpty(); });
    });
    add_parameters(in_common(runs), false, rows);
    std::stable_sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.section < b.section; });
    return rows;
}

}  // namespace skippipe
