// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

namespace skippipe {

/// Lets the C library keep freed memory instead of handing every large tensor back to the kernel and faulting it in
/// again, and lets a freed tensor's memory hold the next of its size. For the whole process; call it first in main of a
/// program that trains.
void keep_freed_memory();

}  // namespace skippipe
