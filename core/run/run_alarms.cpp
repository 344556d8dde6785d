// SPDX-License-Identifier: GPL-3.0-or-later
// What calls for people while a run goes on: told, recorded, and where it was asked for the end of the run.
#include <algorithm>
#include <filesystem>

#include <fmt/format.h>

#include "core/record/checkpoints.h"
#include "core/run/run.h"

namespace skippipe {

namespace {

constexpr auto between_looks = std::chrono::seconds{10};

/// Of a file, or of all files in a folder; 0 where there is none.
std::int64_t bytes_of(const std::filesystem::path& path) {
    std::error_code gone;
    if (!std::filesystem::is_directory(path, gone)) {
        const auto bytes = std::filesystem::file_size(path, gone);
        return gone ? 0 : static_cast<std::int64_t>(bytes);
    }
    std::int64_t bytes = 0;
    for (const auto& entry : std::filesystem::directory_iterator(path, gone)) bytes += bytes_of(entry.path());
    return bytes;
}

std::int64_t record_bytes(const std::filesystem::path& record) {
    return bytes_of(record) + bytes_of(std::filesystem::path{record} += "-wal");
}

}  // namespace

void Run::look_at_figures(const protocol::Iterated& m) {
    if (m.result.tokens > 0)
        if (const auto alarm = losses_.look(m.iteration, m.result.loss_sum_nats / static_cast<double>(m.result.tokens),
                                            m.result.gradient_norm))
            raise(*alarm);
    const auto now = std::chrono::steady_clock::now();
    if (now < look_at_disk_again_) return;
    look_at_disk_again_ = now + between_looks;
    const std::int64_t bytes = record_bytes(job_.record);
    if (!record_at_first_) record_at_first_ = {m.iteration, bytes};
    const auto [first, first_bytes] = *record_at_first_;
    DiskNeed need{.iterations_left = iterations_ - m.iteration - 1};
    if (m.iteration > first)
        need.bytes_an_iteration =
            static_cast<double>(std::max<std::int64_t>(0, bytes - first_bytes)) / (m.iteration - first);
    if (const auto checkpoints = list_checkpoints(job_.record, outcome_.run); !checkpoints.empty())
        need.checkpoint_bytes = bytes_of(checkpoints.front().folder);
    const auto folder = std::filesystem::absolute(job_.record).parent_path();
    std::error_code unknown;
    const auto space = std::filesystem::space(folder, unknown);
    if (unknown) return;
    const auto alarm = look_at_disk(folder.string(), static_cast<std::int64_t>(space.available), need);
    if (alarm && !disk_told_) raise(*alarm);
    disk_told_ = alarm.has_value();
}

void Run::raise(const Alarm& alarm) {
    warn(alarm.fault);
    if (alarm.kind == AlarmKind::silence) before_silence_ = warning_;
    warning_ = to_string(alarm.fault);
    if (started_) recorder_.warn(outcome_.run, warning_);
    if (!job_.stop_on.contains(alarm.kind) || stop_sent_) return;
    log_.info("the run ends after this iteration, as --stop-on asks");
    stop_sent_ = ranks_.send(protocol::Stop{});
}

/// Readers of the run are told what they knew before.
void Run::end_of_silence() {
    log_.info("the worker speaks again");
    warning_ = before_silence_;
    if (started_) recorder_.warn(outcome_.run, warning_);
}

}  // namespace skippipe
