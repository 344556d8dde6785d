// SPDX-License-Identifier: GPL-3.0-or-later
// A file that does not answer: a pipe into which nobody has written yet.
#pragma once
#include <atomic>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <future>
#include <string>
#include <thread>
#include <utility>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace skippipe {

class SilentFile {
public:
    /// Whoever reads it waits until `speak`, but not for ever: a test that waits for it fails and does not hang.
    SilentFile(std::filesystem::path file, std::string text) : file_(std::move(file)) {
        ::mkfifo(file_.c_str(), 0600);
        writer_ = std::thread([this, text = std::move(text)] {
            asked_.get_future().wait_for(std::chrono::seconds(20));
            spoke_ = true;
            std::ofstream(file_) << text;  // opened as soon as somebody reads
        });
    }
    ~SilentFile() {
        speak();
        const int nobody = ::open(file_.c_str(), O_RDONLY | O_NONBLOCK);  // for the writer, where nobody reads
        writer_.join();
        ::close(nobody);
    }
    SilentFile(const SilentFile&) = delete;
    SilentFile& operator=(const SilentFile&) = delete;

    const std::filesystem::path& path() const { return file_; }
    bool has_spoken() const { return spoke_; }
    void speak() {
        if (!std::exchange(was_asked_, true)) asked_.set_value();
    }

private:
    std::filesystem::path file_;
    std::promise<void> asked_;
    std::atomic<bool> spoke_ = false;
    bool was_asked_ = false;
    std::thread writer_;
};

}  // namespace skippipe
