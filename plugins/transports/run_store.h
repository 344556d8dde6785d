// SPDX-License-Identifier: GPL-3.0-or-later
// What all ranks of a run share through c10d, behind the run's token.
#pragma once
#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "plugins/transports/c10d_store.h"

namespace skippipe {

/// Set where nothing may wait any longer.
using StopFlag = std::shared_ptr<const std::atomic<bool>>;

/// A store in which every key begins with the token, so that who has it not meets none of the run's keys. What waits
/// ends with Aborted once `stop` is set.
class RunStore final : public c10d::Store {
public:
    RunStore(StorePointer inner, const std::string& token, StopFlag stop, std::chrono::milliseconds patience);

    void set(const std::string& key, const std::vector<uint8_t>& value) override;
    std::vector<uint8_t> compareSet(const std::string& key, const std::vector<uint8_t>& expected,
                                    const std::vector<uint8_t>& desired) override;
    std::vector<uint8_t> get(const std::string& key) override;
    int64_t add(const std::string& key, int64_t value) override;
    bool deleteKey(const std::string& key) override;
    bool check(const std::vector<std::string>& keys) override;
    int64_t getNumKeys() override { return inner_->getNumKeys(); }
    void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
    void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override;
    virtual c10::intrusive_ptr<c10d::Store> clone();  // LibTorch 2.9's base has it

    /// As c10d holds it.
    StorePointer shared() { return c10::intrusive_ptr<RunStore>::unsafe_reclaim_from_nonowning(this); }
    /// The value of a key that may be missing: empty then.
    std::string text(const std::string& key);
    void set_text(const std::string& key, const std::string& text);

private:
    std::string named(const std::string& key) const;

    StorePointer inner_;
    std::string prefix_;
    StopFlag stop_;
};

}  // namespace skippipe
