// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/rendezvous.h"

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/version.h>

#include "core/engine/build_id.h"
#include "core/engine/transport.h"
#include "plugins/transports/local_store.h"
#include "plugins/transports/run_store.h"

namespace skippipe {

/// What hosts the store, where this rank does.
struct Rendezvous::Server {
    std::unique_ptr<LocalStoreServer> local;
    c10::intrusive_ptr<c10d::TCPStore> tcp;
};

namespace {

using namespace std::chrono_literals;

/// After a connection broke: what failed there says so meanwhile.
constexpr double hear_first_s = 0.4;
/// Where one of several is gone, those that have a connection of their own to it know better, or its silence shows it.
constexpr double hear_others_first_s = 7;
/// Between the rendezvous and a rank's first beat.
constexpr double join_within_s = 120;
constexpr int looks_in_silence = 3;
/// The same, where all meet again anyway: then it comes out who is gone.
constexpr double hear_before_meeting_s = 0.8;
/// While ranks meet: whoever says nothing for so long (or five beats) is lost too.
constexpr double shortest_answer_s = 1.5;

std::string beat_key(int rank) { return fmt::format("beat/{}", rank); }
std::string lost_key(int meeting) { return fmt::format("lost/{}", meeting); }
std::string return_key(int rank) { return fmt::format("returned/{}", rank); }
const std::string meeting_key = "meeting", failed_key = "failed";

bool contains(const std::vector<int>& ranks, int rank) {
    return std::find(ranks.begin(), ranks.end(), rank) != ranks.end();
}

nlohmann::json write(const Faults& faults) {
    auto json = nlohmann::json::array();
    for (const auto& f : faults) json.push_back({f.pointer, f.what, f.why, f.remedy});
    return json;
}

Faults read_faults(const nlohmann::json& json) {
    Faults faults;
    if (!json.is_array()) return faults;
    for (const auto& f : json)
        if (f.is_array() && f.size() == 4 &&
            std::all_of(f.begin(), f.end(), [](const auto& t) { return t.is_string(); }))
            faults.push_back(
                {f[0].get<std::string>(), f[1].get<std::string>(), f[2].get<std::string>(), f[3].get<std::string>()});
    return faults;
}

std::string write(const Loss& loss) {
    nlohmann::json json{{"rank", loss.rank}, {"how", loss.how}, {"unnoticed_s", loss.unnoticed_s}};
    if (!loss.faults.empty()) json["faults"] = write(loss.faults);
    return json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

Loss read_loss(const std::string& text, int world_size) {
    Loss loss;
    const auto json = nlohmann::json::parse(text, nullptr, false);
    if (!json.is_object()) return loss;
    if (const auto rank = json.find("rank"); rank != json.end() && rank->is_number_integer())
        loss.rank = rank->get<std::int64_t>() >= 0 && rank->get<std::int64_t>() < world_size ? rank->get<int>() : -1;
    if (const auto how = json.find("how"); how != json.end() && how->is_string()) loss.how = how->get<std::string>();
    if (const auto s = json.find("unnoticed_s"); s != json.end() && s->is_number())
        loss.unnoticed_s = std::clamp(s->get<double>(), 0.0, 86400.0);
    if (const auto faults = json.find("faults"); faults != json.end()) loss.faults = read_faults(*faults);
    return loss;
}

std::string write(const Meeting& meeting) {
    return nlohmann::json{{"number", meeting.number}, {"members", meeting.members}, {"loss", write(meeting.loss)}}.dump(
        -1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// Number 0 where the text is none.
Meeting read_meeting(const std::string& text, int world_size) {
    const auto json = nlohmann::json::parse(text, nullptr, false);
    try {
        Meeting meeting{json.at("number"), json.at("members"), read_loss(json.at("loss"), world_size)};
        for (const int rank : meeting.members)
            if (rank < 0 || rank >= world_size) return {};
        return meeting;
    } catch (const nlohmann::json::exception&) {
        return {};
    }
}

std::chrono::milliseconds milliseconds(double seconds) {
    return std::chrono::milliseconds(static_cast<long long>(seconds * 1000));
}

}  // namespace

double beat_interval_s(int world_size) {
    // Of each rank and beat: its own, "lost", and that of the other side, rank 0's by all and all by rank 0.
    constexpr double requests_per_rank = 4, most_per_s = 200;
    return std::max(0.2, requests_per_rank * world_size / most_per_s);
}

Rendezvous::Rendezvous(LaunchEnvironment launch, double patience_s, std::string build)
    : launch_(std::move(launch)), patience_s_(patience_s), port_(launch_.master_port) {
    if (launch_.token.empty()) throw std::logic_error("ranks meet behind a token: LaunchEnvironment::token");
    const bool hosts = launch_.rank == 0 && !launch_.agent_store;
    try {
        if (hosts && launch_.one_host()) {
            server_ = std::make_unique<Server>();
            server_->local = std::make_unique<LocalStoreServer>(port_, launch_.token);
            port_ = server_->local->number();
        } else if (hosts) {
            server_ = std::make_unique<Server>();
            server_->tcp = make_store(launch_.master_address, port_, true, milliseconds(patience_s));
            port_ = server_->tcp->getPort();
            if (launch_.token_is_derived)
                std::cerr
                    << "SKIPPIPE_TOKEN is not set: the ranks' store is open to who knows the job's number. Before "
                       "the launcher: export SKIPPIPE_TOKEN=$(openssl rand -hex 16)\n";
        }
        store_ = connect();
    } catch (const std::exception& error) {
        throw InputError("MASTER_ADDR",
                         fmt::format("rank {} {} {}:{}", launch_.rank, hosts ? "cannot listen at" : "found nobody at",
                                     launch_.master_address, launch_.master_port),
                         error.what(),
                         hosts ? "Choose another MASTER_PORT, or an address of this host"
                               : "Check MASTER_ADDR and MASTER_PORT, that rank 0 runs, that SKIPPIPE_TOKEN is the same "
                                 "everywhere, and the firewall");
    }
    for (int rank = 0; rank < launch_.world_size; ++rank) meeting_.members.push_back(rank);
    check_build(build.empty() ? build_id() + ", LibTorch " TORCH_VERSION : build);
    came_back_ = launch_.rank > 0 && store_->add(fmt::format("processes/{}", launch_.rank), 1) > 1;
}

Rendezvous::~Rendezvous() {
    stop_threads();
    // The others look for what ended the run once a beat, in the store that ends here.
    if (server_ && (told_ || failed_)) std::this_thread::sleep_for(milliseconds(2 * beat_every_s_ + 0.1));
}

std::shared_ptr<RunStore> Rendezvous::connect(std::shared_ptr<const std::atomic<bool>> stop) const {
    const auto patience = milliseconds(patience_s_);
    StorePointer inner;
    if (launch_.one_host())
        inner = c10::make_intrusive<LocalStore>(port_, launch_.token, patience);
    else
        inner = make_store(launch_.master_address, port_, false, patience);
    auto store = c10::make_intrusive<RunStore>(std::move(inner), launch_.token, std::move(stop), patience);
    return {store.get(), [store](RunStore*) {}};  // c10d counts by itself, and needs LibTorch's headers for it
}

/// Every rank works out schedule and sums by itself: other code would do it otherwise.
void Rendezvous::check_build(const std::string& build) {
    if (launch_.rank == 0) return store_->set_text("build", build);
    std::string first;
    try {
        const auto bytes = store_->get("build");
        first.assign(bytes.begin(), bytes.end());
    } catch (const std::exception& error) {
        throw InputError("SKIPPIPE_TOKEN", fmt::format("rank {} hears nothing of rank 0", launch_.rank), error.what(),
                         "Check that rank 0 runs, and that SKIPPIPE_TOKEN is the same everywhere");
    }
    if (first == build) return;
    const Faults faults{{fmt::format("rank {}", launch_.rank),
                         fmt::format("rank {} is another build than rank 0: {}, not {}", launch_.rank, build, first),
                         "every rank works out the schedule and its sums by itself, and all must do it alike",
                         "Start the same program on every rank"}};
    report_failed(faults);
    throw InputError(faults);
}

std::string Rendezvous::share(const std::string& key, const std::string& text) {
    if (launch_.rank == 0) {
        store_->set_text("share/" + key, text);
        return text;
    }
    const auto bytes = store_->get("share/" + key);
    return {bytes.begin(), bytes.end()};
}

void Rendezvous::watch(std::function<void(const Loss&)> lost, double limit_s) {
    lost_ = std::move(lost);
    beat_every_s_ = beat_interval_s(launch_.world_size);
    limit_s_ = std::max(limit_s, 5 * beat_every_s_);
    heard_.assign(static_cast<std::size_t>(launch_.world_size), {"", steady_s(), 0});
    heart_ = std::thread([this] { beat(); });
    sweeper_ = std::thread([this] { sweep(); });
    answered_at_s_ = steady_s();
    store_watch_ = std::thread([this] { watch_store(); });
}

/// Apart from looking at the others, which takes as long as there are many: who looks must not fall silent meanwhile.
void Rendezvous::beat() {
    try {
        const auto store = connect();
        do {
            say_alive(*store);
            if (listens()) {
                listen(*store);
                confirm_suspicion(*store);
            }
            answered_at_s_ = steady_s();
        } while (pause(beat_every_s_));
    } catch (const std::exception& error) {
        lose({0, fmt::format("its store cannot be reached: {}", error.what()), {}});
    }
}

/// A beat says to which meeting this rank has come.
void Rendezvous::say_alive(RunStore& store) {
    std::string beat;
    {
        const std::lock_guard lock(mutex_);
        beat = fmt::format("{} {}", ++beats_, come_to_);
    }
    store.set_text(beat_key(launch_.rank), beat);
}

/// Who is told of a loss goes to the next meeting; who has come back has yet to be taken into one.
bool Rendezvous::listens() const {
    if (waits_to_be_taken_in()) return false;
    const std::lock_guard lock(mutex_);
    return !told_;
}

bool Rendezvous::waits_to_be_taken_in() const {
    const std::lock_guard lock(mutex_);
    return came_back_ && meeting_.number == 0;
}

/// Where the store's host is stopped, who asks it waits for its answer and hears of nobody's silence.
void Rendezvous::watch_store() {
    for (int looks = 0; pause(beat_every_s_);) {
        looks = steady_s() - answered_at_s_ > limit_s_ + beat_every_s_ ? looks + 1 : 0;
        if (looks < looks_in_silence) continue;
        return lose({0, fmt::format("its store has been silent for {:.0f} s", limit_s_), {}});
    }
}

/// What a rank told everybody.
void Rendezvous::listen(RunStore& store) {
    int number = 0;
    {
        const std::lock_guard lock(mutex_);
        number = meeting_.number;
    }
    const auto told = store.text(lost_key(number));
    if (told.empty()) return;
    lose(read_loss(told, launch_.world_size));
}

/// Rank 0 looks at everybody, the others at rank 0, through the store.
void Rendezvous::sweep() {
    try {
        const auto store = connect();
        do {
            if (launch_.rank > 0) {
                look_at(*store, 0);
                continue;
            }
            for (const int rank : members())
                if (rank > 0 && listens()) look_at(*store, rank);
            look_for_returns(*store);
        } while (pause(beat_every_s_));
    } catch (const std::exception& error) {
        lose({0, fmt::format("its store cannot be reached: {}", error.what()), {}});
    }
}

/// Silence is counted in looks too: a process that slept itself has not heard anybody.
void Rendezvous::look_at(RunStore& store, int rank) {
    {
        const std::lock_guard lock(mutex_);
        if (std::exchange(looked_in_, meeting_.number) != meeting_.number)
            for (auto& heard : heard_) heard = {heard.beat, steady_s(), 0};
    }
    auto& heard = heard_[static_cast<std::size_t>(rank)];
    const auto now = store.text(beat_key(rank));
    if (now != heard.beat) {
        heard = {now, steady_s(), 0};
        return;
    }
    const double limit_s = now.empty() ? join_within_s : settled_ ? limit_s_ : std::min(limit_s_, answer_within_s());
    if (++heard.looks < looks_in_silence || steady_s() - heard.since_s <= limit_s) return;
    const Loss loss{rank, fmt::format("it has been silent for {:.1f} s", limit_s), {}, steady_s() - heard.since_s};
    tell_all(store, loss);
    lose(loss);
}

void Rendezvous::look_for_returns(RunStore& store) {
    bool waits = false;
    const auto there = members();
    for (int rank = 1; rank < launch_.world_size; ++rank)
        if (!contains(there, rank) && store.check({return_key(rank)})) waits = true;
    somebody_waits_ = waits;
}

/// The first to say so is right; that a rank cannot go on counts all the same.
void Rendezvous::tell_all(RunStore& store, const Loss& loss) {
    int number = 0;
    {
        const std::lock_guard lock(mutex_);
        number = meeting_.number;
        if (loss.rank >= 0 && !contains(meeting_.members, loss.rank)) return;
    }
    const auto text = write(loss);
    store.compareSet(lost_key(number), {}, {text.begin(), text.end()});
    if (!loss.faults.empty()) store.set_text(failed_key, text);
}

void Rendezvous::confirm_suspicion(RunStore& store) {
    std::vector<Loss> due;
    {
        const std::lock_guard lock(mutex_);
        for (auto& suspicion : suspicions_) {
            suspicion.loss.unnoticed_s = steady_s() - suspicion.since_s;
            if (steady_s() >= suspicion.until_s) due.push_back(suspicion.loss);
        }
        std::erase_if(suspicions_, [](const Suspicion& s) { return steady_s() >= s.until_s; });
    }
    for (const auto& loss : due) tell_all(store, loss);
}

std::vector<int> Rendezvous::members() const {
    const std::lock_guard lock(mutex_);
    return meeting_.members;
}

Meeting Rendezvous::meet(const std::shared_ptr<const std::atomic<bool>>& stop) {
    const auto store = connect(stop);
    int number = 0;
    {
        const std::lock_guard lock(mutex_);
        number = come_to_ = meeting_.number + 1;
    }
    say_alive(*store);
    auto next = launch_.rank == 0 ? decide(*store, number) : hear(*store, number);
    const std::lock_guard lock(mutex_);
    meeting_ = next;
    suspicions_.clear();
    told_ = settled_ = false;
    return next;
}

double Rendezvous::answer_within_s() const { return std::max(shortest_answer_s, 5 * beat_every_s_); }

/// Rank 0: who comes is there, and who has come back. One that is busy is waited for as long as its heart beats.
Meeting Rendezvous::decide(RunStore& store, int number) {
    Meeting next{.number = number, .members = {0}, .loss = {}};
    if (const auto told = store.text(lost_key(number - 1)); !told.empty())
        next.loss = read_loss(told, launch_.world_size);
    const double limit_s = answer_within_s();
    std::map<int, Heard> awaited;
    for (const int rank : members())
        if (rank > 0 && rank != next.loss.rank) awaited[rank] = {"", steady_s(), 0};
    while (!awaited.empty()) {
        if (const auto failed = store.text(failed_key); !failed.empty())
            throw InputError(read_loss(failed, launch_.world_size).faults);
        for (auto one = awaited.begin(); one != awaited.end();) {
            auto& [rank, heard] = *one;
            const auto beat = store.text(beat_key(rank));
            if (beat != heard.beat) heard = {beat, steady_s(), 0};
            const auto space = beat.find(' ');
            const bool comes = space != std::string::npos && std::strtol(beat.c_str() + space, nullptr, 10) >= number;
            const bool silent = ++heard.looks >= looks_in_silence && steady_s() - heard.since_s > limit_s;
            if (comes) next.members.push_back(rank);
            if (silent && next.loss.rank < 0)
                next.loss = {rank, fmt::format("it has been silent for {:.1f} s", limit_s), {}, limit_s};
            one = comes || silent ? awaited.erase(one) : std::next(one);
        }
        std::this_thread::sleep_for(10ms);
    }
    const auto before = members();
    for (int rank = 1; rank < launch_.world_size; ++rank)
        if (!contains(before, rank) && store.deleteKey(return_key(rank))) next.members.push_back(rank);
    std::sort(next.members.begin(), next.members.end());
    somebody_waits_ = false;
    store.set_text(meeting_key, write(next));
    return next;
}

/// The others: what rank 0 has found out.
Meeting Rendezvous::hear(RunStore& store, int number) const {
    const bool returns = came_back_ && number == 1;
    if (returns) {
        number = read_meeting(store.text(meeting_key), launch_.world_size).number + 1;
        store.set_text(return_key(launch_.rank), "waits");
    }
    for (;; std::this_thread::sleep_for(10ms)) {
        if (const auto failed = store.text(failed_key); !failed.empty())
            throw InputError(read_loss(failed, launch_.world_size).faults);
        const auto text = store.text(meeting_key);
        if (text.empty()) continue;
        auto next = read_meeting(text, launch_.world_size);
        if (next.number < number) continue;
        if (contains(next.members, launch_.rank)) return next;
        if (returns) continue;
        throw InputError(fmt::format("rank {}", launch_.rank), "the other ranks have given this one up",
                         "it had been silent for too long: it was stopped, or its machine or network stood still",
                         "They go on without it; started again, it comes back");
    }
}

/// False where the run is over.
bool Rendezvous::pause(double seconds) {
    std::unique_lock lock(mutex_);
    const auto until = std::chrono::steady_clock::now() + milliseconds(seconds);
    while (!stop_ && std::chrono::steady_clock::now() < until) {
        auto next = until;
        for (const auto& suspicion : suspicions_)
            if (suspicion.until_s > steady_s()) next = std::min(next, steady_point(suspicion.until_s));
        const auto before = suspicions_.size();
        changed_.wait_until(lock, next, [&] { return stop_ || suspicions_.size() != before; });
        if (next < until && std::chrono::steady_clock::now() >= next) break;
    }
    return !stop_;
}

void Rendezvous::stop_threads() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
        changed_.notify_all();
    }
    if (heart_.joinable()) heart_.join();
    if (sweeper_.joinable()) sweeper_.join();
    if (store_watch_.joinable()) store_watch_.join();
}

void Rendezvous::lose(const Loss& loss) {
    {
        const std::lock_guard lock(mutex_);
        const bool fatal = loss.rank == 0;  // nobody decides any more
        if ((told_ && !fatal) || ended_ || stop_ || failed_) return;
        told_ = true;
        ended_ = fatal;
    }
    if (lost_) lost_(loss);
}

void Rendezvous::report_broken(int rank, const std::string& how) {
    const std::lock_guard lock(mutex_);
    const double unknown_s = outlives_ ? hear_before_meeting_s : hear_others_first_s;
    const double wait_s = rank < 0 ? unknown_s : hear_first_s;
    suspicions_.push_back({{rank, how, {}}, steady_s(), steady_s() + wait_s});
    changed_.notify_all();
}

void Rendezvous::call_meeting(const std::string& why) {
    const auto store = connect();
    tell_all(*store, {-1, why, {}, 0});
}

void Rendezvous::report_failed(const Faults& faults) {
    {
        const std::lock_guard lock(mutex_);
        failed_ = true;  // and needs not hear it from the others
    }
    try {
        const auto store = connect();
        tell_all(*store, {launch_.rank, "it cannot go on", faults});
    } catch (const std::exception&) {
        // Nobody is there to hear it.
    }
}

void Rendezvous::leave() {
    stop_threads();
    const auto key = [](int rank) { return fmt::format("gone/{}", rank); };
    store_->set_text(key(launch_.rank), "gone");
    if (launch_.rank != 0) return;
    const double until_s = steady_s() + patience_s_;  // who dies on the way out harms nobody any more
    for (const int rank : members())
        while (!store_->check({key(rank)}) && steady_s() < until_s) std::this_thread::sleep_for(1ms);
}

}  // namespace skippipe
