// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/worker_process.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <system_error>

#include <fmt/format.h>
#include <unistd.h>

#include "core/base/fault.h"

namespace skippipe {

namespace {

std::filesystem::path worker_path() {
    const auto here = std::filesystem::read_symlink("/proc/self/exe").parent_path();
    const auto path = here / "skippipe-worker";
    if (!std::filesystem::exists(path))
        throw InputError(path.string(), "the training worker is missing",
                         "it does the training (it is built where LibTorch is installed)",
                         "Build it with `./studio build`");
    return path;
}

/// Slurm at its time limit, torchrun and Kubernetes ask every process to end by SIGTERM. Rank 0's `skippipe` hears it,
/// lets the iteration end and stops all ranks; without rank 0 they end by themselves. Kept over exec.
constexpr int left_to_rank_0 = SIGTERM;

}  // namespace

void become_worker() {
    const auto path = worker_path();
    ::signal(left_to_rank_0, SIG_IGN);
    ::execl(path.c_str(), path.c_str(), static_cast<char*>(nullptr));
    throw InputError(path.string(), fmt::format("cannot become the worker: {}", std::strerror(errno)), "",
                     "Check that the file may be executed");
}

std::unique_ptr<Subprocess> start_worker(const std::vector<std::string>& environment) {
    const auto path = worker_path();
    Subprocess::Options options{.arguments = {path.string()}, .environment = environment};
    options.input = Subprocess::Stream::pipe;
    options.own_group = true;  // Ctrl+C is the coordinator's to handle: it asks the worker to stop
    options.ignored = {left_to_rank_0, SIGPIPE};
    try {
        return std::make_unique<Subprocess>(options);
    } catch (const std::system_error& error) {
        throw InputError(path.string(), fmt::format("cannot start the worker: {}", error.code().message()), "",
                         "Check that the file may be executed, and that the machine has memory left");
    }
}

}  // namespace skippipe
