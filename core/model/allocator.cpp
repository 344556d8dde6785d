// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/model/allocator.h"

#include <malloc.h>

namespace skippipe {

void keep_freed_memory() {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 32 << 20);  // the largest that glibc takes
    mallopt(M_TRIM_THRESHOLD, 1 << 30);
    mallopt(M_ARENA_MAX, 1);  // what one worker frees the others use again
#endif
}

}  // namespace skippipe
