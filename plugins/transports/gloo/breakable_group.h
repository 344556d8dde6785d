// SPDX-License-Identifier: GPL-3.0-or-later
// Gloo's groups in c10d, as they differ between LibTorch 1.13 and 2.x. The concrete classes have the same signatures;
// their base does not, so nothing here names it.
#pragma once
#ifndef USE_C10D_GLOO
#define USE_C10D_GLOO  // LibTorch was built with it; the header asks again
#endif
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-parameter"
#include <gloo/transport/unbound_buffer.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#pragma GCC diagnostic pop

#include <chrono>
#include <list>
#include <mutex>
#include <stdexcept>
#include <utility>
#include <vector>

#include "plugins/transports/c10d_store.h"

namespace skippipe {

/// Longer than any run: a wait that ends for its time-out closes all connections of its group.
constexpr auto forever = std::chrono::hours(24 * 30);

/// A message that was handed to a group, or is awaited from it.
using Posting = decltype(std::declval<c10d::ProcessGroupGloo&>().send(std::declval<std::vector<at::Tensor>&>(), 0, 0));

/// Gloo's group, with an end to all that waits in it. It sends and receives; collectives wait where nothing wakes them.
class BreakableGroup final : public c10d::ProcessGroupGloo {
public:
    using ProcessGroupGloo::ProcessGroupGloo;

    /// Waits until it is done, however long; throws where the connection breaks or the group is broken up.
    void finish(const Posting& posting) {
        const Waiting here(*this, posting);
        if (!posting->wait(forever)) throw std::runtime_error("the connection was broken up");
    }

    /// Everything under way in the group, and all that is begun later, ends with an exception, here and on the other
    /// ranks: Gloo closes a group's connections where one of its waits runs out of time. It tells those whose message
    /// had not begun; who waits for one that was half there or half gone is woken after that.
    void break_up() noexcept {
        for (const auto& context : contexts_) try {
                char nothing = 0;
                context->createUnboundBuffer(&nothing, 1)->waitRecv(nullptr, std::chrono::milliseconds(1));
            } catch (const std::exception&) {
                // As intended.
            }
        const std::lock_guard lock(mutex_);
        broken_up_ = true;
        for (const auto& posting : waiting_) posting->abort();
    }

private:
    struct Waiting {
        Waiting(BreakableGroup& of, const Posting& posting) : group(of) {
            const std::lock_guard lock(group.mutex_);
            if (group.broken_up_) throw std::runtime_error("the connection was broken up");
            place = group.waiting_.insert(group.waiting_.end(), posting);
        }
        ~Waiting() {
            const std::lock_guard lock(group.mutex_);
            group.waiting_.erase(place);
        }
        Waiting(const Waiting&) = delete;
        Waiting& operator=(const Waiting&) = delete;
        BreakableGroup& group;
        std::list<Posting>::iterator place;
    };

    std::mutex mutex_;
    std::list<Posting> waiting_;
    bool broken_up_ = false;
};

using Group = c10::intrusive_ptr<BreakableGroup>;

/// A group of `size` processes, which must meet within `patience` and then never gives up waiting.
inline Group make_group(const StorePointer& store, int rank, int size,
                        const std::shared_ptr<::gloo::transport::Device>& device, std::chrono::milliseconds patience) {
    auto options = c10d::ProcessGroupGloo::Options::create(patience);
    options->devices = {device};
    options->threads = 0;  // they are for collectives
    return c10::make_intrusive<BreakableGroup>(store, rank, size, options);
}

}  // namespace skippipe
