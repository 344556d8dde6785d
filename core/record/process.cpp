// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/record/process.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace skippipe::record {

ProcessIdentity this_process() {
    ProcessIdentity self;
    self.pid = getpid();
    std::error_code error;
    self.pid_namespace = std::filesystem::read_symlink("/proc/self/ns/pid", error).string();
    self.process_start = start_of_process(self.pid).value_or(0);
    std::ifstream{"/proc/sys/kernel/random/boot_id"} >> self.boot_id;
    return self;
}

std::optional<std::int64_t> start_of_process(std::int64_t pid) {
    std::ifstream in{"/proc/" + std::to_string(pid) + "/stat"};
    const std::string text{std::istreambuf_iterator<char>{in}, {}};
    const auto name_end = text.rfind(')');  // the name may hold anything, ')' and spaces included
    if (name_end == std::string::npos) return std::nullopt;
    std::istringstream rest{text.substr(name_end + 1)};
    std::string field;
    std::int64_t start = 0;
    for (int number = 3; number <= 22; ++number) {
        if (!(rest >> field)) return std::nullopt;
        if (number == 3 && (field == "Z" || field == "X")) return std::nullopt;
    }
    std::istringstream{field} >> start;
    return start;
}

bool is_alive(const ProcessIdentity& writer, const ProcessIdentity& self, double heartbeat_age_s) {
    if (writer.boot_id != self.boot_id) return false;
    if (writer.pid_namespace != self.pid_namespace) return heartbeat_age_s <= heartbeat_limit_s;
    return start_of_process(writer.pid) == writer.process_start;
}

}  // namespace skippipe::record
