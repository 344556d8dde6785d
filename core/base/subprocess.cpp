// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/base/subprocess.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <system_error>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

namespace skippipe {

namespace {

/// A file descriptor that is closed with its scope.
class Descriptor {
public:
    explicit Descriptor(int number = -1) : number_(number) {}
    ~Descriptor() { close(); }
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    int get() const { return number_; }
    int release() { return std::exchange(number_, -1); }
    void close() {
        if (number_ >= 0) ::close(std::exchange(number_, -1));
    }

private:
    int number_;
};

struct Pipe {
    Descriptor read, write;
};

[[noreturn]] void fail(int error, const std::string& what) {
    throw std::system_error(error, std::generic_category(), what);
}

/// Numbers above the standard streams', so that none is overwritten while they are put in place.
Pipe make_pipe(const std::string& program) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) fail(errno, program);
    Pipe pipe{Descriptor(ends[0]), Descriptor(ends[1])};
    for (auto* end : {&pipe.read, &pipe.write})
        if (end->get() <= STDERR_FILENO) {
            const int moved = ::fcntl(end->get(), F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
            if (moved < 0) fail(errno, program);
            *end = Descriptor(moved);
        }
    return pipe;
}

/// This process's environment with some variables set anew.
std::vector<std::string> merged_environment(const std::vector<std::string>& added) {
    std::vector<std::string> variables = added;
    for (char** entry = environ; entry && *entry; ++entry) {
        const std::string_view text = *entry;
        const auto name = text.substr(0, text.find('=') + 1);
        if (std::none_of(added.begin(), added.end(), [&](const std::string& a) { return a.starts_with(name); }))
            variables.emplace_back(text);
    }
    return variables;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
    std::vector<char*> pointers;
    for (const auto& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
    pointers.push_back(nullptr);
    return pointers;
}

/// The child's side, between fork and exec: async-signal-safe calls alone. Returns where something failed, with errno.
void become(const Subprocess::Options& options, pid_t parent, int input, int output, int nothing,
            char* const* arguments, char* const* variables) {
    if (options.own_group) ::setpgid(0, 0);
    if (options.ends_with_parent) {
        ::prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (::getppid() != parent) ::_exit(1);
    }
    ::signal(SIGPIPE, SIG_DFL);
    for (const int number : options.ignored) ::signal(number, SIG_IGN);
    using Stream = Subprocess::Stream;
    const auto put = [&](Stream stream, int pipe, int standard) {
        return stream == Stream::inherit || ::dup2(stream == Stream::pipe ? pipe : nothing, standard) >= 0;
    };
    if (put(options.input, input, STDIN_FILENO) && put(options.output, output, STDOUT_FILENO) &&
        put(options.error, output, STDERR_FILENO))
        ::execve(arguments[0], arguments, variables);
}

int milliseconds(double seconds) { return static_cast<int>(std::clamp(1000 * seconds, 0.0, 1e9)); }

}  // namespace

std::string ProcessEnd::describe() const {
    if (signal != 0) return fmt::format("was killed by signal {} ({})", signal, ::strsignal(signal));
    return well() ? "" : fmt::format("exited with {}", code);
}

Subprocess::Subprocess(const Options& options) : own_group_(options.own_group) {
    if (options.arguments.empty()) fail(EINVAL, "no program");
    const auto& program = options.arguments.front();
    const auto variables = merged_environment(options.environment);
    const auto argument_pointers = pointers_to(options.arguments), variable_pointers = pointers_to(variables);
    Pipe in, out, error = make_pipe(program);
    if (options.input == Stream::pipe) in = make_pipe(program);
    if (options.output == Stream::pipe || options.error == Stream::pipe) out = make_pipe(program);
    const Descriptor nothing(::open("/dev/null", O_RDWR | O_CLOEXEC));
    if (nothing.get() < 0) fail(errno, "/dev/null");
    if (options.input == Stream::pipe) std::signal(SIGPIPE, SIG_IGN);
    const pid_t parent = ::getpid();
    const pid_t pid = ::fork();
    if (pid == 0) {
        become(options, parent, in.read.get(), out.write.get(), nothing.get(), argument_pointers.data(),
               variable_pointers.data());
        const int reason = errno;
        [[maybe_unused]] const auto told = ::write(error.write.get(), &reason, sizeof reason);
        ::_exit(127);
    }
    if (pid < 0) fail(errno, program);
    // exec closes the pipe; where it fails the reason comes through.
    error.write.close();
    int reason = 0;
    ssize_t count = 0;
    while ((count = ::read(error.read.get(), &reason, sizeof reason)) < 0 && errno == EINTR) {}
    if (count > 0) {
        ::waitpid(pid, nullptr, 0);
        fail(reason, program);
    }
    pid_ = pid;
    input_ = in.write.release();
    output_ = out.read.release();
}

Subprocess::~Subprocess() {
    close_input();
    if (output_ >= 0) ::close(output_);
    if (end_) return;
    signal(SIGKILL);
    reap(true);
}

bool Subprocess::write(std::string_view bytes) {
    while (!bytes.empty()) {
        const auto n = ::write(input_, bytes.data(), bytes.size());
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
}

void Subprocess::close_input() {
    if (input_ >= 0) ::close(std::exchange(input_, -1));
}

Subprocess::Read Subprocess::read(std::string& text, double timeout_s) {
    if (!buffer_.empty()) {
        text += std::exchange(buffer_, {});
        scanned_ = 0;
        return Read::data;
    }
    if (output_ < 0) return Read::closed;
    pollfd waiting{output_, POLLIN, 0};
    if (::poll(&waiting, 1, milliseconds(timeout_s)) <= 0) return Read::timeout;
    char chunk[65536];
    const auto n = ::read(output_, chunk, sizeof chunk);
    if (n < 0 && errno == EINTR) return Read::timeout;
    if (n <= 0) return Read::closed;
    text.append(chunk, static_cast<std::size_t>(n));
    return Read::data;
}

Subprocess::Read Subprocess::read_line(std::string& line, double timeout_s) {
    while (true) {
        if (const auto end = buffer_.find('\n', scanned_); end != std::string::npos) {
            line = buffer_.substr(0, end);
            buffer_.erase(0, end + 1);
            scanned_ = 0;
            return Read::data;
        }
        scanned_ = buffer_.size();
        auto kept = std::exchange(buffer_, {});
        const auto scanned = scanned_;
        const auto result = read(kept, timeout_s);
        buffer_ = std::move(kept);
        scanned_ = scanned;
        if (result != Read::data) return result;
    }
}

bool Subprocess::reap(bool wait) {
    if (end_) return true;
    int status = 0;
    pid_t got = 0;
    while ((got = ::waitpid(pid_, &status, wait ? 0 : WNOHANG)) < 0 && errno == EINTR) {}
    if (got == 0) return false;
    if (got < 0) {
        end_ = ProcessEnd{};  // somebody else has waited for it
    } else {
        end_ = WIFSIGNALED(status) ? ProcessEnd{-1, WTERMSIG(status)} : ProcessEnd{WEXITSTATUS(status), 0};
    }
    return true;
}

bool Subprocess::running() { return !reap(false); }

ProcessEnd Subprocess::wait() {
    reap(true);
    return *end_;
}

ProcessEnd Subprocess::wait_at_most(double patience_s) {
    using Clock = std::chrono::steady_clock;
    const auto until = Clock::now() + std::chrono::duration<double>(patience_s);
    while (running() && Clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(5));
    signal(SIGKILL);
    return wait();
}

void Subprocess::signal(int number) {
    // Not reaped yet, so the number is still its own.
    if (!end_) ::kill(own_group_ ? -pid_ : pid_, number);
}

ProcessOutput run_process(const std::vector<std::string>& arguments, double limit_s, std::uint64_t limit_bytes) {
    using Clock = std::chrono::steady_clock;
    ProcessOutput output;
    std::optional<Subprocess> process;
    try {
        process.emplace(Subprocess::Options{.arguments = arguments, .error = Subprocess::Stream::none});
    } catch (const std::system_error&) {
        return output;
    }
    output.started = true;
    const auto start = Clock::now();
    while (true) {
        const double left_s = limit_s - std::chrono::duration<double>(Clock::now() - start).count();
        output.timed_out = left_s <= 0;
        if (output.timed_out || process->read(output.text, left_s) == Subprocess::Read::closed) break;
        output.too_long = output.text.size() > limit_bytes;
        if (output.too_long) break;
    }
    if (output.timed_out || output.too_long) process->signal(SIGKILL);
    output.exit_code = process->wait().code;
    return output;
}

}  // namespace skippipe
