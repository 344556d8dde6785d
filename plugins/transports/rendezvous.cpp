// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/rendezvous.h"

#include <chrono>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/engine/transport.h"

namespace skippipe {

namespace {

using namespace std::chrono_literals;

constexpr auto beat_every = 200ms;

std::vector<std::uint8_t> to_bytes(const std::string& text) { return {text.begin(), text.end()}; }
std::string to_text(const std::vector<std::uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

nlohmann::json write(const Faults& faults) {
    auto json = nlohmann::json::array();
    for (const auto& f : faults) json.push_back({f.pointer, f.what, f.why, f.remedy});
    return json;
}

Faults read_faults(const std::string& text) {
    Faults faults;
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_array()) return faults;
    for (const auto& f : json)
        if (f.is_array() && f.size() == 4)
            faults.push_back(
                {f[0].get<std::string>(), f[1].get<std::string>(), f[2].get<std::string>(), f[3].get<std::string>()});
    return faults;
}

}  // namespace

Rendezvous::Rendezvous(LaunchEnvironment launch, double patience_s)
    : launch_(std::move(launch)), port_(launch_.master_port) {
    const bool hosts = launch_.rank == 0 && !launch_.agent_store;
    try {
        const std::chrono::milliseconds patience(static_cast<long long>(patience_s * 1000));
        server_ = make_store(launch_.master_address, port_, hosts, patience);
        port_ = server_->getPort();
        store_ = server_;
    } catch (const std::exception& error) {
        throw InputError("MASTER_ADDR",
                         fmt::format("rank {} {} {}:{}", launch_.rank, hosts ? "cannot listen at" : "found nobody at",
                                     launch_.master_address, launch_.master_port),
                         error.what(),
                         hosts ? "Choose another MASTER_PORT, or an address of this host"
                               : "Check MASTER_ADDR and MASTER_PORT, that rank 0 runs, and the firewall");
    }
}

Rendezvous::~Rendezvous() {
    stop_ = true;
    if (heart_.joinable()) heart_.join();
}

c10::intrusive_ptr<c10d::TCPStore> Rendezvous::connect() const {
    return make_store(launch_.master_address, port_, false, 60s);
}

std::string Rendezvous::share(const std::string& key, const std::string& text) {
    if (launch_.rank == 0) {
        store_->set("share/" + key, to_bytes(text));
        return text;
    }
    return to_text(store_->get("share/" + key));
}

void Rendezvous::watch(std::function<void(const Loss&)> lost, double limit_s) {
    lost_ = std::move(lost);
    limit_s_ = limit_s;
    beats_.assign(static_cast<std::size_t>(launch_.world_size), {"", steady_s()});
    heart_ = std::thread([this] { beat(); });
}

void Rendezvous::beat() {
    try {
        const auto store = connect();
        for (std::uint64_t count = 1; !stop_; ++count) {
            store->set(fmt::format("beat/{}", launch_.rank), to_bytes(std::to_string(count)));
            if (!look(*store)) return;
            std::this_thread::sleep_for(beat_every);
        }
    } catch (const std::exception& error) {
        if (!stop_) lose({0, fmt::format("its store cannot be reached: {}", error.what()), {}});
    }
}

/// What the others say; false once a rank is lost. Rank 0 watches everybody, the others watch rank 0, through the
/// store.
bool Rendezvous::look(c10d::TCPStore& store) {
    if (store.check({"lost"})) {
        const auto json = nlohmann::json::parse(to_text(store.get("lost")), nullptr, false);
        Loss loss{json.value("rank", -1), json.value("how", ""), {}};
        if (json.contains("faults")) loss.faults = read_faults(json["faults"].dump());
        lose(loss);
        return false;
    }
    const int watched = launch_.rank == 0 ? launch_.world_size : 1;
    for (int rank = 0; rank < watched; ++rank) {
        const auto key = fmt::format("beat/{}", rank);
        if (rank == launch_.rank || !store.check({key})) continue;
        auto& [value, since_s] = beats_[static_cast<std::size_t>(rank)];
        const auto now = to_text(store.get(key));
        if (now != value) {
            value = now;
            since_s = steady_s();
        } else if (steady_s() - since_s > limit_s_) {
            const Loss loss{rank, fmt::format("it has been silent for {:.0f} s", limit_s_), {}};
            store.set("lost", to_bytes(nlohmann::json{{"rank", rank}, {"how", loss.how}}.dump()));
            lose(loss);
            return false;
        }
    }
    return true;
}

void Rendezvous::lose(const Loss& loss) {
    {
        const std::lock_guard lock(mutex_);
        if (told_ || stop_) return;
        told_ = true;
    }
    if (lost_) lost_(loss);
}

void Rendezvous::report_broken(int rank, const std::string& how) {
    // A rank that failed says why before it goes: let that be heard first.
    std::this_thread::sleep_for(2 * beat_every);
    try {
        const auto store = connect();
        if (!store->check({"lost"}))
            store->set("lost", to_bytes(nlohmann::json{{"rank", rank}, {"how", how}}.dump(
                                   -1, ' ', false, nlohmann::json::error_handler_t::replace)));
    } catch (const std::exception&) {
        rank = 0;  // the store's host is the one that is gone
    }
    std::this_thread::sleep_for(5 * beat_every);
    lose({rank, how, {}});
}

void Rendezvous::report_failed(const Faults& faults) {
    try {
        const nlohmann::json json{{"rank", launch_.rank}, {"how", "it cannot go on"}, {"faults", write(faults)}};
        connect()->set("lost", to_bytes(json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
    } catch (const std::exception&) {
        // Nobody is there to hear it.
    }
}

void Rendezvous::leave() {
    stop_ = true;
    if (heart_.joinable()) heart_.join();
    const auto gone = store_->add("gone", 1);
    if (launch_.rank != 0) return;
    for (auto left = gone; left < launch_.world_size; left = store_->add("gone", 0)) std::this_thread::sleep_for(1ms);
}

}  // namespace skippipe
