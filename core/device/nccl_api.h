// SPDX-License-Identifier: GPL-3.0-or-later
// The part of NCCL's interface that is used, as a table of functions: libnccl.so.2 is opened at run time. Types are
// those of its public interface from 2.14 on; core/device/check/check_headers.cpp compares them where nccl.h is there.
#pragma once
#include <cstddef>
#include <string>

namespace skippipe {

struct NcclComm;  // NCCL's own
constexpr std::size_t nccl_id_bytes = 128;
struct NcclUniqueId {
    char internal[nccl_id_bytes];
};

enum class NcclResult : int {
    success = 0,
    unhandled_cuda_error = 1,
    system_error = 2,
    internal_error = 3,
    invalid_argument = 4,
    invalid_usage = 5,
    remote_error = 6,
    in_progress = 7,
};
enum class NcclType : int { bytes = 0, float32 = 7 };
enum class NcclOperation : int { sum = 0 };

/// ncclConfig_t as of 2.14, which later libraries take as well: calls do not block.
struct NcclConfig {
    std::size_t size = sizeof(NcclConfig);
    unsigned magic = 0xcafebeef;
    unsigned version = 21400;
    int blocking = 0;
};

struct NcclApi {
    NcclResult (*version)(int*);
    const char* (*error_string)(NcclResult);
    /// What went wrong last, of a communicator or (null) at all.
    const char* (*last_error)(NcclComm*);
    NcclResult (*unique_id)(NcclUniqueId*);
    NcclResult (*init)(NcclComm**, int ranks, NcclUniqueId, int rank, NcclConfig*);
    NcclResult (*abort)(NcclComm*);
    NcclResult (*async_error)(NcclComm*, NcclResult*);
    NcclResult (*group_start)();
    NcclResult (*group_end)();
    NcclResult (*send)(const void*, std::size_t count, NcclType, int peer, NcclComm*, void* stream);
    NcclResult (*receive)(void*, std::size_t count, NcclType, int peer, NcclComm*, void* stream);
    NcclResult (*all_reduce)(const void* from, void* to, std::size_t count, NcclType, NcclOperation, NcclComm*,
                             void* stream);
};

/// NCCL of this machine, opened once. Throws InputError at "/execution/transport" where it is missing or too old.
const NcclApi& nccl();

/// "2.28.9".
std::string version_text(const NcclApi& api);

}  // namespace skippipe
