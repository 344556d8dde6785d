// SPDX-License-Identifier: GPL-3.0-or-later
// Ranks as threads of one process: a transport with the rules of the others (rendezvous, posted in order), for tests of
// the engine.
#pragma once
#include <condition_variable>
#include <cstring>
#include <deque>
#include <map>
#include <mutex>
#include <thread>

#include "core/engine/transport.h"

namespace skippipe::testing {

/// What the ranks share.
struct Exchange {
    explicit Exchange(int world) : ranks(world) {}
    int ranks;
    std::mutex mutex;
    std::condition_variable changed;
    std::map<std::pair<int, int>, std::deque<Delivery>> offered;  ///< by pair of ranks; taken in order
    std::map<std::string, std::vector<std::string>> rounds;       ///< of collectives
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

class ThreadTransport final : public RankTransport {
public:
    ThreadTransport(Exchange& exchange, const RankSchedule& schedule, int rank)
        : exchange_(exchange), schedule_(schedule), rank_(rank) {}

    int rank() const override { return rank_; }
    int ranks() const override { return exchange_.ranks; }
    double now_s() const override { return steady_s(); }

    void follow(const RankSchedule& schedule) override { schedule_ = schedule; }
    void begin_iteration(std::function<std::size_t(const RankTransfer&)>,
                         std::function<void(Delivery)> deliver) override {
        for (int peer = 0; peer < ranks(); ++peer) {
            if (peer == rank_) continue;
            threads_.emplace_back([this, peer, deliver] {
                for (const auto& transfer : schedule_.between(peer, rank_)) deliver(take({peer, rank_}, transfer));
            });
            threads_.emplace_back([this, peer] {
                for (const auto& transfer : schedule_.between(rank_, peer)) offer({rank_, peer}, ready(transfer));
            });
        }
    }
    void send(Delivery message) override {
        const std::lock_guard lock(mutex_);
        const int number = message.transfer.number;
        ready_.emplace(number, std::move(message));
        changed_.notify_all();
    }
    void end_iteration() override { threads_.clear(); }

    void all_reduce(int stage, std::span<float> values) override {
        std::string mine(reinterpret_cast<const char*>(values.data()), values.size_bytes());
        std::vector<float> sum(values.size(), 0.f), part(values.size());
        for (const auto& text : round("reduce" + std::to_string(stage), schedule_.ranks_of_stage(stage), mine)) {
            std::memcpy(part.data(), text.data(), text.size());
            for (std::size_t i = 0; i < part.size(); ++i) sum[i] += part[i];
        }
        std::copy(sum.begin(), sum.end(), values.begin());
    }
    double latest(int stage, double value) override {
        double most = value;
        for (const auto& text :
             round("latest" + std::to_string(stage), schedule_.ranks_of_stage(stage), std::to_string(value)))
            most = std::max(most, std::stod(text));
        return most;
    }
    std::vector<std::vector<double>> all_gather(const std::vector<double>& values) override {
        std::vector<std::vector<double>> result;
        for (const auto& text : round("gather", everybody(),
                                      {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(double)})) {
            result.emplace_back(values.size());
            std::memcpy(result.back().data(), text.data(), text.size());
        }
        return result;
    }
    std::vector<std::string> gather(const std::string& text) override {
        auto all = round("texts", everybody(), text);
        if (rank_ != 0) all.clear();
        return all;
    }
    std::string broadcast(const std::string& text) override { return round("broadcast", everybody(), text).front(); }
    void send_to(int, std::span<const std::byte>) override {}
    void receive_from(int, std::span<std::byte>) override {}
    std::unique_ptr<LineBook> line_book(std::size_t lines) override {
        const std::lock_guard lock(exchange_.mutex);
        if (!exchange_.book) exchange_.book = std::make_shared<LocalLineBook>(lines);
        return std::make_unique<BookOf>(exchange_.book);
    }

private:
    std::vector<int> everybody() const {
        std::vector<int> all;
        for (int r = 0; r < ranks(); ++r) all.push_back(r);
        return all;
    }
    Delivery ready(const RankTransfer& transfer) {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ready_.contains(transfer.number); });
        auto message = std::move(ready_.at(transfer.number));
        ready_.erase(transfer.number);
        return message;
    }
    void offer(std::pair<int, int> pair, Delivery message) {
        std::unique_lock lock(exchange_.mutex);
        exchange_.offered[pair].push_back(std::move(message));
        exchange_.changed.notify_all();
        exchange_.changed.wait(lock, [&] { return exchange_.offered[pair].empty(); });
    }
    Delivery take(std::pair<int, int> pair, const RankTransfer& transfer) {
        std::unique_lock lock(exchange_.mutex);
        auto& queue = exchange_.offered[pair];
        exchange_.changed.wait(lock, [&] { return !queue.empty(); });
        auto message = std::move(queue.front());
        queue.pop_front();
        exchange_.changed.notify_all();
        if (message.transfer != transfer) throw std::logic_error("transfers out of order");
        return message;
    }
    /// Texts of the ranks named, once all have given theirs.
    std::vector<std::string> round(const std::string& name, const std::vector<int>& members, const std::string& mine) {
        const auto key = name + "/" + std::to_string(count_[name]++);
        std::unique_lock lock(exchange_.mutex);
        for (const int member : members) exchange_.rounds[key + "/" + std::to_string(member)];
        exchange_.rounds[key + "/" + std::to_string(rank_)] = {mine};
        exchange_.changed.notify_all();
        std::vector<std::string> texts;
        for (const int member : members) {
            auto& slot = exchange_.rounds[key + "/" + std::to_string(member)];
            exchange_.changed.wait(lock, [&] { return !slot.empty(); });
            texts.push_back(slot.front());
        }
        return texts;
    }

    Exchange& exchange_;
    RankSchedule schedule_;
    int rank_;
    std::mutex mutex_;
    std::condition_variable changed_;
    std::map<int, Delivery> ready_;
    std::map<std::string, int> count_;
    std::vector<std::jthread> threads_;
};

}  // namespace skippipe::testing
