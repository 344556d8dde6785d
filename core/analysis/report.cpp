// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/analysis/report.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "core/analysis/chart_svg.h"
#include "core/analysis/clock_words.h"
#include "core/analysis/export.h"
#include "core/analysis/idle.h"
#include "core/analysis/loss_race.h"
#include "core/analysis/markup.h"
#include "core/analysis/ranking.h"
#include "core/analysis/report_setup.h"
#include "core/analysis/report_verdict.h"
#include "core/base/format.h"
#include "core/experiment/io.h"

namespace skippipe {
namespace {

using Json = nlohmann::ordered_json;
using Cells = std::vector<std::string>;

constexpr const char* page_style = R"(
body{font:14px/1.45 system-ui,sans-serif;color:#1B1F27;max-width:1080px;margin:24px auto;padding:0 16px}
h1{font-size:22px}h2{font-size:16px;margin-top:32px;border-bottom:1px solid #E3E6EB}h3{font-size:14px}
table{border-collapse:collapse;margin:8px 0}th,td{text-align:right;padding:3px 10px;border-bottom:1px solid #E3E6EB;
font-variant-numeric:tabular-nums}th:first-child,td:first-child,.pairs td,.pairs th{text-align:left}th{color:#5B6472;font-weight:600}
.faint{color:#5B6472}.better{color:#1A7F37;font-weight:600}.worse{color:#B3261E}pre{background:#F6F7F9;padding:8px;white-space:pre-wrap;overflow-wrap:anywhere;font-size:12px}svg{max-width:100%;height:auto}
@media print{body{margin:0;max-width:none}h2,h3,p.of-table,figure:has(+table){break-after:avoid}figure,svg,tr,pre{break-inside:avoid}}
)";

Json read_or_null(const std::string& text) { return Json::parse(text.empty() ? "null" : text, nullptr, false); }

Json comparable_document(const std::string& text, const Experiment& experiment) {
    auto json = read_or_null(text);
    return json.is_object() ? comparable(std::move(json), experiment.failures) : json;
}

std::string capital(std::string_view words) {
    std::string text(words);
    if (!text.empty()) text[0] = static_cast<char>(std::toupper(static_cast<unsigned char>(text[0])));
    return text;
}

/// "Skip ratio" of "/pipeline/skip_ratio": as the window calls it.
std::string parameter_words(const std::string& pointer) {
    const auto part = pointer.find('/', 1);
    std::string words;
    for (const char letter : pointer.substr(part == std::string::npos ? 1 : part + 1))
        words += letter == '/' ? ", " : std::string(1, letter == '_' ? ' ' : letter);
    return capital(words);
}

/// No line breaks in it: neither at a space nor after a minus.
std::string unbroken(const std::string& words) {
    constexpr std::string_view no_break = "\xC2\xA0", minus = "\xE2\x88\x92";
    std::string kept;
    for (std::size_t at = 0; at < words.size(); ++at) {
        const bool is_thin = words.compare(at, thin_space.size(), thin_space) == 0;
        if (is_thin || words[at] == ' ')
            kept += no_break;
        else if (words[at] == '-')
            kept += minus;
        else
            kept += words[at];
        if (is_thin) at += thin_space.size() - 1;
    }
    return kept;
}

/// "2026-11-28 06:56 UTC" of what the record has.
std::string start_words(const std::string& utc) {
    constexpr std::size_t day = 10, minute = 16;
    if (utc.size() < minute || utc[day] != 'T') return utc;
    return utc.substr(0, day) + ' ' + utc.substr(day + 1, minute - day - 1) + "\xC2\xA0UTC";
}

std::string amount_words(const std::optional<double>& value, const std::string& unit) {
    if (!value) return std::string{no_number};
    if (unit == "s") return format_seconds(*value);
    if (!unit.empty()) return format_si(*value, unit);
    return *value == std::round(*value) && *value < 1e6 ? fmt::format("{:.0f}", *value)
           : *value >= 1e6                              ? format_si(*value, "")
                                                        : format_number(*value);
}

/// "iteration_s" as the window calls it.
std::string figure_words(std::string name, RunClock clock) {
    static const std::map<std::string_view, std::string_view> known{
        {"predicted_iteration_s", "Predicted iteration"},
        {"tokens_per_second", "Tokens/s of the machine"},
        {"block_flops", "Block FLOPs"},
        {"head_flops", "Head FLOPs"},
        {"transfer_bytes", "Bytes of transfers"},
        {"all_reduce_bytes", "Bytes of all-reduces"},
        {"bytes", "Bytes sent"},
        {"busiest_line_bytes", "Busiest line, bytes"},
    };
    if (name == "iteration_s") return fmt::format("Iteration, {}", time_words(clock));
    if (name == "network_s") return time_title(clock);
    if (const auto found = known.find(name); found != known.end()) return std::string{found->second};
    if (name.ends_with("_s")) name = name.substr(0, name.size() - 2) + " time";
    std::replace(name.begin(), name.end(), '_', ' ');
    return capital(name);
}

/// Whether it tells of a better run, as in the window: not what this machine made of it, nor what another seed, or
/// another search for a plan, may change as much.
bool tells(const Figure& figure, std::size_t run) {
    constexpr double hardly = 0.01;
    if (figure.better == Better::neither || figure.unit == "tokens/s" || figure.name == "machine_s") return false;
    const auto &now = figure.values[run], &base = figure.values.front();
    if (!now || !base || *now == *base) return false;
    return figure.name.ends_with("_loss") ? !seeds_may_explain(*now, *base)
                                          : std::abs(*now - *base) >= hardly * std::abs(*base);
}

class ReportPage {
public:
    ReportPage(const std::vector<ReportRun>& runs, const ReportOptions& options) : runs_(runs), options_(options) {
        for (const auto& run : runs_) experiments_.push_back(parse_experiment(run.experiment_json).experiment);
        std::vector<Clock> clocks;
        for (const auto& one : experiments_) clocks.push_back(one.execution.clock);
        clock_ = run_clock(clocks);
        find_seeds();
        find_parameters();
        groups_ = report_groups(runs_, experiments_, read_);
    }

    std::string text() {
        add("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>{0}</title><style>{1}</style>"
            "</head><body>\n<h1>{0}</h1>\n",
            escaped(options_.title), page_style);
        if (!options_.question.empty()) add("<p><strong>Question:</strong> {}</p>\n", escaped(options_.question));
        out_ += verdict_html(runs_, experiments_, groups_, clock_,
                             [this](const auto& some, const auto& among) { return shared_words(some, among); });
        list();
        differences();
        figures();
        losses();
        idle();
        timelines();
        setup();
        repeat();
        std::string times;
        if (clock_ != RunClock::wall) times += " Network time is that of the drawn network.";
        if (clock_ != RunClock::network) times += " Wall-clock time passed while iterations ran.";
        add("<p class=\"faint\">Written by {}.{} Machine time is that of the machine that trained.</p>\n"
            "</body></html>\n",
            escaped(options_.program), times);
        return std::move(out_);
    }

private:
    void find_seeds() {
        std::vector<RankedRun> ranked;
        for (std::size_t i = 0; i < runs_.size(); ++i) ranked.push_back({&runs_[i].info, &experiments_[i]});
        const SeedGroups groups(ranked);
        for (std::size_t i = 0; i < runs_.size(); ++i) is_seed_.push_back(groups.are_seeds(0, i));
    }

    template <class... Values>
    void add(fmt::format_string<Values...> text, Values&&... values) {
        fmt::format_to(std::back_inserter(out_), text, std::forward<Values>(values)...);
    }
    void row(const Cells& cells, const char* cell = "td") {
        add("<tr>");
        for (const auto& text : cells) add("<{0}>{1}</{0}>", cell, escaped(text));
        add("</tr>\n");
    }
    void begin_table(const char* first) {
        Cells head{first};
        for (const auto& run : runs_)
            head.push_back(
                fmt::format("Run {}{}", run.info.id, runs_.size() > 1 && &run == &runs_.front() ? " (baseline)" : ""));
        add("<table>\n");
        row(head, "th");
    }
    /// Which parameters differ between the runs whose experiments can be read.
    void find_parameters() {
        std::vector<Json> documents;
        std::vector<const Plan*> plans;
        for (std::size_t i = 0; i < runs_.size(); ++i) {
            auto document = comparable_document(runs_[i].experiment_json, experiments_[i]);
            if (!document.is_object()) continue;
            documents.push_back(std::move(document));
            plans.push_back(&runs_[i].plan);
            read_.push_back(i);
        }
        parameters_ = differing_parameters(documents, plans);
        // A description is as long as the page; what runs are called stands above.
        std::erase_if(parameters_,
                      [](const auto& one) { return one.pointer == "/description" || one.pointer == "/name"; });
    }
    /// `one` of the runs whose experiments can be read.
    std::string value_in(const ParameterDifference& parameter, std::size_t one) const {
        const auto& value = parameter.values[one];
        return is_unused(parameter, one, runs_[read_[one]].plan) ? without_it
               : value                                           ? value_words(Json::parse(*value))
                                                                 : "none";
    }

    /// What it was trained with: no skip ratio where nothing was skipped.
    std::string told_value(const ParameterDifference& parameter, std::size_t one) const {
        return is_unused(parameter, one, runs_[read_[one]].plan) ? "0" : value_in(parameter, one);
    }
    bool tells_apart(const ParameterDifference& parameter) const {
        for (std::size_t one = 1; one < read_.size(); ++one)
            if (told_value(parameter, one) != told_value(parameter, 0)) return true;
        return false;
    }

    /// "Run 1, skip ratio 0.33, seed 1": what tells it from the others, in short words; else who planned it.
    std::string name_of(const ReportRun& run) const {
        constexpr std::size_t most_named = 3, most_letters = 24;
        const auto place = static_cast<std::size_t>(&run - runs_.data());
        const auto found = std::find(read_.begin(), read_.end(), place);
        std::string words = fmt::format("Run {}", run.info.id);
        std::size_t named = 0;
        for (std::size_t k = 0; k < parameters_.size() && found != read_.end() && named < most_named; ++k) {
            const auto value = told_value(parameters_[k], static_cast<std::size_t>(found - read_.begin()));
            if (value.size() > most_letters || !tells_apart(parameters_[k])) continue;
            words += ", " + in_sentence(parameters_[k]) + ' ' + value;
            ++named;
        }
        return named > 0 ? words : words + ", " + run.info.planner;
    }
    static std::string in_sentence(const ParameterDifference& parameter) {
        auto words = parameter_words(parameter.pointer);
        words[0] = static_cast<char>(std::tolower(static_cast<unsigned char>(words[0])));
        return words;
    }

    /// " Only they have skip ratio 0.33 instead of 0.": what all of some runs have and no other has of those
    /// `among` which they are.
    std::string shared_words(const std::vector<std::size_t>& some, const std::vector<std::size_t>& among) const {
        constexpr std::size_t most_named = 3;
        const auto is_in = [](std::size_t run, const std::vector<std::size_t>& runs) {
            return std::find(runs.begin(), runs.end(), run) != runs.end();
        };
        std::vector<std::string> named;
        for (const auto& parameter : parameters_) {
            std::set<std::string> theirs, others;
            for (std::size_t one = 0; one < read_.size(); ++one) {
                if (!is_in(read_[one], among)) continue;
                const bool is_one = is_in(read_[one], some);
                (is_one ? theirs : others).insert(told_value(parameter, one));
            }
            if (theirs.size() != 1 || others.empty() || others.contains(*theirs.begin())) continue;
            named.push_back(
                fmt::format("{} {} instead of {}", in_sentence(parameter), *theirs.begin(), fmt::join(others, " or ")));
        }
        if (named.empty()) return {};
        const std::size_t more = named.size() > most_named ? named.size() - most_named : 0;
        named.resize(named.size() - more);
        return fmt::format(" Only {} {}{}.", some.size() == 1 ? "it has" : "they have", fmt::join(named, ", "),
                           more > 0 ? fmt::format(" and {} more", more) : "");
    }

    void list() {
        add("<h2>Runs</h2>\n");
        begin_table("");
        const auto line = [&](const char* name, auto&& words) {
            Cells cells{name};
            for (const auto& run : runs_) cells.push_back(words(run));
            row(cells);
        };
        line("Experiment", [](const ReportRun& r) { return r.info.name; });
        line("Planner", [](const ReportRun& r) { return r.info.planner; });
        line("State", [](const ReportRun& r) { return r.state; });
        line("Iterations",
             [](const ReportRun& r) { return fmt::format("{} of {}", r.info.iterations_done, r.info.iterations); });
        line("Seed", [](const ReportRun& r) { return std::to_string(r.info.seed); });
        line("Started", [](const ReportRun& r) { return start_words(r.info.started_utc); });
        notes();
        add("</table>\n");
    }

    /// As they were written, line by line.
    void notes() {
        if (std::all_of(runs_.begin(), runs_.end(), [](const ReportRun& run) { return run.info.note.empty(); })) return;
        add("<tr><td>Note</td>");
        for (const auto& run : runs_) add("<td>{}</td>", lines_of(run.info.note));
        add("</tr>\n");
    }
    static std::string lines_of(std::string_view note) {
        std::string html;
        while (note.ends_with('\n')) note.remove_suffix(1);
        for (std::size_t at = 0; at < note.size();) {
            const auto end = std::min(note.find('\n', at), note.size());
            html += (at > 0 ? "<br>" : "") + escaped(std::string(note.substr(at, end - at)));
            at = end + 1;
        }
        return html;
    }

    void differences() {
        if (runs_.size() < 2) return;
        add("<h2>What was different</h2>\n");
        for (std::size_t i = 0; i < runs_.size(); ++i)
            if (std::find(read_.begin(), read_.end(), i) == read_.end())
                add("<p>Run {} is left out: its experiment cannot be read.</p>\n", runs_[i].info.id);
        if (parameters_.empty()) {
            if (read_.size() > 1) add("<p>Nothing: the experiments are the same.</p>\n");
            return;
        }
        begin_table("Parameter");
        for (const auto& one : parameters_) {
            Cells cells(1 + runs_.size(), std::string{no_number});
            cells[0] = parameter_words(one.pointer);
            for (std::size_t i = 0; i < read_.size(); ++i) cells[1 + read_[i]] = value_in(one, i);
            row(cells);
        }
        add("</table>\n");
    }

    /// `judged`: with whether each is better.
    void figure_rows(const std::vector<Figure>& all, bool judged) {
        for (const auto& figure : all) {
            if (std::none_of(figure.values.begin(), figure.values.end(), [](const auto& one) { return !!one; }))
                continue;
            add("<tr><td>{}</td>", escaped(figure_words(figure.name, clock_)));
            for (std::size_t i = 0; i < figure.values.size(); ++i) {
                add("<td>{}", escaped(unbroken(amount_words(figure.values[i], figure.unit))));
                if (i > 0 && figure.ratios[i] && *figure.ratios[i] != 0) change(figure, i, judged);
                add("</td>");
            }
            add("</tr>\n");
        }
    }

    /// More iterations may lower a loss by themselves.
    bool is_of_equal_work(const Figure& figure, std::size_t run) const {
        return !figure.name.ends_with("_loss") || runs_[run].info.iterations_done == runs_.front().info.iterations_done;
    }

    /// Against the baseline's, with whether it is better: of those that are judged together.
    void change(const Figure& figure, std::size_t run, bool judged) {
        const auto words = escaped(unbroken("(" + format_change(*figure.ratios[run]) + ")"));
        const auto is_in = [this](std::size_t one) {
            return std::find(groups_.judged.begin(), groups_.judged.end(), one) != groups_.judged.end();
        };
        const bool both = groups_.is_same_work && is_in(0) && is_in(run);
        if (!judged || is_seed_[run] || !both || !is_of_equal_work(figure, run) || !tells(figure, run))
            return add(" {}", words);
        const bool is_less = *figure.values[run] < *figure.values.front();
        const bool is_better = is_less == (figure.better == Better::smaller);
        marks_ = true;
        add(" <span class=\"{0}\">{1}\xC2\xA0{0}</span>", is_better ? "better" : "worse", words);
    }

    void figures() {
        add("<h2>Results and what they took</h2>\n");
        std::vector<RunInfo> infos;
        std::vector<std::optional<Accounting>> totals;
        for (const auto& run : runs_) {
            infos.push_back(run.info);
            totals.push_back(run.iteration ? std::optional{account_run(*run.iteration, run.info)} : std::nullopt);
        }
        auto before = std::exchange(out_, {});  // whether the table marks anything is known once it is written
        begin_table("");
        auto own = compare_figures(infos);
        std::erase_if(own, [](const Figure& figure) { return figure.name == "iterations_done"; });  // as told above
        figure_rows(own, true);
        auto accounts = accounting_figures(totals);
        std::erase_if(accounts, [](const Figure& figure) { return figure.name == "machine_s"; });
        figure_rows(accounts, false);  // what it took is neither
        add("</table>\n");
        if (marks_)
            before +=
                "<p class=\"faint of-table\">Better and worse: than the baseline, by more than another seed or another "
                "search for a plan may change.</p>\n";
        out_ = std::move(before += out_);
    }

    std::vector<std::vector<CurvePoint>> curves_of(const std::string& metric) const {
        std::vector<std::vector<CurvePoint>> curves;
        for (const auto& run : runs_)
            curves.push_back(curve_points(run.metrics, metric, options_.x, run.iteration ? &*run.iteration : nullptr));
        return curves;
    }

    void losses() {
        add("<h2>Losses</h2>\n");
        for (const auto& [metric, words] : {std::pair{"loss", "Training loss (nats a token)"},
                                            std::pair{"validation_loss", "Validation loss (nats a token)"}}) {
            const auto curves = curves_of(metric);
            std::vector<ChartLine> lines;
            for (std::size_t i = 0; i < runs_.size(); ++i)
                if (!curves[i].empty())
                    lines.push_back({name_of(runs_[i]), static_cast<int>(runs_[i].info.id - 1), curves[i]});
            if (lines.empty()) continue;
            const auto axis = capital(options_.x == WorkAxis::network_time ? time_words(clock_) : describe(options_.x));
            out_ += "<figure>" + chart_svg(lines, {.x_label = axis, .y_label = words, .x = options_.x}) + "</figure>\n";
            race(curves, words);
        }
    }

    /// How far each had to go to the worst last value.
    void race(std::vector<std::vector<CurvePoint>> curves, const char* words) {
        // Those of the verdict alone: another model, or other data, has other losses.
        if (!groups_.is_same_work) return;
        const auto& judged = groups_.judged;
        for (std::size_t i = 0; i < curves.size(); ++i)
            if (std::find(judged.begin(), judged.end(), i) == judged.end()) curves[i].clear();
        std::vector<std::size_t> own(curves.size());
        for (std::size_t i = 0; i < own.size(); ++i) own[i] = i;
        const auto race = loss_race(curves, own);
        if (runs_.size() < 2 || !race.common_x) return;
        begin_table(words);
        Cells reach{fmt::format("Reaches {} at", format_number(*race.target))}, share{"… of the baseline's"},
            value{"At " + format_work(*race.common_x, options_.x)};
        for (const auto& group : race.groups) {
            reach.push_back(group.to_target.mean ? format_work(*group.to_target.mean, options_.x)
                            : group.by           ? "by " + format_work(*group.by, options_.x)
                                                 : std::string{no_number});
            share.push_back(group.to_target.share ? format_number(*group.to_target.share) : std::string{});
            value.push_back(group.at_common.mean ? format_number(*group.at_common.mean) : std::string{no_number});
        }
        row(reach);
        for (const auto* cells : {&share, &value})
            if (compares(*cells)) row(*cells);
        add("</table>\n");
    }

    /// Whether any run beside the baseline has a value in it.
    static bool compares(const Cells& cells) {
        return std::any_of(cells.begin() + 2, cells.end(),
                           [](const std::string& cell) { return !cell.empty() && cell != no_number; });
    }

    void idle() {
        std::vector<Json> shares;
        bool are_means = true;  // those of older records are the last iteration's
        for (const auto& run : runs_) {
            const auto summary = read_or_null(run.summary_json);
            are_means = are_means && summary.is_object() && summary.contains("idle_iterations");
            shares.push_back(summary.is_object() ? summary.value("idle_by_cause", Json{}) : Json{});
        }
        if (std::none_of(shares.begin(), shares.end(), [](const Json& one) { return one.is_object(); })) return;
        add("<h2>Why nodes idle{}</h2>\n", are_means ? ", mean of the iterations" : "");
        begin_table("Share of the nodes' time");
        for (std::size_t c = 0; c < idle_causes; ++c) {
            const std::string name(to_string(static_cast<IdleCause>(c)));
            Cells cells{std::string(describe(static_cast<IdleCause>(c)))};
            bool any = false;
            for (const auto& one : shares) {
                const auto found = one.is_object() ? one.find(name) : one.end();
                const bool has = one.is_object() && found != one.end() && found->is_number();
                cells.push_back(has ? format_percent(found->get<double>()) : std::string{no_number});
                any = any || (has && found->get<double>() > 0);
            }
            if (any) row(cells);
        }
        add("</table>\n");
    }

    /// Seconds until the first iteration that the record has spans of ended; 0: it has none.
    static double end_s(const ReportRun& run) {
        double end = 0;
        for (const auto& one : run.spans)
            if (one.iteration == run.spans.front().iteration && std::isfinite(one.span.end_s))
                end = std::max(end, one.span.end_s);
        return end;
    }
    /// One scale for all timelines, as long as each then fills half of the width; none: each has its own.
    std::optional<double> common_extent_s() const {
        constexpr double least_filled = 0.5;
        double longest = 0, shortest = std::numeric_limits<double>::infinity();
        for (const auto& run : runs_)
            if (const double end = end_s(run); end > 0) {
                longest = std::max(longest, end);
                shortest = std::min(shortest, end);
            }
        if (longest > 0 && (clock_ == RunClock::mixed || shortest < least_filled * longest)) return std::nullopt;
        return longest;
    }

    /// Whether a timeline below tells by the same colours and lines: one legend is enough then.
    bool tells_later(std::size_t run) const {
        const auto has_reductions = [](const ReportRun& one) {
            return std::any_of(one.spans.begin(), one.spans.end(),
                               [](const auto& s) { return s.span.kind == SpanKind::transfer_reduction; });
        };
        const auto tells = [&](const ReportRun& other) {
            return other.problem && !other.spans.empty() &&
                   other.drawn.stages.size() == runs_[run].drawn.stages.size() &&
                   has_reductions(other) == has_reductions(runs_[run]);
        };
        return std::any_of(runs_.begin() + static_cast<std::ptrdiff_t>(run) + 1, runs_.end(), tells);
    }

    void timelines() {
        if (std::all_of(runs_.begin(), runs_.end(), [](const ReportRun& run) { return run.spans.empty(); })) return;
        add("<h2>Timelines of one iteration</h2>\n");
        const auto extent_s = common_extent_s();
        if (!extent_s) add("<p class=\"faint\">Each fills the width: a second is not as long in all of them.</p>\n");
        for (std::size_t i = 0; i < runs_.size(); ++i) {
            const auto& run = runs_[i];
            if (!run.problem || run.spans.empty()) continue;
            out_ += "<figure>" +
                    timeline_svg(run.spans, *run.problem, run.drawn,
                                 {.title = fmt::format("{}: run {}, iteration {}", run.info.name, run.info.id,
                                                       run.spans.front().iteration + 1),
                                  .clock = run_clock({experiments_[i].execution.clock}),
                                  .extent_s = extent_s.value_or(0),
                                  .has_legend = !tells_later(i),
                                  .lettering = options_.lettering}) +
                    "</figure>\n";
        }
    }

    /// What is alike is told once, the rest run by run.
    void setup() {
        const auto all = setup_rows(runs_);
        if (all.empty()) return;
        add("<h2>Machine and versions</h2>\n");
        const auto is_same = [](const SetupRow& row) { return row.is_same; };
        if (std::any_of(all.begin(), all.end(), is_same)) {
            add("<table class=\"pairs\">\n");
            row({"", runs_.size() > 1 ? "All runs" : fmt::format("Run {}", runs_.front().info.id)}, "th");
            for (const auto& one : all)
                if (one.is_same) row({one.name, one.values.front()});
            add("</table>\n");
        }
        if (std::all_of(all.begin(), all.end(), is_same)) return;
        begin_table("");
        for (const auto& one : all) {
            if (one.is_same) continue;
            Cells cells{one.name};
            for (const auto& value : one.values) cells.push_back(value.empty() ? std::string{no_number} : value);
            row(cells);
        }
        add("</table>\n");
    }

    void repeat() {
        add("<h2>How to repeat</h2>\n");
        for (const auto& run : runs_) {
            add("<h3>{}</h3>\n<pre>", escaped(name_of(run)));
            for (const auto& line : run.repeat) add("{}\n", escaped(line));
            add("</pre>\n");
            const auto json = read_or_null(run.experiment_json);
            if (json.is_null()) continue;
            add("<details class=\"long\"><summary>Experiment, as it was frozen</summary>");
            preformatted(json.is_discarded() ? run.experiment_json
                                             : json.dump(2, ' ', false, Json::error_handler_t::replace));
            add("</details>\n");
        }
    }

    /// Line by line: `escaped` leaves line ends out.
    void preformatted(const std::string& text) {
        add("<pre>");
        for (std::size_t at = 0; at < text.size();) {
            const auto end = std::min(text.find('\n', at), text.size());
            add("{}\n", escaped(text.substr(at, end - at)));
            at = end + 1;
        }
        add("</pre>");
    }

    RunClock clock_ = RunClock::network;
    bool marks_ = false;  ///< something is better or worse
    const std::vector<ReportRun>& runs_;
    const ReportOptions& options_;
    std::vector<Experiment> experiments_;          ///< of the runs
    std::vector<bool> is_seed_;                    ///< [run]: of the first one's experiment
    std::vector<ParameterDifference> parameters_;  ///< that differ; values of those that were read
    std::vector<std::size_t> read_;                ///< runs whose experiments can be
    ReportGroups groups_;
    std::string out_;
};

}  // namespace

std::string report_html(const std::vector<ReportRun>& runs, const ReportOptions& options) {
    return ReportPage(runs, options).text();
}

}  // namespace skippipe
