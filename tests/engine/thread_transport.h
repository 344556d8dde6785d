// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks as threads of one process: a transport with the rules of the others (rendezvous, posted in order), for tests of
// the engine. tests/transports/test_contract.cpp holds it to them.
#pragma once
#include <algorithm>
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <thread>

#include "core/engine/delivery_gate.h"
#include "core/engine/transport.h"

namespace skippipe::testing {

class ThreadTransport;

/// What the ranks share.
struct Exchange {
    explicit Exchange(int world) : ranks(world) {
        for (int rank = 0; rank < world; ++rank) members.push_back(rank);
    }
    int ranks;
    std::vector<int> members;                      ///< of the last meeting
    int meeting = 0;                               ///< its number
    std::set<int> come, dead, awaited, returning;  ///< to the next one; since the last; of these back; wanting in
    std::map<int, ThreadTransport*> there;
    bool over = false;  ///< rank 0 is lost
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::pair<int, int>, std::deque<Delivery>> offered;              ///< by pair of ranks; taken in order
    std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> given;  ///< the same of send_to
    std::map<std::string, std::vector<std::string>> rounds;                   ///< of collectives
    std::set<int> gone;                                                       ///< ranks that aborted
    std::shared_ptr<LineBook> book;
};

/// Lends out the shared book.
class BookOf final : public LineBook {
public:
    explicit BookOf(std::shared_ptr<LineBook> book) : book_(std::move(book)) {}
    double reserve(int line, double earliest_s, double occupied_s) override {
        return book_->reserve(line, earliest_s, occupied_s);
    }

private:
    std::shared_ptr<LineBook> book_;
};

class ThreadTransport : public RankTransport {
public:
    ThreadTransport(Exchange& exchange, const RankSchedule& schedule, int rank, bool comes_back = false)
        : exchange_(exchange), schedule_(schedule), rank_(rank), aborted_(comes_back), must_regroup_(comes_back) {
        const std::lock_guard lock(exchange_.mutex);
        exchange_.there[rank] = this;
        if (comes_back) exchange_.returning.insert(rank);
    }
    ~ThreadTransport() override {
        // One that is through has told the others all that they wait for.
        if (!threads_.empty()) abort();
        threads_.clear();
        const std::lock_guard lock(exchange_.mutex);
        if (const auto found = exchange_.there.find(rank_); found != exchange_.there.end() && found->second == this)
            exchange_.there.erase(found);  // else another one has come back
    }

    /// This rank is lost: the others that outlive it know at once. It must do nothing more.
    /// `returns`: they wait for it at the next meeting.
    void die(bool returns = false) {
        {
            const std::lock_guard lock(exchange_.mutex);
            exchange_.dead.insert(rank_);
            if (returns) exchange_.awaited.insert(rank_);
            exchange_.gone.insert(rank_);
            exchange_.over = exchange_.over || rank_ == 0;
            dead_ = aborted_ = true;
            for (const auto& [rank, other] : exchange_.there)
                if (rank != rank_ && other->outlives_) other->interrupted();
            exchange_.changed.notify_all();
        }
        abort();
    }
    std::vector<int> members() const override {
        const std::lock_guard lock(exchange_.mutex);
        return exchange_.members;
    }
    void outlive_losses(bool outlives) override { outlives_ = outlives; }
    bool must_regroup() const override { return must_regroup_ && !dead_; }
    bool somebody_waits() const override {
        const std::lock_guard lock(exchange_.mutex);
        return !exchange_.returning.empty();
    }
    Regrouping regroup() override {
        if (!aborted_) abort();
        threads_.clear();
        std::unique_lock lock(exchange_.mutex);
        const int before = exchange_.meeting;
        const bool lost = !exchange_.dead.empty();
        exchange_.come.insert(rank_);
        exchange_.changed.notify_all();
        if (rank_ == 0) decide(lock);
        exchange_.changed.wait(lock, [&] { return exchange_.meeting > before || exchange_.over; });
        if (exchange_.over) {
            must_regroup_ = false;
            throw InputError("rank 0", "rank 0 is gone", "it decides for all", "Start again");
        }
        gate_ = std::make_unique<DeliveryGate>();
        count_.clear();
        error_ = nullptr;
        ready_.clear();
        return {exchange_.members, lost ? "it died" : "", 0};
    }

    int rank() const override { return rank_; }
    int ranks() const override { return exchange_.ranks; }
    void abort() noexcept override {
        aborted_ = true;
        {
            const std::lock_guard lock(exchange_.mutex);
            if (!dead_) exchange_.gone.insert(rank_);
            exchange_.changed.notify_all();
        }
        {
            const std::lock_guard lock(mutex_);
            changed_.notify_all();
        }
        broken_.raise(std::make_exception_ptr(Aborted()));
        gate_->close();
    }
    void when_broken(std::function<void(std::exception_ptr)> broken) override { broken_.set(std::move(broken)); }
    double now_s() const override { return steady_s(); }

    void follow(const RankSchedule& schedule) override {
        check();
        schedule_ = schedule;
    }
    void begin_iteration(std::function<std::size_t(const RankTransfer&)>,
                         std::function<void(Delivery)> deliver) override {
        check();
        for (int peer = 0; peer < ranks(); ++peer) {
            if (peer == rank_) continue;
            start([this, peer, deliver] {
                for (const auto& transfer : schedule_.between(peer, rank_)) {
                    auto message = take({peer, rank_}, transfer);
                    if (!plausible(message.times, now_s())) throw PeerFault(peer, "sent times that cannot be");
                    if (!gate_->pass([&] { deliver(std::move(message)); })) throw Aborted();
                }
            });
            start([this, peer] {
                for (const auto& transfer : schedule_.between(rank_, peer)) offer({rank_, peer}, ready(transfer));
            });
        }
    }
    void send(Delivery message) override {
        check();
        const std::lock_guard lock(mutex_);
        const int number = message.transfer.number;
        ready_.emplace(number, std::move(message));
        changed_.notify_all();
    }
    void end_iteration() override {
        threads_.clear();
        const std::lock_guard lock(mutex_);
        ready_.clear();
        if (auto error = std::exchange(error_, nullptr)) std::rethrow_exception(error);
        check();
    }

    void all_reduce(int stage, std::span<float> values) override {
        check();
        if (values.empty()) return;
        std::string mine(reinterpret_cast<const char*>(values.data()), values.size_bytes());
        std::vector<float> sum(values.size(), 0.f), part(values.size());
        for (const auto& text : round("reduce" + std::to_string(stage), schedule_.ranks_of_stage(stage), mine)) {
            std::memcpy(part.data(), text.data(), text.size());
            for (std::size_t i = 0; i < part.size(); ++i) sum[i] += part[i];
        }
        std::copy(sum.begin(), sum.end(), values.begin());
    }
    std::vector<std::vector<double>> gather_stage(int stage, const std::vector<double>& values) override {
        return numbers(round("stage" + std::to_string(stage), schedule_.ranks_of_stage(stage), text_of(values)));
    }
    std::vector<std::vector<double>> all_gather(const std::vector<double>& values) override {
        return by_rank(numbers(round("gather", everybody(), text_of(values))));
    }
    std::vector<std::string> gather(const std::string& text) override {
        auto all = by_rank(round("texts", everybody(), text));
        if (rank_ != 0) all.clear();
        return all;
    }
    std::string broadcast(const std::string& text) override { return round("broadcast", everybody(), text).front(); }
    void send_to(int peer, std::span<const std::byte> bytes) override {
        std::unique_lock lock(exchange_.mutex);
        auto& queue = exchange_.given[{rank_, peer}];
        queue.emplace_back(bytes.begin(), bytes.end());
        exchange_.changed.notify_all();
        wait(lock, {peer}, [&] { return queue.empty(); });
    }
    void receive_from(int peer, std::span<std::byte> bytes) override {
        std::unique_lock lock(exchange_.mutex);
        auto& queue = exchange_.given[{peer, rank_}];
        wait(lock, {peer}, [&] { return !queue.empty(); });
        const auto message = std::move(queue.front());
        queue.pop_front();
        exchange_.changed.notify_all();
        if (message.size() != bytes.size()) throw PeerFault(peer, "sent a message of another size");
        std::copy(message.begin(), message.end(), bytes.begin());
    }
    std::unique_ptr<LineBook> line_book(std::size_t lines) override {
        check();
        const std::lock_guard lock(exchange_.mutex);
        if (!exchange_.book) exchange_.book = std::make_shared<LocalLineBook>(lines);
        return std::make_unique<BookOf>(exchange_.book);
    }

private:
    static std::string text_of(const std::vector<double>& values) {
        return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)};
    }
    static std::vector<std::vector<double>> numbers(const std::vector<std::string>& texts) {
        std::vector<std::vector<double>> result;
        for (const auto& text : texts) {
            result.emplace_back(text.size() / sizeof(double));
            std::memcpy(result.back().data(), text.data(), text.size());
        }
        return result;
    }
    std::vector<int> everybody() const { return members(); }
    /// By rank; nothing of those that are not there.
    template <class Value>
    std::vector<Value> by_rank(std::vector<Value> of_members) const {
        std::vector<Value> all(static_cast<std::size_t>(ranks()));
        const auto there = members();
        for (std::size_t i = 0; i < of_members.size(); ++i)
            all[static_cast<std::size_t>(there[i])] = std::move(of_members[i]);
        return all;
    }
    /// Another rank is lost; with the exchange's mutex held.
    void interrupted() {
        must_regroup_ = true;
        aborted_ = true;
        changed_.notify_all();
        broken_.raise(std::make_exception_ptr(Aborted()));
    }
    /// Rank 0: once all that live have come, those are the members.
    void decide(std::unique_lock<std::mutex>& lock) {
        exchange_.changed.wait(lock, [this] {
            return std::all_of(exchange_.members.begin(), exchange_.members.end(), [this](int member) {
                const bool gone = exchange_.dead.contains(member) && !exchange_.awaited.contains(member);
                return exchange_.come.contains(member) || gone;
            });
        });
        exchange_.members.assign(exchange_.come.begin(), exchange_.come.end());
        for (const int member : exchange_.members) {
            exchange_.returning.erase(member);
            exchange_.there.at(member)->must_regroup_ = exchange_.there.at(member)->aborted_ = false;
        }
        exchange_.offered.clear();
        exchange_.given.clear();
        exchange_.rounds.clear();
        exchange_.gone.clear();
        for (auto* ranks : {&exchange_.come, &exchange_.dead, &exchange_.awaited}) ranks->clear();
        ++exchange_.meeting;
        exchange_.changed.notify_all();
    }
    void check() const {
        if (aborted_) throw Aborted();
    }
    /// Until `done`, with the exchange's mutex held; throws where this rank aborted or one of the peers did.
    template <class Done>
    void wait(std::unique_lock<std::mutex>& lock, const std::vector<int>& peers, Done done) {
        const auto lost = [&] {
            return std::any_of(peers.begin(), peers.end(), [&](int p) { return exchange_.gone.contains(p); });
        };
        exchange_.changed.wait(lock, [&] { return aborted_ || done() || lost(); });
        check();
        if (!done()) throw InputError("ranks", "a rank is gone", "others waited for it", "Start again");
    }
    void start(std::function<void()> work) {
        threads_.emplace_back([this, work = std::move(work)] {
            try {
                work();
            } catch (...) {
                fail(std::current_exception());
            }
        });
    }
    void fail(std::exception_ptr error) {
        if (aborted_) return;
        {
            const std::lock_guard lock(mutex_);
            if (error_) return;
            error_ = error;
        }
        if (!broken_.raise(error)) abort();
    }
    Delivery ready(const RankTransfer& transfer) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return aborted_ || ready_.contains(transfer.number); });
        check();
        auto message = std::move(ready_.at(transfer.number));
        ready_.erase(transfer.number);
        return message;
    }
    void offer(std::pair<int, int> pair, Delivery message) {
        std::unique_lock lock(exchange_.mutex);
        check();
        exchange_.offered[pair].push_back(std::move(message));
        exchange_.changed.notify_all();
        wait(lock, {pair.second}, [&] { return exchange_.offered[pair].empty(); });
    }
    Delivery take(std::pair<int, int> pair, const RankTransfer& transfer) {
        std::unique_lock lock(exchange_.mutex);
        auto& queue = exchange_.offered[pair];
        wait(lock, {pair.first}, [&] { return !queue.empty(); });
        auto message = std::move(queue.front());
        queue.pop_front();
        exchange_.changed.notify_all();
        if (message.transfer != transfer) throw std::logic_error("transfers out of order");
        return message;
    }
    /// Texts of the ranks named, once all have given theirs.
    std::vector<std::string> round(const std::string& name, const std::vector<int>& members, const std::string& mine) {
        check();
        std::string of = name;  // who has come to a stage since has not counted what the others did without it
        for (const int member : members) of += "/" + std::to_string(member);
        const auto key = of + "/" + std::to_string(count_[of]++);
        std::unique_lock lock(exchange_.mutex);
        check();
        for (const int member : members) exchange_.rounds[key + "/" + std::to_string(member)];
        exchange_.rounds[key + "/" + std::to_string(rank_)] = {mine};
        exchange_.changed.notify_all();
        std::vector<std::string> texts;
        for (const int member : members) {
            auto& slot = exchange_.rounds[key + "/" + std::to_string(member)];
            wait(lock, {member}, [&] { return !slot.empty(); });
            texts.push_back(slot.front());
        }
        return texts;
    }

    Exchange& exchange_;
    RankSchedule schedule_;
    int rank_;
    std::atomic<bool> aborted_{false}, must_regroup_{false}, outlives_{false}, dead_{false};
    std::unique_ptr<DeliveryGate> gate_ = std::make_unique<DeliveryGate>();
    BreakSignal broken_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::exception_ptr error_;
    std::map<int, Delivery> ready_;
    std::map<std::string, int> count_;
    std::vector<std::jthread> threads_;
};

}  // namespace skippipe::testing
