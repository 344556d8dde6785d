// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/record/checkpoints.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>

namespace skippipe {

namespace fs = std::filesystem;

namespace {

constexpr std::string_view prefix = "iteration-";

/// A folder without its manifest is no checkpoint any more, even where the rest of it cannot be removed.
void remove_checkpoint(const fs::path& folder) {
    std::error_code ignored;
    fs::remove(folder / checkpoint_manifest, ignored);
    fs::remove_all(folder, ignored);
}

}  // namespace

fs::path checkpoints_path(const fs::path& record, RunId run) {
    const auto file = fs::absolute(record);
    const auto name = file.stem().string();
    return file.parent_path() / "checkpoints" / fmt::format("{}run-{}", name == "record" ? "" : name + "-", run);
}

std::string checkpoint_name(int iterations_done) { return fmt::format("{}{:06}", prefix, iterations_done); }

std::vector<CheckpointFolder> list_checkpoints(const fs::path& record, RunId run) {
    std::vector<CheckpointFolder> found;
    std::error_code error;
    for (fs::directory_iterator it{checkpoints_path(record, run), error}, end; !error && it != end;
         it.increment(error)) {
        const auto name = it->path().filename().string();
        if (!name.starts_with(prefix)) continue;
        int iterations = 0;
        const auto* last = name.data() + name.size();
        const auto [after, fault] = std::from_chars(name.data() + prefix.size(), last, iterations);
        std::error_code ignored;
        if (fault == std::errc() && after == last && fs::exists(it->path() / checkpoint_manifest, ignored))
            found.push_back({iterations, it->path()});
    }
    std::sort(found.begin(), found.end(),
              [](const auto& a, const auto& b) { return a.iterations_done > b.iterations_done; });
    return found;
}

void prune_checkpoints(const fs::path& record, RunId run, int newest_kept, std::size_t keep) {
    std::size_t kept = 0;
    for (const auto& one : list_checkpoints(record, run))
        if (one.iterations_done > newest_kept || kept++ >= keep) remove_checkpoint(one.folder);
    std::error_code ignored;
    if (keep == 0) fs::remove_all(checkpoints_path(record, run), ignored);
}

}  // namespace skippipe
