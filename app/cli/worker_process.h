// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <string>

#include <sys/types.h>

namespace skippipe::cli {

/// The training worker as a child process with a pipe each way. It dies with this process, whatever happens.
class WorkerProcess {
public:
    /// Starts `skippipe-worker`, found beside this program. Throws InputError with a remedy where it is missing.
    WorkerProcess();
    ~WorkerProcess();
    WorkerProcess(const WorkerProcess&) = delete;
    WorkerProcess& operator=(const WorkerProcess&) = delete;

    /// False where the worker is gone.
    bool write_line(const std::string& line);

    enum class Read { line, timeout, closed };
    /// Waits at most `timeout_s` for a whole line.
    Read read_line(std::string& line, double timeout_s);

    /// Waits for its end; "" where it ended well, else how ("was killed by signal 9", "exited with 3").
    std::string wait();

private:
    pid_t pid_ = -1;
    int to_worker_ = -1, from_worker_ = -1;
    std::string buffer_;
    std::size_t scanned_ = 0;
};

}  // namespace skippipe::cli
