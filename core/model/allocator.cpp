// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/allocator.h"

#include <cstdint>
#include <cstdlib>
#include <new>

#include <malloc.h>

#include "core/model/torch_compat.h"

namespace skippipe {

namespace {

constexpr std::uintptr_t alignment = 64;  // bytes; LibTorch's own

/// Aligned by hand, with malloc's pointer just before. glibc's posix_memalign asks for more than it keeps: what was one
/// tensor and is free is then too small for the next of the same size, and messages leave holes among what stays.
void* take(std::size_t bytes) {
    void* whole = std::malloc(bytes + alignment + sizeof(void*));
    if (!whole) throw std::bad_alloc();
    const auto aligned =
        (reinterpret_cast<std::uintptr_t>(whole) + sizeof(void*) + alignment - 1) / alignment * alignment;
    auto** memory = reinterpret_cast<void**>(aligned);
    memory[-1] = whole;
    return memory;
}

void give(void* memory) {
    if (memory) std::free(static_cast<void**>(memory)[-1]);
}

}  // namespace

void keep_freed_memory() {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the largest that glibc takes
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_ARENA_MAX, 1);  // what one worker frees the others use again
#endif
    static CpuMemory memory(take, give);
    use_memory(memory);
}

}  // namespace skippipe
