// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <sys/types.h>

namespace skippipe {

/// How a process ended.
struct ProcessEnd {
    int code = -1;   ///< -1: by a signal
    int signal = 0;  ///< 0: by itself
    bool well() const { return code == 0; }
    /// "" where it ended well, else how: "exited with 3", "was killed by signal 9 (Killed)".
    std::string describe() const;
};

/// A program started without a shell, with pipes to its standard streams as asked for. Used by one thread at a time.
class Subprocess {
public:
    enum class Stream { none, pipe, inherit };  ///< none: /dev/null

    struct Options {
        std::vector<std::string> arguments;    ///< the program's path first
        std::vector<std::string> environment;  ///< "NAME=VALUE", in place of or besides this process's
        Stream input = Stream::none, output = Stream::pipe, error = Stream::inherit;
        bool own_group = false;         ///< Ctrl+C reaches this process alone, which then tells the program
        bool ends_with_parent = true;   ///< killed when the thread that starts it ends, whatever happens
        std::vector<int> ignored = {};  ///< signals that the program ignores from its start
    };

    /// Throws std::system_error where it cannot be started, a missing program included. With a pipe to it, this process
    /// ignores SIGPIPE from now on: `write` says when nobody reads.
    explicit Subprocess(const Options& options);
    /// Kills it where it still runs.
    ~Subprocess();
    Subprocess(const Subprocess&) = delete;
    Subprocess& operator=(const Subprocess&) = delete;

    /// All of it; waits while the pipe is full. False where the program no longer reads.
    bool write(std::string_view bytes);
    /// Its standard input ends.
    void close_input();

    enum class Read { data, timeout, closed };
    /// Appends what it has printed; waits for at most `timeout_s`. A signal ends the wait as a timeout.
    Read read(std::string& text, double timeout_s);
    /// The next whole line, without its end.
    Read read_line(std::string& line, double timeout_s);

    /// False once it has ended.
    bool running();
    /// Waits for its end.
    ProcessEnd wait();
    /// The same, but kills it after `patience_s`, also where it is stopped.
    ProcessEnd wait_at_most(double patience_s);
    /// To it, or, with own_group, to it and all that it has started. Nothing where it has ended.
    void signal(int number);
    pid_t pid() const { return pid_; }

private:
    bool reap(bool wait);

    pid_t pid_ = -1;
    bool own_group_ = false;
    std::optional<ProcessEnd> end_;
    int input_ = -1, output_ = -1;
    std::string buffer_;
    std::size_t scanned_ = 0;  ///< bytes of the buffer without a line's end
};

/// What a program printed.
struct ProcessOutput {
    bool started = false;
    int exit_code = -1;  ///< -1: ended by a signal
    bool timed_out = false;
    bool too_long = false;
    std::string text;  ///< standard output
};

/// Runs a program with empty standard input and reads what it prints to its end; standard error is dropped. It is
/// killed after `limit_s` seconds or more than `limit_bytes`.
ProcessOutput run_process(const std::vector<std::string>& arguments, double limit_s, std::uint64_t limit_bytes);

}  // namespace skippipe
