// SPDX-License-Identifier: GPL-3.0-or-later
// Compares what is declared here with the headers of CUDA and NCCL; compiled where they are there, linked nowhere.
#include <cstddef>
#include <type_traits>

#include <cuda.h>
#include <nccl.h>

#include "core/device/cuda_driver.h"
#include "core/device/nccl_api.h"

namespace skippipe {
namespace {

/// A type of the headers as it is declared here.
template <class Type>
struct Declared {
    using type = Type;
};
template <>
struct Declared<ncclResult_t> {
    using type = NcclResult;
};
template <>
struct Declared<ncclDataType_t> {
    using type = NcclType;
};
template <>
struct Declared<ncclRedOp_t> {
    using type = NcclOperation;
};
template <>
struct Declared<ncclUniqueId> {
    using type = NcclUniqueId;
};
template <>
struct Declared<ncclConfig_t> {
    using type = NcclConfig;
};
template <>
struct Declared<ncclComm> {
    using type = NcclComm;
};
template <>
struct Declared<CUresult> {
    using type = CudaResult;
};
template <>
struct Declared<CUuuid> {
    using type = CudaUuid;
};
/// Streams (of the runtime the same as the driver's), contexts, events.
template <>
struct Declared<CUstream_st> {
    using type = void;
};
template <>
struct Declared<CUctx_st> {
    using type = void;
};
template <>
struct Declared<CUevent_st> {
    using type = void;
};
template <class Type>
struct Declared<Type*> {
    using type = typename Declared<Type>::type*;
};
template <class Type>
struct Declared<const Type> {
    using type = const typename Declared<Type>::type;
};
template <class Result, class... Arguments>
struct Declared<Result(Arguments...)> {
    using type = typename Declared<Result>::type(typename Declared<Arguments>::type...);
};

/// `pointer` can be called as the header's `Function` is.
template <class Function, class Pointer>
constexpr bool same(Pointer) {
    return std::is_same_v<typename Declared<Function>::type*, Pointer>;
}

constexpr NcclApi nccl_table{};
static_assert(same<decltype(ncclGetVersion)>(nccl_table.version));
static_assert(same<decltype(ncclGetErrorString)>(nccl_table.error_string));
static_assert(same<decltype(ncclGetLastError)>(nccl_table.last_error));
static_assert(same<decltype(ncclGetUniqueId)>(nccl_table.unique_id));
static_assert(same<decltype(ncclCommInitRankConfig)>(nccl_table.init));
static_assert(same<decltype(ncclCommAbort)>(nccl_table.abort));
static_assert(same<decltype(ncclCommGetAsyncError)>(nccl_table.async_error));
static_assert(same<decltype(ncclGroupStart)>(nccl_table.group_start));
static_assert(same<decltype(ncclGroupEnd)>(nccl_table.group_end));
static_assert(same<decltype(ncclSend)>(nccl_table.send));
static_assert(same<decltype(ncclRecv)>(nccl_table.receive));
static_assert(same<decltype(ncclAllReduce)>(nccl_table.all_reduce));

static_assert(sizeof(NcclUniqueId) == sizeof(ncclUniqueId) && nccl_id_bytes == NCCL_UNIQUE_ID_BYTES);
static_assert(offsetof(NcclConfig, size) == offsetof(ncclConfig_t, size));
static_assert(offsetof(NcclConfig, magic) == offsetof(ncclConfig_t, magic));
static_assert(offsetof(NcclConfig, version) == offsetof(ncclConfig_t, version));
static_assert(offsetof(NcclConfig, blocking) == offsetof(ncclConfig_t, blocking));
static_assert(NcclConfig{}.version == NCCL_VERSION(2, 14, 0));
constexpr ncclConfig_t initialised = NCCL_CONFIG_INITIALIZER;
static_assert(NcclConfig{}.magic == initialised.magic);

template <class Ours, class Theirs>
constexpr bool equal(Ours ours, Theirs theirs) {
    return static_cast<int>(ours) == static_cast<int>(theirs) && sizeof(Ours) == sizeof(Theirs);
}
static_assert(equal(NcclResult::success, ncclSuccess) && equal(NcclResult::in_progress, ncclInProgress) &&
              equal(NcclResult::unhandled_cuda_error, ncclUnhandledCudaError) &&
              equal(NcclResult::system_error, ncclSystemError) &&
              equal(NcclResult::internal_error, ncclInternalError) &&
              equal(NcclResult::invalid_argument, ncclInvalidArgument) &&
              equal(NcclResult::invalid_usage, ncclInvalidUsage) && equal(NcclResult::remote_error, ncclRemoteError));
static_assert(equal(NcclType::bytes, ncclInt8) && equal(NcclType::float32, ncclFloat32));
static_assert(equal(NcclOperation::sum, ncclSum));

constexpr CudaDriver cuda_table{};
static_assert(same<decltype(cuInit)>(cuda_table.init));
static_assert(same<decltype(cuGetErrorString)>(cuda_table.error_string));
static_assert(same<decltype(cuDeviceGetCount)>(cuda_table.device_count));
static_assert(same<decltype(cuDeviceGet)>(cuda_table.device));
static_assert(same<decltype(cuDeviceGetName)>(cuda_table.device_name));
static_assert(same<decltype(cuDeviceTotalMem_v2)>(cuda_table.device_memory));
static_assert(same<decltype(cuDeviceGetUuid_v2)>(cuda_table.device_uuid));
static_assert(same<decltype(cuDevicePrimaryCtxRetain)>(cuda_table.retain_context));
static_assert(same<decltype(cuCtxSetCurrent)>(cuda_table.set_context));
static_assert(same<decltype(cuStreamCreate)>(cuda_table.make_stream));
static_assert(same<decltype(cuStreamDestroy_v2)>(cuda_table.destroy_stream));
static_assert(same<decltype(cuStreamSynchronize)>(cuda_table.synchronize_stream));
static_assert(same<decltype(cuEventCreate)>(cuda_table.make_event));
static_assert(same<decltype(cuEventDestroy_v2)>(cuda_table.destroy_event));
static_assert(same<decltype(cuEventRecord)>(cuda_table.record_event));
static_assert(same<decltype(cuEventQuery)>(cuda_table.query_event));
static_assert(same<decltype(cuEventSynchronize)>(cuda_table.synchronize_event));
static_assert(same<decltype(cuEventElapsedTime)>(cuda_table.elapsed_ms));
static_assert(same<decltype(cuStreamWaitEvent)>(cuda_table.wait_event));
static_assert(same<decltype(cuMemAllocAsync)>(cuda_table.allocate));
static_assert(same<decltype(cuMemFreeAsync)>(cuda_table.free));
static_assert(same<decltype(cuMemAllocHost_v2)>(cuda_table.allocate_host));
static_assert(same<decltype(cuMemFreeHost)>(cuda_table.free_host));
static_assert(same<decltype(cuMemcpyAsync)>(cuda_table.copy));
static_assert(equal(cuda_success, CUDA_SUCCESS) && equal(cuda_not_ready, CUDA_ERROR_NOT_READY));
constexpr unsigned non_blocking = CU_STREAM_NON_BLOCKING, timed = CU_EVENT_DEFAULT;
static_assert(non_blocking == 1 && timed == 0);

}  // namespace
}  // namespace skippipe
