// SPDX-License-Identifier: GPL-3.0-or-later
#include "plugins/transports/run_store.h"

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "core/engine/transport.h"

namespace skippipe {

using namespace std::chrono_literals;

RunStore::RunStore(StorePointer inner, const std::string& token, StopFlag stop, std::chrono::milliseconds patience)
    : inner_(std::move(inner)), prefix_(token + "/"), stop_(std::move(stop)) {
    timeout_ = patience;
}

std::string RunStore::named(const std::string& key) const {
    if (stop_ && *stop_) throw Aborted();
    return prefix_ + key;
}

void RunStore::set(const std::string& key, const std::vector<uint8_t>& value) { inner_->set(named(key), value); }

std::vector<uint8_t> RunStore::compareSet(const std::string& key, const std::vector<uint8_t>& expected,
                                          const std::vector<uint8_t>& desired) {
    return inner_->compareSet(named(key), expected, desired);
}

std::vector<uint8_t> RunStore::get(const std::string& key) {
    wait({key});
    return inner_->get(named(key));
}

int64_t RunStore::add(const std::string& key, int64_t value) { return inner_->add(named(key), value); }

bool RunStore::deleteKey(const std::string& key) { return inner_->deleteKey(named(key)); }

bool RunStore::check(const std::vector<std::string>& keys) {
    std::vector<std::string> all;
    for (const auto& key : keys) all.push_back(named(key));
    return inner_->check(all);
}

/// Looks again and again: a wait inside LibTorch's client ends for nobody.
void RunStore::wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) {
    const auto until = std::chrono::steady_clock::now() + timeout;
    for (auto pause = 1ms; !check(keys); pause = std::min(pause * 3 / 2 + 1ms, 50ms)) {
        if (std::chrono::steady_clock::now() > until)
            throw std::runtime_error("nothing was heard of " + keys.front() + " in time");
        std::this_thread::sleep_for(pause);
    }
}

c10::intrusive_ptr<c10d::Store> RunStore::clone() {
    throw std::logic_error("connections of their own come from Rendezvous::connect");
}

std::string RunStore::text(const std::string& key) {
    if (!check({key})) return "";
    const auto bytes = inner_->get(named(key));
    return {bytes.begin(), bytes.end()};
}

void RunStore::set_text(const std::string& key, const std::string& text) {
    set(key, std::vector<std::uint8_t>(text.begin(), text.end()));
}

}  // namespace skippipe
