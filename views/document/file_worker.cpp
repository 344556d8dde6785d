// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/document/file_worker.h"

#include <exception>
#include <utility>

#include <QMetaObject>

namespace skippipe {

FileWorker::FileWorker(QObject* parent) : QObject(parent), thread_([this] { run(); }) {}

FileWorker::~FileWorker() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    changed_.notify_all();
    thread_.join();
}

void FileWorker::ask(const std::string& name, std::function<void()> work, QObject* listener,
                     std::function<void(const QString&)> done) {
    {
        const std::lock_guard lock(mutex_);
        if (!name.empty()) std::erase_if(waiting_, [&](const Job& job) { return job.name == name; });
        waiting_.push_back({name, std::move(work), listener, std::move(done)});
    }
    changed_.notify_all();
}

void FileWorker::run() {
    for (;;) {
        Job job;
        {
            std::unique_lock lock(mutex_);
            changed_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
            if (waiting_.empty()) return;
            job = std::move(waiting_.front());
            waiting_.pop_front();
        }
        QString fault;
        try {
            job.work();
        } catch (const std::exception& error) {
            fault = QString::fromStdString(error.what());
        }
        job.work = nullptr;  // what it holds goes before anybody is told
        tell(std::move(job), fault);
    }
}

/// Only the other thread knows whether the listener is there.
void FileWorker::tell(Job job, const QString& fault) {
    if (!job.done) return;
    QMetaObject::invokeMethod(
        this,
        [listener = std::move(job.listener), done = std::move(job.done), fault] {
            if (listener) done(fault);
        },
        Qt::QueuedConnection);
}

}  // namespace skippipe
