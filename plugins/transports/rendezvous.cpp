// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/rendezvous.h"

#include <chrono>
#include <csignal>
#include <iostream>

#include <fmt/format.h>
#include <torch/version.h>

#include "core/engine/build_id.h"
#include "core/engine/transport.h"
#include "plugins/transports/local_store.h"
#include "plugins/transports/rendezvous_rules.h"
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
/// The same, where all meet again anyway: then it comes out who is gone.
constexpr double hear_before_meeting_s = 0.8;

}  // namespace

Rendezvous::Rendezvous(LaunchEnvironment launch, double patience_s, std::string build)
    : launch_(std::move(launch)), patience_s_(patience_s), port_(launch_.master_port) {
    std::signal(SIGPIPE, SIG_IGN);  // Gloo writes to who may be gone: the call is to say so, and the rank to live
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
        inner = c10::make_intrusive<LocalStore>(port_, launch_.token, patience,
                                                milliseconds(answers_of_store_within_s()), stop);
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

std::vector<int> Rendezvous::members() const {
    const std::lock_guard lock(mutex_);
    return meeting_.members;
}

void Rendezvous::stop_threads() {
    {
        const std::lock_guard lock(mutex_);
        stop_ = true;
        *over_ = true;
        changed_.notify_all();
    }
    if (heart_.joinable()) heart_.join();
    if (sweeper_.joinable()) sweeper_.join();
    if (store_watch_.joinable()) store_watch_.join();
}

void Rendezvous::lose(const LostRank& loss) {
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
