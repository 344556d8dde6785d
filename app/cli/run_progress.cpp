// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/run_progress.h"

#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <unistd.h>

#include "app/cli/verbs.h"
#include "core/analysis/clock_words.h"
#include "core/base/format.h"

namespace skippipe::cli {

namespace {

/// The figures as they come: one line that is rewritten on a terminal, a line every tenth otherwise.
class TerminalProgress {
public:
    TerminalProgress(int iterations, Clock clock, const Problem& problem)
        : iterations_(iterations), clock_(clock), problem_(problem), terminal_(::isatty(STDOUT_FILENO) != 0) {}

    /// What they print outlives the one that made them.
    static RunProgress hooks(std::shared_ptr<TerminalProgress> self) {
        RunProgress progress;
        progress.started = [](RunId run) { std::cout << fmt::format("run {}\n", run) << std::flush; };
        progress.preparing = [self](const protocol::Preparing& m) {
            self->clear();
            std::cout << fmt::format("{}: {:.0f} %{}", m.what, 100 * m.share, self->terminal_ ? "" : "\n")
                      << std::flush;
        };
        progress.ready = [self](const protocol::Hello& m) {
            self->clear();
            if (m.blas_gflops > 0)
                std::cout << fmt::format("data: {}; matrix products at {:.0f} GFLOP/s a core\n", m.data, m.blas_gflops)
                          << std::flush;
            if (m.blas_gflops > 0 && m.blas_gflops < 10)
                std::cerr << "warning: matrix products are very slow here: a reference BLAS is in use. Install "
                             "libopenblas0-pthread and start again\n";
        };
        progress.validated = [self](const protocol::Validated& m) {
            self->clear();
            const auto bits =
                m.result.bits_per_byte > 0 ? fmt::format(", {:.3f} bits per byte", m.result.bits_per_byte) : "";
            std::cout << fmt::format("validation after {} iterations: loss {:.4f}{}\n", m.iterations_done,
                                     m.result.loss_nats, bits)
                      << std::flush;
        };
        progress.iterated = [self](const protocol::Iterated& m) { self->show(m); };
        progress.recovered = [self](const protocol::Recovered& m) {
            if (!self->terminal_ && ++self->recoveries_ > 20) return;  // the log has them all
            self->clear();
            std::cout << fmt::format("iteration {}: {}\n", m.iteration + 1, describe(m.report, self->problem_))
                      << std::flush;
        };
        progress.rejoined = [self](const protocol::Rejoined& m) {
            if (!self->terminal_ && ++self->recoveries_ > 20) return;
            self->clear();
            std::cout << fmt::format("iteration {}: {}\n", m.iteration + 1, describe(m.report, self->problem_))
                      << std::flush;
        };
        progress.went_back = [self](const protocol::WentBack& m) {
            self->clear();
            std::cout << describe(m) << std::endl;
        };
        progress.regrouped = [self](const protocol::Regrouped& m) {
            self->clear();
            std::cout << describe(m.report, self->problem_) << std::endl;
        };
        progress.plan_switched = [self](const PlanChange& change) {
            self->clear();
            std::cout << fmt::format("from iteration {} on a new plan: {}\n", change.iteration + 1, change.why)
                      << std::flush;
        };
        progress.paused = [self](bool paused) {
            self->clear();
            std::cout << (paused ? "paused: `skippipe resume` lets it go on\n" : "goes on\n") << std::flush;
        };
        progress.extended = [self](int iterations) {
            self->clear();
            self->iterations_ = iterations;
            std::cout << fmt::format("extended to {} iterations\n", iterations) << std::flush;
        };
        progress.warned = [self](const Fault& fault) {
            self->clear();
            report({fault}, false);
        };
        return progress;
    }

private:
    void clear() const {
        if (terminal_) std::cout << "\r\033[K";
    }
    void show(const protocol::Iterated& m) {
        const int done = m.iteration + 1;
        if (!terminal_ && done % std::max(1, iterations_ / 10) != 0 && done != iterations_) return;
        const double left_s = m.machine_s / done * (iterations_ - done);
        const int filled = 24 * done / std::max(1, iterations_);
        std::string bar;
        for (int i = 0; i < 24; ++i) bar += i < filled ? "█" : "░";
        clear();
        std::cout << fmt::format("{} {}/{}", bar, done, iterations_);
        if (m.result.tokens > 0)
            std::cout << fmt::format("  loss {:.3f}  {:.0f} tokens/s here",
                                     m.result.loss_sum_nats / static_cast<double>(m.result.tokens),
                                     static_cast<double>(m.tokens) / std::max(1e-9, m.machine_s));
        std::cout << fmt::format("  {} {}  {} left here{}", time_words(run_clock({clock_})),
                                 format_seconds(m.offset_s + m.iteration_s), format_seconds(left_s),
                                 terminal_ ? "" : "\n")
                  << std::flush;
        if (terminal_ && done == iterations_) std::cout << '\n';
    }

    int iterations_;
    Clock clock_;
    Problem problem_;
    bool terminal_;
    int recoveries_ = 0;
};

void print_line(const nlohmann::ordered_json& json) { std::cout << json_line(json) << std::endl; }

}  // namespace

RunProgress terminal_progress(int iterations, Clock clock, const Problem& problem) {
    return TerminalProgress::hooks(std::make_shared<TerminalProgress>(iterations, clock, problem));
}

RunProgress json_progress(double memory_bytes) {
    RunProgress progress;
    progress.started = [memory_bytes](RunId run) {
        print_line({{"run", run}, {"state", "running"}, {"memory_bytes", memory_bytes}});
    };
    progress.validated = [](const protocol::Validated& m) {
        print_line({{"iterations_done", m.iterations_done},
                    {"validation_loss", m.result.loss_nats},
                    {"bits_per_byte", m.result.bits_per_byte}});
    };
    progress.iterated = [](const protocol::Iterated& m) {
        nlohmann::ordered_json line{{"iteration", m.iteration}, {"iteration_seconds", m.iteration_s}};
        line["stage_tokens"] = m.result.stage_tokens;
        if (m.result.tokens > 0) line["loss"] = m.result.loss_sum_nats / static_cast<double>(m.result.tokens);
        print_line(line);
    };
    progress.recovered = [](const protocol::Recovered& m) {
        const auto& r = m.report;
        print_line({{"iteration", m.iteration},
                    {"lost_nodes", r.nodes},
                    {"cut_links", r.links},
                    {"lost_s", r.lost_s},
                    {"detected_s", r.detected_s},
                    {"redone_forwards", r.redone_forwards},
                    {"redone_backwards", r.redone_backwards},
                    {"lost_gradients", r.lost_gradients},
                    {"dropped_microbatches", r.dropped},
                    {"begun_again", !r.abandoned.empty()}});
    };
    progress.rejoined = [](const protocol::Rejoined& m) {
        print_line({{"iteration", m.iteration},
                    {"back_s", m.at_s},
                    {"joined_nodes", m.report.nodes},
                    {"refetching_s", m.report.refetching_s}});
    };
    progress.went_back = [](const protocol::WentBack& m) {
        print_line({{"went_back_to", m.position.iterations_done},
                    {"lost_iterations", m.lost_iterations},
                    {"lost_s", m.lost_s},
                    {"why", m.why}});
    };
    progress.regrouped = [](const protocol::Regrouped& m) {
        const auto& r = m.report;
        print_line(
            {{"iterations_done", r.iterations_done},
             {"lost_ranks", r.lost},
             {"joined_ranks", r.joined},
             {"how", r.how},
             {"lost_work_s", r.lost_work_s},
             {"detection_s", r.detection_s},
             {"quiet_s", r.quiet_s},
             {"meeting_s", r.meeting_s},
             {"planning_s", r.planning_s},
             {"connecting_s", r.connecting_s},
             {"fetching_s", r.fetching_s},
             {"goes_on", r.goes_on},
             {"redone_forwards", r.redone_forwards},
             {"redone_backwards", r.redone_backwards},
             {"lost_gradients", r.lost_gradients},
             {"dropped", r.dropped},
             {"rebuilt_stages", r.rebuilt},
             {"stages_from_neighbours", r.from_neighbours},
             {"stages_passed_over", r.passed_over},
             {"waits_for_stage", r.waits_for < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(r.waits_for)},
             {"waits_at_most_s", r.waits_s}});
    };
    progress.plan_switched = [](const PlanChange& change) {
        print_line({{"iteration", change.iteration}, {"new_plan", change.why}});
    };
    progress.checkpointed = [](const protocol::Checkpointed& m) {
        print_line(
            {{"checkpoint", m.iterations_done}, {"bytes", m.bytes}, {"held_s", m.held_s}, {"seconds", m.seconds}});
    };
    progress.extended = [](int iterations) { print_line({{"extended_to", iterations}}); };
    progress.paused = [](bool paused) { print_line({{"paused", paused}}); };
    progress.warned = [](const Fault& fault) { print_line({{"warning", to_json(Faults{fault}).front()}}); };
    return progress;
}

}  // namespace skippipe::cli
