// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <memory>
#include <mutex>

#include <QObject>
#include <QString>

namespace skippipe {

/// Reads files that people name, which may lie anywhere: on a share that does not answer, or in a pipe into which
/// nobody writes. So nobody waits for one: not the window, not the next file, and not the end of the program.
class FileReader : public QObject {
    Q_OBJECT
public:
    explicit FileReader(QObject* parent = nullptr);
    /// What is still being read is left to itself.
    ~FileReader() override;

    /// Does `work`, which only reads, on a thread of its own, then `done` on this object's with what went wrong
    /// (empty: nothing). `work` holds values alone: it may outlive this. The last that was asked for counts: `done` of
    /// those before it is not called any more.
    void read(std::function<void()> work, std::function<void(const QString& fault)> done);
    /// Nothing that was asked for is wanted any more.
    void forget() { ++asked_; }

private:
    struct Desk {
        std::mutex mutex;
        FileReader* reader;  ///< null: gone
    };
    std::shared_ptr<Desk> desk_;
    int asked_ = 0;
};

}  // namespace skippipe
