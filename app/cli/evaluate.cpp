// SPDX-License-Identifier: GPL-3.0-or-later
#include <chrono>
#include <cmath>
#include <iostream>
#include <optional>
#include <set>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "app/cli/planning.h"
#include "app/cli/verbs.h"
#include "core/analysis/frozen_run.h"
#include "core/analysis/omissions.h"
#include "core/base/format.h"
#include "core/experiment/io.h"
#include "core/experiment/paths.h"
#include "core/record/checkpoints.h"
#include "core/run/checkpoint_store.h"
#include "core/run/worker_group.h"
#include "core/tokenizer/tokenizer.h"

namespace skippipe::cli {

namespace {

constexpr double same_loss = 1e-4;  ///< relative; ranks of a run may sum in another order

struct EvaluateOptions {
    std::string run, weights, beside, beside_weights, omit = "all", base_dir;
    std::uint64_t seed = 1;
    int samples = 64, windows = 0, threads = 0;
    bool progress = false;
};

/// A run's model, and where its weights and its data lie.
struct Subject {
    RunInfo run;
    FrozenRun frozen;
    std::string weights;     ///< for people: a file, or a checkpoint's folder
    std::string checkpoint;  ///< the same folder; empty: a file
    std::string base_dir;
    std::optional<double> recorded_loss;  ///< the validation that the run has with these weights
};

/// What a subject's validations came to.
struct Result {
    RunInfo run;
    Evaluation evaluation;
    std::optional<double> recorded_loss;  ///< as the subject's, where the same windows were read
};

/// Faults of the weights at the option that named them. The model is the run's: only the weights can be others.
template <class Work>
void at_option(const char* option, RunId run, const Work& work) {
    try {
        work();
    } catch (const InputError& error) {
        auto faults = error.faults();
        for (auto& fault : faults) {
            if (fault.pointer != "/training/initial_weights" || fault.severity != Fault::Severity::error) continue;
            fault.pointer = option;
            fault.remedy = fmt::format(
                "Name what `skippipe run --save-weights FILE` wrote for run {}, or leave {} out for its newest "
                "checkpoint",
                run, option);
        }
        throw InputError(std::move(faults));
    }
}

/// The newest checkpoint that is whole.
void take_checkpoint(Reader& reader, const std::filesystem::path& record, const char* option, Subject& subject) {
    const auto run = subject.run.id;
    if (list_checkpoints(record, run).empty())
        throw InputError(option, fmt::format("the weights of run {} are not named, and it has no checkpoint", run),
                         "the record keeps losses, not weights",
                         fmt::format("Train with `skippipe run --save-weights FILE` and give {} FILE, or with "
                                     "training.checkpoint_every",
                                     option));
    Faults passed_over;
    const auto found = [&] {
        try {
            return newest_checkpoint(record, subject.run, reader.experiment_json(run), passed_over);
        } catch (const InputError&) {
            passed_over.insert(
                passed_over.begin(),
                {option, fmt::format("the weights of run {} are not named, and no checkpoint of it can be used", run),
                 "the newest one that is whole would be taken",
                 fmt::format("Give {} FILE, or train again with `skippipe run --save-weights FILE`", option)});
            throw InputError(passed_over);
        }
    }();
    report(passed_over, false);
    subject.weights = subject.checkpoint = std::filesystem::absolute(found.folder).string();
    if (subject.base_dir.empty()) subject.base_dir = found.manifest.base_dir;
    for (const auto& metric : reader.metrics(run))
        if (metric.name == "validation_loss" && metric.iteration == found.manifest.position.iterations_done)
            subject.recorded_loss = metric.value;
}

/// Files that lie in another folder now have their names there.
void name_alone(DataSpec& data) {
    const auto shorten = [](std::string& path) {
        if (path.starts_with('/')) path = std::filesystem::path(path).filename().string();
    };
    shorten(data.path);
    shorten(data.tokenizer);
    for (auto& file : data.files) shorten(file.path);
}

/// One process computes it all, whatever the run was made of.
Subject subject_of(Reader& reader, const Context& context, const std::string& name, const std::string& weights,
                   const char* option, const EvaluateOptions& options) {
    Subject subject{.run = find_run(reader, name), .base_dir = options.base_dir};
    subject.frozen = read_frozen(reader, subject.run.id);
    auto& experiment = subject.frozen.experiment;
    if (experiment.execution.compute == Compute::cost)
        throw InputError("RUN", fmt::format("run {} computed nothing", subject.run.id),
                         "its experiment says compute: cost, so it has no weights",
                         "Evaluate a run that trained (execution.compute: torch)");
    experiment.training.initial_weights.clear();
    if (!options.base_dir.empty()) name_alone(experiment.data);
    if (weights.empty()) {
        take_checkpoint(reader, context.record, option, subject);
    } else {
        subject.weights = experiment.training.initial_weights = std::filesystem::absolute(weights).string();
        subject.recorded_loss = subject.run.last_validation_loss;
    }
    subject.base_dir = std::filesystem::absolute(subject.base_dir.empty() ? "." : subject.base_dir).string();
    experiment.execution.ranks = 1;
    experiment.execution.clock = Clock::virtual_time;
    experiment.execution.transport = Transport::local;
    for (auto& node : experiment.topology.nodes) node.rank.reset();
    if (options.windows > 0) experiment.data.validation_samples = options.windows;
    at_option(option, subject.run.id, [&] {
        require_files(experiment, subject.base_dir);
        tokenise(experiment.data, subject.base_dir, experiment.model.vocabulary, [](const std::string& what, double) {
            if (interrupted()) throw std::runtime_error("stopped while " + what);
        });
    });
    return subject;
}

/// "all", or the stages of one set.
std::vector<std::vector<int>> sets_of(const EvaluateOptions& options, int stages) {
    if (options.omit == "all") return choose_omissions(stages, options.samples, options.seed);
    std::set<int> set;
    std::istringstream text(options.omit);
    for (std::string part; std::getline(text, part, ',');) {
        std::size_t used = 0;
        int stage = -1;
        try {
            stage = std::stoi(part, &used);
        } catch (const std::exception&) {
            used = std::string::npos;
        }
        if (used != part.size() || stage < 0 || stage >= stages)
            throw InputError("--omit", fmt::format("\"{}\" is no stage", part),
                             fmt::format("the model has stages 0 to {}", stages - 1),
                             "Use `all`, or stages with commas between them: --omit 2,4");
        set.insert(stage);
    }
    if (set.empty()) throw InputError("--omit", "no stage", "nothing would be left out", "Use `all`, or --omit 2,4");
    return {{}, {set.begin(), set.end()}};
}

/// How far it is: on one line of a terminal that is rewritten, or, for programs, a line of JSON for each percent.
class Progress {
public:
    enum class Shows { nothing, terminal, lines };
    explicit Progress(Shows shows) : shows_(shows) {}
    ~Progress() {
        if (shows_ == Shows::terminal) std::cerr << "\r\033[K";
    }
    void show(RunId run, const protocol::Preparing& m) {
        if (shows_ == Shows::nothing) return;
        const bool begins = m.what != what_;
        if (begins) what_ = m.what, began_ = Clock::now();
        const int percent = static_cast<int>(100 * m.share);
        if (shows_ == Shows::lines) {
            if (begins || percent != percent_)
                std::cout << json_line({{"run", run}, {"what", m.what}, {"share", m.share}}) << std::endl;
            percent_ = percent;
            return;
        }
        const double elapsed_s = std::chrono::duration<double>(Clock::now() - began_).count();
        std::cerr << fmt::format("\r\033[Krun {}: {} {:.0f} %", run, m.what, 100 * m.share);
        if (m.share > 0.01) std::cerr << fmt::format(", {} left", format_seconds(elapsed_s / m.share - elapsed_s));
        std::cerr << std::flush;
    }

private:
    using Clock = std::chrono::steady_clock;
    Shows shows_;
    std::string what_;
    int percent_ = -1;
    Clock::time_point began_ = Clock::now();
};

Progress::Shows progress_of(const EvaluateOptions& options, const Context& context) {
    if (options.progress) return Progress::Shows::lines;
    return !context.json && ::isatty(STDERR_FILENO) != 0 ? Progress::Shows::terminal : Progress::Shows::nothing;
}

InputError lost_worker(RunId run, const std::string& how) {
    return {"worker",
            fmt::format("the worker that evaluates run {} {}", run, how.empty() ? "ended without a word" : how),
            "no loss is known, and the record stays as it was",
            "Look at its messages above; if memory ran out, use fewer threads (--threads)"};
}

/// Starts a worker and waits for what it finds. Nothing where it was stopped.
std::optional<protocol::Evaluated> compute(const Subject& subject, const std::vector<std::vector<int>>& sets,
                                           const EvaluateOptions& options, Progress::Shows shows) {
    const auto& frozen = subject.frozen;
    const protocol::Job job{.experiment_json = to_text(frozen.experiment),
                            .plan_json = to_json(frozen.plan, frozen.problem, nullptr).dump(),
                            .base_dir = subject.base_dir,
                            .threads = options.threads,
                            .start_from = subject.checkpoint,
                            .omitted = sets};
    WorkerGroup worker(job, 1, false);
    std::optional<protocol::Evaluated> found;
    Progress progress(shows);
    protocol::Message message;
    for (bool stopping = false;;) {
        if (interrupted() && !std::exchange(stopping, true)) worker.send(protocol::Stop{});
        const auto read = worker.read(message, 0.2);
        if (read == RankGroup::Read::closed) throw lost_worker(subject.run.id, worker.wait(1));
        if (read == RankGroup::Read::timeout) continue;
        if (const auto* preparing = std::get_if<protocol::Preparing>(&message))
            progress.show(subject.run.id, *preparing);
        if (auto* evaluated = std::get_if<protocol::Evaluated>(&message)) found = std::move(*evaluated);
        if (const auto* failed = std::get_if<protocol::Failed>(&message)) throw InputError(failed->faults);
        if (std::holds_alternative<protocol::Done>(message)) break;
    }
    worker.wait(30);
    return found;
}

std::optional<Result> evaluate_one(const Subject& subject, const EvaluateOptions& options, Progress::Shows shows) {
    const int stages = static_cast<int>(subject.frozen.plan.stages.size());
    const auto sets = sets_of(options, stages);
    const auto found = compute(subject, sets, options, shows);
    if (!found) return std::nullopt;
    if (found->loss_nats.size() != sets.size())
        throw InputError("worker", fmt::format("{} losses for {} sets", found->loss_nats.size(), sets.size()),
                         "coordinator and worker must be of one build", "Rebuild both");
    Result result{subject.run,
                  {.weights = subject.weights,
                   .stages = stages,
                   .tokens = found->tokens,
                   .bytes_per_token = found->bytes_per_token,
                   .seed = options.seed,
                   .samples = options.samples},
                  options.windows == 0 ? subject.recorded_loss : std::nullopt};
    for (std::size_t i = 0; i < sets.size(); ++i) result.evaluation.losses.push_back({sets[i], found->loss_nats[i]});
    return result;
}

std::string number(double value) {
    return std::isfinite(value) && value < 1e4 ? fmt::format("{:.3f}", value) : format_number(value);
}

std::string count(double sets) { return sets < 1e6 ? fmt::format("{:.0f}", sets) : fmt::format("{:.1e}", sets); }

/// "4 of 6", "5 of 6, without stage 0".
std::string name_of(const KeptRow& row, int stages) {
    return fmt::format("{} of {}{}", row.kept, stages, row.without_stage_0 ? ", without stage 0" : "");
}

std::string change(const KeptRow& row, const std::vector<KeptRow>& rows) {
    if (rows.front().kept == row.kept) return "";
    return format_change(row.perplexity / rows.front().perplexity - 1);
}

void print(const std::vector<Result>& results) {
    std::vector<std::vector<std::string>> lines{{"stages kept", "sets"}};
    std::vector<std::vector<KeptRow>> rows;
    for (const auto& result : results) {
        rows.push_back(by_stages_kept(result.evaluation));
        const auto& loss = rows.back().front().loss_nats;
        std::cout << fmt::format("run {} ({}): {} tokens, all stages kept: loss {:.4f}\n", result.run.id,
                                 result.run.name, result.evaluation.tokens, loss);
        if (result.recorded_loss && std::abs(loss / *result.recorded_loss - 1) > same_loss)
            std::cerr << fmt::format("warning: run {} recorded {:.4f}: these are not the weights it had then\n",
                                     result.run.id, *result.recorded_loss);
        lines[0].push_back(results.size() > 1 ? fmt::format("run {}: perplexity", result.run.id) : "perplexity");
        lines[0].insert(lines[0].end(), {"least", "most", "against all kept"});
        if (result.evaluation.bytes_per_token > 0) lines[0].push_back("bits per byte");
    }
    for (std::size_t i = 0; i < rows.front().size(); ++i) {
        const auto& first = rows.front()[i];
        const auto sets = static_cast<double>(first.sets);
        auto& line = lines.emplace_back(
            std::vector<std::string>{name_of(first, results.front().evaluation.stages),
                                     sets < first.all_sets ? fmt::format("{:.0f} of {}", sets, count(first.all_sets))
                                                           : fmt::format("{:.0f}", sets)});
        for (std::size_t r = 0; r < rows.size(); ++r) {
            const auto& row = rows[r].at(i);
            line.insert(line.end(),
                        {number(row.perplexity), number(row.least), number(row.most), change(row, rows[r])});
            if (const auto bits = bits_per_byte(row.loss_nats, results[r].evaluation)) line.push_back(number(*bits));
        }
    }
    std::cout << "perplexity of held-out text, mean over the sets:\n" << table(lines);
}

nlohmann::ordered_json result_json(const Result& result) {
    const auto& evaluation = result.evaluation;
    const auto rows = by_stages_kept(evaluation);
    nlohmann::ordered_json json{{"run", result.run.id},
                                {"weights", evaluation.weights},
                                {"stages", evaluation.stages},
                                {"tokens", evaluation.tokens},
                                {"seed", evaluation.seed},
                                {"samples", evaluation.samples},
                                {"recorded_validation_loss", optional_number(result.recorded_loss)}};
    for (const auto& row : rows)
        json["stages_kept"].push_back({{"kept", row.kept},
                                       {"without_stage_0", row.without_stage_0},
                                       {"sets", row.sets},
                                       {"all_sets", row.all_sets},
                                       {"perplexity", row.perplexity},
                                       {"least", row.least},
                                       {"most", row.most},
                                       {"best", row.best},
                                       {"worst", row.worst},
                                       {"to_all_kept", row.perplexity / rows.front().perplexity - 1},
                                       {"loss", row.loss_nats},
                                       {"bits_per_byte", optional_number(bits_per_byte(row.loss_nats, evaluation))}});
    for (const auto& one : evaluation.losses)
        json["sets"].push_back(
            {{"omitted", one.omitted}, {"loss", one.loss_nats}, {"perplexity", perplexity(one.loss_nats)}});
    return json;
}

/// Nothing but the training is to differ between a run and its twin.
void require_comparable(const Subject& a, const Subject& b) {
    const auto x = with_absolute_paths(a.frozen.experiment, a.base_dir);
    const auto y = with_absolute_paths(b.frozen.experiment, b.base_dir);
    const auto refuse = [&](const char* what, const char* why) {
        throw InputError("--beside", fmt::format("run {} has {} than run {}", b.run.id, what, a.run.id), why,
                         "Choose a run of the same model and data, trained otherwise");
    };
    if (a.frozen.plan.stages.size() != b.frozen.plan.stages.size())
        refuse("another number of stages", "no row of the table would be of both");
    if (!(x.data == y.data) || x.model.sequence != y.model.sequence || x.model.vocabulary != y.model.vocabulary)
        refuse("other data", "perplexities of other text cannot be compared");
}

void evaluate(const EvaluateOptions& options, Context& context) {
    catch_interrupts();
    Reader reader(context.record);
    std::vector<Subject> subjects{subject_of(reader, context, options.run, options.weights, "--weights", options)};
    if (!options.beside.empty()) {
        subjects.push_back(
            subject_of(reader, context, options.beside, options.beside_weights, "--beside-weights", options));
        require_comparable(subjects[0], subjects[1]);
    }
    std::vector<Result> results;
    for (const auto& subject : subjects) {
        auto result = evaluate_one(subject, options, progress_of(options, context));
        if (!result) {
            std::cerr << "stopped: nothing was recorded\n";
            context.exit_code = run_failed;
            return;
        }
        results.push_back(std::move(*result));
    }
    if (options.omit == "all")
        for (const auto& result : results) reader.set_evaluation(result.run.id, result.evaluation);
    if (!context.json) return print(results);
    auto json = result_json(results.front());
    if (results.size() > 1) json["beside"] = result_json(results.back());
    std::cout << json_line(json) << '\n';
}

}  // namespace

void add_evaluate(CLI::App& app, Context& context) {
    auto options = std::make_shared<EvaluateOptions>();
    auto* verb =
        add_verb(app, context, "evaluate",
                 "Validate a trained model with stages left out: perplexity for every number of stages kept",
                 "  skippipe evaluate latest --omit all\n"
                 "  skippipe evaluate 3 --weights skip.safetensors --beside 4 --beside-weights full.safetensors\n"
                 "  skippipe evaluate 3 --weights model.safetensors --omit 2,4 --json");
    verb->add_option("RUN", options->run, "Number of the run, or `latest`")->required();
    verb->add_option("--weights", options->weights,
                     "Its weights: what `skippipe run --save-weights` wrote; default: its newest checkpoint");
    verb->add_option("--omit", options->omit,
                     "`all`: sets of every size, kept in the record; or the stages of one set: 2,4")
        ->capture_default_str();
    verb->add_option("--samples", options->samples,
                     "Sets evaluated of a size; all where there are no more, else drawn by the seed")
        ->capture_default_str()
        ->check(CLI::Range(1, 1'000'000));
    verb->add_option("--seed", options->seed, "Seed of what is drawn")
        ->check(CLI::Range(std::uint64_t{0}, most_seed))
        ->capture_default_str();
    verb->add_option("--windows", options->windows,
                     "Held-out windows instead of the experiment's (data.validation_samples)")
        ->check(CLI::Range(1, 100'000'000));
    verb->add_option("--beside", options->beside, "A second run to evaluate alike: its twin with the full pipeline");
    verb->add_option("--beside-weights", options->beside_weights,
                     "The weights of that run; default: its newest checkpoint");
    verb->add_option(
        "--base-dir", options->base_dir,
        "The folder that has the runs' data now, by relative paths or else by their files' names; default: "
        "where they were");
    verb->add_option("--threads", options->threads, "Workers; default: one a core; never changes the losses")
        ->check(CLI::Range(1, 1024));
    verb->add_flag("--progress", options->progress,
                   "Say how far it is on standard output, a line of JSON for each percent");
    verb->callback([options, &context] { evaluate(*options, context); });
}

}  // namespace skippipe::cli
