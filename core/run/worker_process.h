// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <sys/types.h>

namespace skippipe {

/// This process becomes a worker: a rank above 0 of a launcher. Throws InputError where the worker is missing or cannot
/// be started.
[[noreturn]] void become_worker();

/// The training worker as a child process with a pipe each way. It dies with this process, whatever happens.
class WorkerProcess {
public:
    /// Starts `skippipe-worker`, found beside this program, with these variables ("RANK=1") added to the environment.
    /// Throws InputError with a remedy where it is missing.
    explicit WorkerProcess(const std::vector<std::string>& environment = {});
    ~WorkerProcess();
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    /// False where the worker is gone.
    bool write_line(const std::string& line);

    enum class Read { line, timeout, closed };
    /// Waits at most `timeout_s` for a whole line.
    Read read_line(std::string& line, double timeout_s);

    /// False once it has ended.
    bool running();
    /// Waits for its end; "" where it ended well, else how ("was killed by signal 9", "exited with 3").
    std::string wait();
    /// The same, but ends it by force after `patience_s`, also where it is stopped.
    std::string wait_at_most(double patience_s);

private:
    pid_t pid_ = -1;
    std::optional<int> status_;  ///< of the ended process
    int to_worker_ = -1, from_worker_ = -1;
    std::string buffer_;
    std::size_t scanned_ = 0;
};

}  // namespace skippipe
