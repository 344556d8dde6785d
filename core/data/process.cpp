// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>

extern char** environ;

namespace skippipe {

namespace {

pid_t spawn(const std::vector<std::string>& arguments, int output) {
    std::vector<char*> pointers;
    for (const auto& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
    pointers.push_back(nullptr);
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, output, STDOUT_FILENO);
    posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    pid_t pid = -1;
    const int error = posix_spawn(&pid, pointers[0], &actions, nullptr, pointers.data(), environ);
    posix_spawn_file_actions_destroy(&actions);
    return error == 0 ? pid : -1;
}

/// Reads until the end, the time limit or the size limit.
void read_all(int input, double limit_s, std::uint64_t limit_bytes, ProcessOutput& output) {
    using Clock = std::chrono::steady_clock;
    const auto end = Clock::now() + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(limit_s));
    std::vector<char> buffer(1 << 16);
    for (;;) {
        const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(end - Clock::now()).count();
        pollfd waiting{input, POLLIN, 0};
        const int ready = left > 0 ? poll(&waiting, 1, static_cast<int>(left)) : 0;
        if (ready < 0 && errno == EINTR) continue;
        output.timed_out = ready == 0;
        if (ready <= 0) return;
        const ssize_t count = read(input, buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) return;
        output.text.append(buffer.data(), static_cast<std::size_t>(count));
        output.too_long = output.text.size() > limit_bytes;
        if (output.too_long) return;
    }
}

}  // namespace

ProcessOutput run_process(const std::vector<std::string>& arguments, double limit_s, std::uint64_t limit_bytes) {
    ProcessOutput output;
    int ends[2];
    if (arguments.empty() || pipe2(ends, O_CLOEXEC) != 0) return output;
    const pid_t pid = spawn(arguments, ends[1]);
    close(ends[1]);
    output.started = pid > 0;
    if (output.started) {
        read_all(ends[0], limit_s, limit_bytes, output);
        if (output.timed_out || output.too_long) kill(pid, SIGKILL);
        int status = 0;
        while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {}
        if (WIFEXITED(status)) output.exit_code = WEXITSTATUS(status);
    }
    close(ends[0]);
    return output;
}

}  // namespace skippipe
