// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/device/nccl_api.h"

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/device/shared_library.h"

namespace skippipe {
namespace {

constexpr int oldest = 21400;  // the first whose calls need not block
constexpr const char* remedy =
    "Install libnccl2 (2.14 or later; Debian: contrib), or set it to \"gloo\", or to \"local\" with one rank";

std::string dotted(int version) { return fmt::format("{}.{}.{}", version / 10000, version / 100 % 100, version % 100); }

NcclApi open_nccl() {
    const SharedLibrary library("/execution/transport", {"libnccl.so.2"}, "NCCL", remedy);
    NcclApi api{};
    library.find(api.version, "ncclGetVersion");
    library.find(api.error_string, "ncclGetErrorString");
    library.find(api.last_error, "ncclGetLastError");
    library.find(api.unique_id, "ncclGetUniqueId");
    library.find(api.init, "ncclCommInitRankConfig");
    library.find(api.abort, "ncclCommAbort");
    library.find(api.async_error, "ncclCommGetAsyncError");
    library.find(api.group_start, "ncclGroupStart");
    library.find(api.group_end, "ncclGroupEnd");
    library.find(api.send, "ncclSend");
    library.find(api.receive, "ncclRecv");
    library.find(api.all_reduce, "ncclAllReduce");
    int version = 0;
    if (api.version(&version) != NcclResult::success || version < oldest)
        throw InputError("/execution/transport", fmt::format("NCCL {} is too old", dotted(version)),
                         fmt::format("{} is the first that can be told to give up", dotted(oldest)), remedy);
    return api;
}

}  // namespace

const NcclApi& nccl() {
    static const NcclApi api = open_nccl();
    return api;
}

std::string version_text(const NcclApi& api) {
    int version = 0;
    return api.version(&version) == NcclResult::success ? dotted(version) : "unknown";
}

}  // namespace skippipe
