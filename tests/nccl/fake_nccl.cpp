// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/nccl/fake_nccl.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>

#include "tests/device/host_queue.h"

namespace skippipe {

/// One rank's end of a communicator.
struct NcclComm {
    std::string id, device;
    int ranks = 0, rank = 0;
    bool aborted = false;
    int busy = 0;  ///< looks until the last call is over
    NcclResult error = NcclResult::success;
};

namespace testing {
namespace {

using CommPointer = std::shared_ptr<NcclComm>;

/// A send, a receive or a part of a sum, on its way.
struct Post {
    enum class Kind { send, receive, sum } kind = Kind::send;
    CommPointer comm;
    std::byte* data = nullptr;
    std::size_t count = 0;
    NcclType type = NcclType::bytes;
    int peer = -1;  ///< of a transfer
    HostQueue* queue = nullptr;
    bool done = false;
};
using PostPointer = std::shared_ptr<Post>;

struct World {
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::string, std::vector<CommPointer>> comms;  ///< by id
    std::vector<PostPointer> open;                          ///< in the order in which queues came to them
    std::vector<std::string> violations;
    std::set<std::string> stalled;
    std::map<std::string, NcclResult> failing;
    bool tells = false;
    FakeCounts counts;
    int ids = 0;
};

World& world() {
    static World the_world;
    return the_world;
}

/// Of a thread between group_start and group_end.
thread_local int group_depth = 0;
thread_local std::vector<PostPointer> grouped;

std::size_t size_of(NcclType type) { return type == NcclType::float32 ? 4 : 1; }

CommPointer find(NcclComm* comm) {
    for (const auto& [id, ends] : world().comms)
        for (const auto& end : ends)
            if (end.get() == comm) return end;
    return nullptr;
}

void refuse(const CommPointer& comm, const std::string& why) {
    world().violations.push_back("rank " + std::to_string(comm->rank) + ": " + why);
    for (const auto& end : world().comms[comm->id]) end->error = NcclResult::invalid_usage;
    world().changed.notify_all();
}

bool complete(const CommPointer& comm) { return static_cast<int>(world().comms[comm->id].size()) == comm->ranks; }

bool stalled(const Post& post) { return world().stalled.contains(post.comm->device); }

bool over(const Post& post) { return post.done || post.comm->aborted || post.comm->error != NcclResult::success; }

/// The other side of a transfer, if its queue has come to it.
PostPointer partner(const Post& post) {
    for (const auto& other : world().open)
        if (!over(*other) && other->comm->id == post.comm->id && other->kind != Post::Kind::sum &&
            other->kind != post.kind && other->comm->rank == post.peer && other->peer == post.comm->rank)
            return other;
    return nullptr;
}

void match_transfer(Post& mine) {
    const auto other = partner(mine);
    if (!other || stalled(mine) || stalled(*other)) return;
    if (other->count != mine.count || other->type != mine.type)
        return refuse(mine.comm, "the other side's message has another size or type");
    auto& from = mine.kind == Post::Kind::send ? mine : *other;
    auto& to = mine.kind == Post::Kind::send ? *other : mine;
    std::memcpy(to.data, from.data, from.count * size_of(from.type));
    from.done = to.done = true;
    ++world().counts.transfers;
}

std::vector<PostPointer> parts_of_sum(const Post& mine) {
    std::vector<PostPointer> parts;
    for (const auto& post : world().open)
        if (!over(*post) && post->kind == Post::Kind::sum && post->comm->id == mine.comm->id) parts.push_back(post);
    return parts;
}

/// Summed in the order of the ranks.
void match_sum(Post& mine) {
    auto parts = parts_of_sum(mine);
    if (static_cast<int>(parts.size()) < mine.comm->ranks) return;
    std::sort(parts.begin(), parts.end(), [](const auto& a, const auto& b) { return a->comm->rank < b->comm->rank; });
    for (const auto& part : parts) {
        if (stalled(*part)) return;
        if (part->count != mine.count || part->type != mine.type)
            return refuse(mine.comm, "another rank's part of the sum has another size or type");
    }
    std::vector<float> sum(mine.count, 0.f), values(mine.count);
    for (const auto& part : parts) {
        std::memcpy(values.data(), part->data, sum.size() * sizeof(float));
        for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
    }
    for (const auto& part : parts) {
        std::memcpy(part->data, sum.data(), sum.size() * sizeof(float));
        part->done = true;
    }
    ++world().counts.sums;
}

/// The queues whose next step a post waits for.
std::vector<HostQueue*> waits_for(const Post& post) {
    std::vector<HostQueue*> queues;
    const auto parts = post.kind == Post::Kind::sum ? parts_of_sum(post) : std::vector<PostPointer>{};
    for (const auto& end : world().comms[post.comm->id]) {
        if (end == post.comm || (post.kind != Post::Kind::sum && end->rank != post.peer)) continue;
        if (std::any_of(parts.begin(), parts.end(), [&](const auto& part) { return part->comm == end; })) continue;
        for (const auto& other : world().open)
            if (!over(*other) && other->comm->device == end->device) queues.push_back(other->queue);
    }
    return queues;
}

/// Queues do one thing after the other: where the way from one who waits to whom he waits for comes back to him, none
/// of them ever goes on. Those in one group wait side by side.
bool waits_for_itself(HostQueue* start) {
    std::set<HostQueue*> seen;
    std::vector<HostQueue*> left{start};
    while (!left.empty()) {
        auto* queue = left.back();
        left.pop_back();
        for (const auto& post : world().open) {
            if (post->queue != queue || over(*post) || partner(*post)) continue;
            for (auto* next : waits_for(*post)) {
                if (next == start) return true;
                if (seen.insert(next).second) left.push_back(next);
            }
        }
    }
    return false;
}

/// Why they wait, where the other side has come to what is meant for this one, in another communicator.
std::string why_all_wait(const std::vector<PostPointer>& posts) {
    const auto meant_for_each_other = [](const Post& mine, const Post& other) {
        if (mine.comm->id == other.comm->id || mine.comm->device == other.comm->device || mine.kind == other.kind)
            return mine.kind == Post::Kind::sum && other.kind == Post::Kind::sum && mine.comm->id != other.comm->id;
        return mine.kind != Post::Kind::sum && other.kind != Post::Kind::sum && mine.peer == other.comm->rank &&
               other.peer == mine.comm->rank;
    };
    for (const auto& mine : posts)
        for (const auto& other : world().open)
            if (!over(*mine) && !over(*other) && meant_for_each_other(*mine, *other))
                return "the other side is in another communicator";
    return "all wait for each other";
}

/// In the queue: all posts of a group are there at once, and the queue goes on when all are done.
void play(const std::vector<PostPointer>& posts) {
    auto& w = world();
    std::unique_lock lock(w.mutex);
    w.open.insert(w.open.end(), posts.begin(), posts.end());
    for (const auto& post : posts)
        if (!over(*post)) post->kind == Post::Kind::sum ? match_sum(*post) : match_transfer(*post);
    const auto waits = std::find_if(posts.begin(), posts.end(), [](const auto& post) { return !over(*post); });
    if (waits != posts.end() && waits_for_itself(posts[0]->queue)) refuse((*waits)->comm, why_all_wait(posts));
    w.changed.notify_all();
    const auto all_over = [&] {
        return std::all_of(posts.begin(), posts.end(), [](const auto& p) { return over(*p); });
    };
    w.changed.wait(lock, all_over);
    std::erase_if(w.open, [&](const auto& one) { return std::find(posts.begin(), posts.end(), one) != posts.end(); });
}

/// A call is taken, and goes on for some looks.
NcclResult taken(const CommPointer& comm) {
    comm->busy = 3;
    return NcclResult::in_progress;
}

NcclResult post(Post::Kind kind, const void* data, std::size_t count, NcclType type, int peer, NcclComm* handle,
                void* stream) {
    auto& w = world();
    const std::lock_guard lock(w.mutex);
    const auto comm = find(handle);
    if (!comm || comm->aborted) {
        w.violations.emplace_back("a communicator that is not there");
        return NcclResult::invalid_argument;
    }
    if (comm->busy > 0 || !complete(comm)) refuse(comm, "a call while the one before is still going on");
    if (kind != Post::Kind::sum && (peer < 0 || peer >= comm->ranks || peer == comm->rank))
        refuse(comm, "a peer that is none");
    if (static_cast<HostQueue*>(stream)->identity() != comm->device)
        refuse(comm, "a stream of another device than the communicator's");
    if (comm->error != NcclResult::success) return comm->error;
    auto one = std::make_shared<Post>();
    *one = {kind,
            comm,
            static_cast<std::byte*>(const_cast<void*>(data)),
            count,
            type,
            peer,
            static_cast<HostQueue*>(stream)};
    if (group_depth > 0) {
        grouped.push_back(one);
        return NcclResult::success;
    }
    one->queue->enqueue([one] { play({one}); });
    return taken(comm);
}

NcclResult init(NcclComm** made, int ranks, NcclUniqueId id, int rank, NcclConfig* config) {
    auto& w = world();
    const std::lock_guard lock(w.mutex);
    auto comm = std::make_shared<NcclComm>();
    *comm = {std::string(id.internal, nccl_id_bytes), current_device(), ranks, rank};
    auto& ends = w.comms[comm->id];
    ends.push_back(comm);
    *made = comm.get();
    ++w.counts.communicators;
    if (config->magic != 0xcafebeef || config->size != sizeof(NcclConfig) || config->blocking != 0)
        refuse(comm, "a configuration that is none");
    for (const auto& other : ends) {
        if (other == comm) continue;
        if (other->ranks != ranks) refuse(comm, "another number of ranks");
        if (other->rank == rank) refuse(comm, "rank twice");
        if (other->device == comm->device) refuse(comm, "duplicate GPU: " + comm->device);
    }
    return comm->error == NcclResult::success ? taken(comm) : comm->error;
}

NcclResult async_error(NcclComm* handle, NcclResult* result) {
    auto& w = world();
    const std::lock_guard lock(w.mutex);
    const auto comm = find(handle);
    if (!comm) return NcclResult::invalid_argument;
    if (const auto fails = w.failing.find(comm->device); fails != w.failing.end()) comm->error = fails->second;
    if (comm->busy > 0) --comm->busy;
    *result = comm->error != NcclResult::success  ? comm->error
              : comm->busy > 0 || !complete(comm) ? NcclResult::in_progress
                                                  : NcclResult::success;
    return NcclResult::success;
}

NcclResult abort(NcclComm* handle) {
    auto& w = world();
    const std::lock_guard lock(w.mutex);
    const auto comm = find(handle);
    if (!comm || comm->aborted) {
        w.violations.emplace_back("a communicator that is not there was aborted");
        return NcclResult::invalid_argument;
    }
    comm->aborted = true;
    ++w.counts.aborts;
    for (const auto& end : w.comms[comm->id])
        if (w.tells && !end->aborted) end->error = NcclResult::remote_error;
    w.changed.notify_all();
    return NcclResult::success;
}

NcclResult group_end() {
    auto& w = world();
    const std::lock_guard lock(w.mutex);
    if (group_depth-- != 1) w.violations.emplace_back("a group within a group");
    const auto posts = std::exchange(grouped, {});
    if (posts.empty()) return NcclResult::success;
    if (posts.size() > 1) ++w.counts.groups;
    posts.front()->queue->enqueue([posts] { play(posts); });
    return taken(posts.front()->comm);
}

}  // namespace

NcclApi fake_nccl() {
    NcclApi api{};
    api.version = [](int* version) { return *version = 22809, NcclResult::success; };
    api.error_string = [](NcclResult result) {
        return result == NcclResult::remote_error    ? "remote process exited or there was a network error"
               : result == NcclResult::invalid_usage ? "invalid usage"
                                                     : "error";
    };
    api.last_error = [](NcclComm*) { return ""; };
    api.unique_id = [](NcclUniqueId* id) {
        const std::lock_guard lock(world().mutex);
        std::memset(id->internal, 0, nccl_id_bytes);
        std::snprintf(id->internal, nccl_id_bytes, "%d", ++world().ids);
        return NcclResult::success;
    };
    api.init = init;
    api.abort = abort;
    api.async_error = async_error;
    api.group_start = [] { return ++group_depth, NcclResult::success; };
    api.group_end = group_end;
    api.send = [](const void* data, std::size_t count, NcclType type, int peer, NcclComm* comm, void* stream) {
        return post(Post::Kind::send, data, count, type, peer, comm, stream);
    };
    api.receive = [](void* data, std::size_t count, NcclType type, int peer, NcclComm* comm, void* stream) {
        return post(Post::Kind::receive, data, count, type, peer, comm, stream);
    };
    api.all_reduce = [](const void* from, void* to, std::size_t count, NcclType type, NcclOperation, NcclComm* comm,
                        void* stream) {
        return from == to ? post(Post::Kind::sum, from, count, type, -1, comm, stream) : NcclResult::invalid_argument;
    };
    return api;
}

void reset_fake_nccl() {
    auto& w = world();
    const std::lock_guard lock(w.mutex);
    w.comms.clear();
    w.violations.clear();
    w.stalled.clear();
    w.failing.clear();
    w.tells = false;
    w.counts = {};
}

std::vector<std::string> fake_violations() {
    const std::lock_guard lock(world().mutex);
    return world().violations;
}

FakeCounts fake_counts() {
    const std::lock_guard lock(world().mutex);
    return world().counts;
}

void fake_stall(const std::string& device) {
    const std::lock_guard lock(world().mutex);
    world().stalled.insert(device);
}

void fake_fail(const std::string& device, NcclResult error) {
    const std::lock_guard lock(world().mutex);
    world().failing[device] = error;
    world().changed.notify_all();
}

void fake_tells_of_ends(bool tells) {
    const std::lock_guard lock(world().mutex);
    world().tells = tells;
}

}  // namespace testing
}  // namespace skippipe
