// SPDX-License-Identifier: GPL-3.0-or-later
// Start-up of the command line: whole-process time of `skippipe validate` and of `skippipe plan` with one step, against
// `true`.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <string>
#include <vector>

#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

extern char** environ;

namespace {

struct Measured {
    double median_s = 0;
    long peak_kib = 0;
};

Measured measure(const std::vector<std::string>& arguments, int repeats) {
    std::vector<double> times;
    Measured result;
    for (int i = 0; i < repeats; ++i) {
        std::vector<char*> argv;
        for (const auto& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
        argv.push_back(nullptr);
        posix_spawn_file_actions_t actions;
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", 1 /* O_WRONLY */, 0);
        const auto begin = std::chrono::steady_clock::now();
        pid_t child = 0;
        if (posix_spawnp(&child, argv[0], &actions, nullptr, argv.data(), environ) != 0) return {};
        int status = 0;
        rusage usage{};
        wait4(child, &status, 0, &usage);
        posix_spawn_file_actions_destroy(&actions);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return {};
        times.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
        result.peak_kib = std::max(result.peak_kib, usage.ru_maxrss);
    }
    std::sort(times.begin(), times.end());
    result.median_s = times[times.size() / 2];
    return result;
}

}  // namespace

int main() {
    const auto bin = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    const std::string skippipe = (bin / "skippipe").string(),
                      experiment = std::string(SKIPPIPE_SOURCE_DIR) + "/resources/experiments/quick-start.json";
    const auto nothing = measure({"/bin/true"}, 20);
    const struct {
        const char* name;
        std::vector<std::string> arguments;
    } cases[] = {
        {"start: skippipe validate quick-start", {skippipe, "validate", experiment}},
        {"start: skippipe plan quick-start --planner 1f1b", {skippipe, "plan", experiment, "--planner", "1f1b"}}};
    for (const auto& [name, arguments] : cases) {
        const auto measured = measure(arguments, 20);
        if (measured.median_s == 0) return 1;
        std::printf(
            "{\"name\": \"%s\", \"value\": %.4g, \"unit\": \"ms\", \"baseline\": \"ms, /bin/true\", "
            "\"baseline_value\": %.4g, \"ratio\": %.3g, \"threads\": 1, "
            "\"ceiling\": \"goal: below 50 ms; peak memory %.1f MB\"}\n",
            name, measured.median_s * 1e3, nothing.median_s * 1e3, measured.median_s / nothing.median_s,
            static_cast<double>(measured.peak_kib) / 1024);
    }
    return 0;
}
