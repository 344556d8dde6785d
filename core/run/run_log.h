// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <memory>
#include <string>

namespace spdlog {
class logger;
}

namespace skippipe {

/// A run's log: one file of dated lines, for people who look for what happened. A file that cannot be written is no
/// reason to end a training: then nothing is logged, and `trouble` says why.
class RunLog {
public:
    RunLog();
    explicit RunLog(const std::filesystem::path& file);
    ~RunLog();
    RunLog(RunLog&&) noexcept;
    RunLog& operator=(RunLog&&) noexcept;

    void info(const std::string& text);
    void warn(const std::string& text);
    void error(const std::string& text);
    const std::string& trouble() const { return trouble_; }

private:
    std::shared_ptr<spdlog::logger> logger_;
    std::string trouble_;
};

}  // namespace skippipe
