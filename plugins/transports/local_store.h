// SPDX-License-Identifier: GPL-3.0-or-later
// The store that ranks of one host share, in place of LibTorch's, whose server listens on every interface: on a socket
// that no network reaches, for processes of this user that know the run's token.
#pragma once
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "plugins/transports/c10d_store.h"
#include "plugins/transports/descriptor.h"

namespace skippipe {

/// Keys and values, served to those who begin with the token from a thread of its own. The socket's name lies in the
/// abstract namespace: nothing is left behind in a file system.
class LocalStoreServer {
public:
    /// `number` names the server among those of this user and host; 0: any that is free. Throws std::system_error where
    /// it is taken.
    LocalStoreServer(int number, std::string token);
    ~LocalStoreServer();
    int number() const { return number_; }

private:
    struct Client {
        Descriptor socket;
        bool admitted = false;
        std::string received, to_send;
    };
    void serve();
    void admit();
    bool receive(Client& client);
    bool send(Client& client);
    bool answer(Client& client, std::string_view request);

    int number_;
    std::string token_;
    Descriptor listening_, wake_read_, wake_write_;
    std::map<std::string, std::string> values_;
    std::vector<Client> clients_;
    std::thread thread_;
};

/// A connection to it. What waits for a key looks for it again and again. From any thread.
class LocalStore final : public c10d::Store {
public:
    /// Throws std::runtime_error where nobody serves under this number within `patience`, or another user does. Who
    /// asks waits for `silence` at most, and until `stop` is set (then Aborted): the server's process may stand still.
    /// Nothing is asked any more after that.
    LocalStore(int number, const std::string& token, std::chrono::milliseconds patience,
               std::chrono::milliseconds silence = std::chrono::seconds(10),
               std::shared_ptr<const std::atomic<bool>> stop = {});

    void set(const std::string& key, const std::vector<uint8_t>& value) override;
    std::vector<uint8_t> compareSet(const std::string& key, const std::vector<uint8_t>& expected,
                                    const std::vector<uint8_t>& desired) override;
    std::vector<uint8_t> get(const std::string& key) override;
    int64_t add(const std::string& key, int64_t value) override;
    bool deleteKey(const std::string& key) override;
    bool check(const std::vector<std::string>& keys) override;
    int64_t getNumKeys() override;
    void wait(const std::vector<std::string>& keys) override { wait(keys, timeout_); }
    void wait(const std::vector<std::string>& keys, const std::chrono::milliseconds& timeout) override;
    virtual c10::intrusive_ptr<c10d::Store> clone();  // LibTorch 2.9's base has it

private:
    std::string ask(const std::string& request);

    int number_;
    std::string token_;
    std::chrono::milliseconds silence_;
    std::shared_ptr<const std::atomic<bool>> stop_;
    std::mutex mutex_;
    Descriptor socket_;
};

}  // namespace skippipe
