// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/worker_process.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <thread>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
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

/// This process' environment with some variables set anew.
std::vector<std::string> merged_environment(const std::vector<std::string>& added) {
    std::vector<std::string> variables = added;
    for (char** entry = environ; *entry; ++entry) {
        const std::string_view text = *entry;
        const auto name = text.substr(0, text.find('=') + 1);
        if (std::none_of(added.begin(), added.end(), [&](const std::string& a) { return a.starts_with(name); }))
            variables.emplace_back(text);
    }
    return variables;
}

/// Slurm at its time limit, torchrun and Kubernetes ask every process to end by SIGTERM. Rank 0's `skippipe` hears it,
/// lets the iteration end and stops all ranks; without rank 0 they end by themselves. Kept over exec.
void leave_ending_to_rank_0() { ::signal(SIGTERM, SIG_IGN); }

}  // namespace

void become_worker() {
    const auto path = worker_path();
    leave_ending_to_rank_0();
    ::execl(path.c_str(), path.c_str(), static_cast<char*>(nullptr));
    throw InputError(path.string(), fmt::format("cannot become the worker: {}", std::strerror(errno)), "",
                     "Check that the file may be executed");
}

WorkerProcess::WorkerProcess(const std::vector<std::string>& environment) {
    const auto path = worker_path();
    const auto variables = merged_environment(environment);
    std::vector<char*> pointers;
    for (const auto& variable : variables) pointers.push_back(const_cast<char*>(variable.c_str()));
    pointers.push_back(nullptr);
    char* const arguments[] = {const_cast<char*>(path.c_str()), nullptr};
    int in[2], out[2];
    if (::pipe2(in, O_CLOEXEC) != 0 || ::pipe2(out, O_CLOEXEC) != 0)
        throw InputError(path.string(), fmt::format("no pipe to the worker: {}", std::strerror(errno)), "",
                         "Close other programs and try again");
    std::signal(SIGPIPE, SIG_IGN);
    const pid_t parent = ::getpid();
    pid_ = ::fork();
    if (pid_ == 0) {
        // Only async-signal-safe calls from here on. Ctrl+C is the coordinator's to handle: it asks the worker to stop.
        ::setpgid(0, 0);
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(1);
        leave_ending_to_rank_0();
        ::dup2(in[0], STDIN_FILENO);
        ::dup2(out[1], STDOUT_FILENO);
        ::execve(path.c_str(), arguments, pointers.data());
        ::_exit(127);
    }
    ::close(in[0]);
    ::close(out[1]);
    to_worker_ = in[1];
    from_worker_ = out[0];
    if (pid_ < 0)
        throw InputError(path.string(), fmt::format("cannot start the worker: {}", std::strerror(errno)), "",
                         "Close other programs and try again");
}

WorkerProcess::~WorkerProcess() {
    if (to_worker_ >= 0) ::close(to_worker_);
    if (from_worker_ >= 0) ::close(from_worker_);
    if (pid_ > 0) {
        ::kill(pid_, SIGKILL);
        ::waitpid(pid_, nullptr, 0);
    }
}

bool WorkerProcess::write_line(const std::string& line) {
    const std::string text = line + "\n";
    std::size_t sent = 0;
    while (sent < text.size()) {
        const auto n = ::write(to_worker_, text.data() + sent, text.size() - sent);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        sent += static_cast<std::size_t>(n);
    }
    return true;
}

WorkerProcess::Read WorkerProcess::read_line(std::string& line, double timeout_s) {
    while (true) {
        if (const auto end = buffer_.find('\n', scanned_); end != std::string::npos) {
            line = buffer_.substr(0, end);
            buffer_.erase(0, end + 1);
            scanned_ = 0;
            return Read::line;
        }
        scanned_ = buffer_.size();
        pollfd waiting{from_worker_, POLLIN, 0};
        const int ready = ::poll(&waiting, 1, static_cast<int>(timeout_s * 1000));
        if (ready <= 0) return Read::timeout;  // a signal too: the caller looks at its flags
        char chunk[65536];
        const auto n = ::read(from_worker_, chunk, sizeof chunk);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return Read::closed;
        buffer_.append(chunk, static_cast<std::size_t>(n));
    }
}

bool WorkerProcess::running() {
    int status = 0;
    if (pid_ <= 0) return false;
    if (::waitpid(pid_, &status, WNOHANG) != pid_) return true;
    status_ = status;
    pid_ = -1;
    return false;
}

std::string WorkerProcess::wait() {
    int status = status_.value_or(0);
    if (pid_ <= 0 && !status_) return "";
    while (pid_ > 0 && ::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {}
    pid_ = -1;
    status_.reset();
    if (WIFSIGNALED(status))
        return fmt::format("was killed by signal {} ({})", WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (WEXITSTATUS(status) == 127) return "could not be executed";
    return WEXITSTATUS(status) == 0 ? "" : fmt::format("exited with {}", WEXITSTATUS(status));
}

std::string WorkerProcess::wait_at_most(double patience_s) {
    const auto until = std::chrono::steady_clock::now() + std::chrono::duration<double>(patience_s);
    while (running())
        if (std::chrono::steady_clock::now() < until) {
            std::this_thread::sleep_for(std::chrono::milliseconds(5));
        } else {
            ::kill(pid_, SIGKILL);
            break;
        }
    return wait();
}

}  // namespace skippipe
