// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/cli/sweep_runner.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <iostream>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <unistd.h>

#include "app/cli/planning.h"
#include "core/base/format.h"
#include "core/experiment/io.h"
#include "core/run/checkpoint_store.h"

namespace skippipe::cli {
namespace {

namespace fs = std::filesystem;

constexpr double look_s = 0.05;

/// The folder of the points' files while they are trained; goes with it.
class PointFiles {
public:
    PointFiles() : folder_(fs::temp_directory_path() / fmt::format("skippipe-sweep-{}", ::getpid())) {
        fs::create_directories(folder_);
    }
    ~PointFiles() {
        std::error_code nobody_needs_it;
        fs::remove_all(folder_, nobody_needs_it);
    }
    PointFiles(const PointFiles&) = delete;
    PointFiles& operator=(const PointFiles&) = delete;

    std::string write(std::size_t index, const Experiment& experiment) const {
        const auto file = folder_ / fmt::format("point-{}.json", index + 1);
        write_file_atomically(file, to_text(experiment));
        return file.string();
    }

private:
    fs::path folder_;
};

class Sweep {
public:
    Sweep(const SweepJob& job, const std::vector<SweepPoint>& points, std::vector<SweepState>& states)
        : job_(job), points_(points), states_(states), began_(std::chrono::steady_clock::now()) {
        for (std::size_t i = 0; i < points.size(); ++i)
            if (!states[i].done && !states[i].taken) waiting_.push_back(i);
        todo_ = waiting_.size();
        std::reverse(waiting_.begin(), waiting_.end());
    }

    void run() {
        catch_interrupts();
        tag_done();
        while (!active_.empty() || (!waiting_.empty() && !interrupted())) {
            while (!waiting_.empty() && !interrupted() && active_.size() < static_cast<std::size_t>(job_.parallel))
                start();
            if (interrupted() && !told_) tell_all_to_stop();
            for (auto& one : active_) listen(one);
            std::erase_if(active_, [this](Active& one) { return has_ended(one); });
            show();
        }
        if (shown_) std::cerr << "\r\033[K";
    }

private:
    struct Active {
        std::size_t index = 0;
        std::unique_ptr<Subprocess> process;
    };

    void start() {
        const auto index = waiting_.back();
        waiting_.pop_back();
        auto& state = states_[index];
        const int threads =
            job_.threads > 0
                ? job_.threads
                : std::max(1, static_cast<int>(std::thread::hardware_concurrency()) / std::max(1, job_.parallel));
        std::vector<std::string> arguments{fs::read_symlink("/proc/self/exe").string()};
        if (state.resumes && can_resume(state.run)) {
            arguments.insert(arguments.end(), {"resume", std::to_string(state.run)});
        } else {
            state.run = 0;
            state.share = 0;
            arguments.insert(arguments.end(), {"run", files_.write(index, points_[index].experiment), "--threads",
                                               std::to_string(threads)});
        }
        arguments.insert(arguments.end(), {"--db", job_.record.string(), "--json"});
        active_.push_back({index, std::make_unique<Subprocess>(Subprocess::Options{
                                      .arguments = std::move(arguments),
                                      .environment = {},
                                      .error = Subprocess::Stream::none,
                                      .own_group = true,
                                  })});
    }

    /// One whose checkpoints cannot be used is begun anew.
    bool can_resume(RunId run) const try {
        Reader reader(job_.record);
        const auto info = reader.run(run);
        Faults passed_over;
        return info && !newest_checkpoint(job_.record, *info, reader.experiment_json(run), passed_over).folder.empty();
    } catch (const InputError& error) {
        auto fault = error.faults().front();
        fault.remedy = "It is begun anew, as another run";
        fault.severity = Fault::Severity::warning;
        report({fault}, false);
        return false;
    }

    void tell_all_to_stop() {
        told_ = true;
        for (auto& one : active_) one.process->signal(SIGTERM);
    }

    void listen(Active& one) {
        std::string line;
        while (one.process->read_line(line, look_s / static_cast<double>(active_.size())) == Subprocess::Read::data) {
            const auto said = nlohmann::json::parse(line, nullptr, false);
            if (said.is_object()) take(said, states_[one.index], points_[one.index].experiment);
            line.clear();
        }
    }

    static void take(const nlohmann::json& said, SweepState& state, const Experiment& experiment) {
        if (said.contains("run")) state.run = said["run"];
        if (said.contains("iteration") && said.contains("iteration_seconds"))
            state.share = (said["iteration"].get<double>() + 1) / std::max(1, experiment.training.iterations);
        if (said.contains("faults") && said["faults"].is_array() && !said["faults"].empty())
            state.fault = said["faults"].front().value("what", "");
    }

    bool has_ended(Active& one) {
        if (one.process->running()) return false;
        listen(one);
        auto& state = states_[one.index];
        const auto end = one.process->wait();
        if (!end.well() && state.fault.empty()) state.fault = end.describe();
        if (state.run == 0) return true;
        Reader reader(job_.record);
        take_end(reader.run(state.run), state);
        if (!job_.tag.empty()) tag(reader, state.run);
        return true;
    }

    /// The record says what came of it: a process whose run was stopped ends well, too.
    void take_end(const std::optional<RunInfo>& run, SweepState& state) {
        state.done = run && run->state == RunState::finished;
        if (state.done) state.share = 1, ++ended_;
        if (run && run->state == RunState::stopped && state.fault.empty())
            state.fault = fmt::format("run {} was stopped after {} of {} iterations", run->id, run->iterations_done,
                                      run->iterations);
    }

    /// What the record had before is of the sweep, too.
    void tag_done() const {
        if (job_.tag.empty()) return;
        Reader reader(job_.record);
        for (const auto& state : states_)
            if (state.done) tag(reader, state.run);
    }

    void tag(Reader& reader, RunId run) const {
        const auto info = reader.run(run);
        if (!info || std::find(info->tags.begin(), info->tags.end(), job_.tag) != info->tags.end()) return;
        auto tags = info->tags;
        tags.push_back(job_.tag);
        reader.set_tags(run, tags);
    }

    /// What is left goes as quickly as what was done.
    void show() {
        if (!job_.shows_progress || ::isatty(STDERR_FILENO) == 0) return;
        double done = static_cast<double>(ended_);
        for (const auto& one : active_) done += states_[one.index].share;
        const double passed_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
        const auto left = done > 0 ? fmt::format(", about {} left",
                                                 format_seconds(passed_s * (static_cast<double>(todo_) - done) / done))
                                   : std::string{};
        std::cerr << fmt::format("\r{} of {} done, {} under way{}\033[K", ended_, todo_, active_.size(), left);
        shown_ = true;
    }

    const SweepJob& job_;
    const std::vector<SweepPoint>& points_;
    std::vector<SweepState>& states_;
    std::chrono::steady_clock::time_point began_;
    PointFiles files_;
    std::vector<std::size_t> waiting_;  ///< the next one last
    std::vector<Active> active_;
    std::size_t todo_ = 0, ended_ = 0;
    bool told_ = false, shown_ = false;
};

}  // namespace

bool run_sweep(const SweepJob& job, const std::vector<SweepPoint>& points, std::vector<SweepState>& states) {
    Sweep(job, points, states).run();
    return std::all_of(states.begin(), states.end(), [](const SweepState& state) { return state.done; });
}

}  // namespace skippipe::cli
