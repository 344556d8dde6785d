// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/run/run_log.h"

#include <spdlog/sinks/basic_file_sink.h>
#include <spdlog/spdlog.h>

namespace skippipe {

RunLog::RunLog() = default;

RunLog::RunLog(const std::filesystem::path& file) {
    try {
        logger_ =
            std::make_shared<spdlog::logger>("run", std::make_shared<spdlog::sinks::basic_file_sink_mt>(file.string()));
        logger_->set_pattern("%Y-%m-%dT%H:%M:%S.%e%z %l: %v");
        logger_->flush_on(spdlog::level::info);
        logger_->set_error_handler([](const std::string&) {});  // a full disk is told by the record
    } catch (const std::exception& error) {
        trouble_ = error.what();
    }
}

RunLog::~RunLog() = default;
RunLog::RunLog(RunLog&&) noexcept = default;
RunLog& RunLog::operator=(RunLog&&) noexcept = default;

void RunLog::info(const std::string& text) {
    if (logger_) logger_->info("{}", text);
}

void RunLog::warn(const std::string& text) {
    if (logger_) logger_->warn("{}", text);
}

void RunLog::error(const std::string& text) {
    if (logger_) logger_->error("{}", text);
}

}  // namespace skippipe
