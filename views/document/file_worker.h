// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include <QObject>
#include <QPointer>

namespace skippipe {

/// Reads and writes files on a thread of its own, in the order in which that was asked for, so that the window waits
/// for no disk.
class FileWorker : public QObject {
    Q_OBJECT
public:
    explicit FileWorker(QObject* parent = nullptr);
    /// Waits until all that was asked for is done.
    ~FileWorker() override;

    /// Does `work` on the thread. Then `done`, on this object's, with what went wrong (empty: nothing), unless
    /// `listener` is gone by then. What waits under the same `name` is not begun any more, nor told: the last counts.
    /// An empty name is nobody's.
    void ask(const std::string& name, std::function<void()> work, QObject* listener = nullptr,
             std::function<void(const QString& fault)> done = {});

private:
    struct Job {
        std::string name;
        std::function<void()> work;
        QPointer<QObject> listener;
        std::function<void(const QString&)> done;
    };
    void run();
    void tell(Job job, const QString& fault);

    std::mutex mutex_;
    std::condition_variable changed_;
    std::deque<Job> waiting_;
    bool ends_ = false;
    std::thread thread_;
};

}  // namespace skippipe
