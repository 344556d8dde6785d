// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/gloo/edge.h"

#include <deque>

#include "core/engine/envelope.h"

namespace skippipe {

namespace {

constexpr int message_tag = 1;

/// Sent so far ahead, small messages do not wait for each other's round trips.
constexpr std::size_t sent_ahead = 8;

/// A message under way with its envelope: stays where it is until waited for.
struct Posted {
    explicit Posted(Buffer message) : bytes(message.data() ? std::move(message) : Buffer(0)) {}
    Posted(const Posted&) = delete;
    Posted& operator=(const Posted&) = delete;

    std::span<std::byte> all() { return {bytes.data(), bytes.size() + Buffer::envelope_bytes}; }

    Buffer bytes;
    Posting posting;
};

}  // namespace

Edge::Edge(const EdgeContext& context, Group group, int peer, bool sends)
    : context_(context), group_(std::move(group)), peer_(peer), sends_(sends), thread_([this] { run(); }) {}

Edge::~Edge() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
        changed_.notify_all();
    }
    thread_.join();
}

void Edge::begin(const std::function<std::size_t(const RankTransfer&)>& bytes, std::function<void(Delivery)> deliver,
                 std::size_t ahead) {
    if (transfers_.empty()) return;
    const std::lock_guard lock(mutex_);
    bytes_.clear();
    for (std::size_t i = 0; !sends_ && i < transfers_.size(); ++i) bytes_.push_back(bytes(transfers_[i]));
    deliver_ = std::move(deliver);
    ahead_ = ahead;
    busy_ = true;
    changed_.notify_all();
}

std::exception_ptr Edge::end() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !busy_; });
    deliver_ = nullptr;
    ready_.clear();
    return std::exchange(error_, nullptr);
}

void Edge::wake() {
    const std::lock_guard lock(mutex_);
    changed_.notify_all();
}

void Edge::run() {
    for (;;) {
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return busy_ || stop_; });
            if (stop_) return;
        }
        std::exception_ptr error;
        try {
            sends_ ? send_all() : receive_all();
        } catch (...) {
            error = std::current_exception();
        }
        if (error && !*context_.aborted) context_.broken(error);
        const std::lock_guard lock(mutex_);
        error_ = error;
        busy_ = false;
        changed_.notify_all();
    }
}

void Edge::put(Delivery message) {
    const std::lock_guard lock(mutex_);
    const int number = message.transfer.number;
    ready_.emplace(number, std::move(message));
    changed_.notify_all();
}

Delivery Edge::take(int number) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return *context_.aborted || ready_.contains(number); });
    if (*context_.aborted) throw Aborted();
    auto message = std::move(ready_.at(number));
    ready_.erase(number);
    return message;
}

void Edge::send_all() {
    std::deque<Posted> under_way;
    // The newest first, so that the others need no waking; each once only, as a wait takes its completion away.
    const auto settle = [&](std::size_t count) {
        for (std::size_t k = count; k-- > 0;) context_.guarded(peer_, [&] { group_->finish(under_way[k].posting); });
        for (; count > 0; --count) under_way.pop_front();
    };
    for (const auto& transfer : transfers_) {
        auto message = take(transfer.number);
        auto& posted = under_way.emplace_back(std::move(message.bytes));
        write_envelope(message, posted.bytes.envelope());
        context_.guarded(peer_, [&] { posted.posting = post_send(group_, posted.all(), 1, message_tag); });
        if (under_way.size() == sent_ahead) settle(sent_ahead / 2);
    }
    settle(under_way.size());
}

void Edge::receive_all() {
    std::deque<Posted> under_way;
    std::size_t next = 0;
    for (const auto& transfer : transfers_) {
        for (; next < transfers_.size() && under_way.size() < ahead_; ++next) {
            auto& posted = under_way.emplace_back(Buffer(bytes_[next]));
            context_.guarded(peer_, [&] { posted.posting = post_receive(group_, posted.all(), 0, message_tag); });
        }
        auto& posted = under_way.front();
        context_.guarded(peer_, [&] { group_->finish(posted.posting); });
        const auto times = read_envelope(posted.bytes.envelope(), transfer, peer_, context_.now_s());
        auto& bytes = posted.bytes;
        if (!context_.gate->pass([&] { deliver_({transfer, times, std::move(bytes)}); })) throw Aborted();
        under_way.pop_front();
    }
}

}  // namespace skippipe
