// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/document/file_reader.h"

#include <exception>
#include <thread>
#include <utility>

#include <QMetaObject>

namespace skippipe {

FileReader::FileReader(QObject* parent) : QObject(parent), desk_(std::make_shared<Desk>()) { desk_->reader = this; }

FileReader::~FileReader() {
    const std::lock_guard lock(desk_->mutex);
    desk_->reader = nullptr;
}

void FileReader::read(std::function<void()> work, std::function<void(const QString&)> done) {
    std::thread([desk = desk_, request = ++asked_, work = std::move(work), done = std::move(done)]() mutable {
        QString fault;
        try {
            work();
        } catch (const std::exception& error) {
            fault = QString::fromStdString(error.what());
        }
        work = nullptr;  // what it holds goes before anybody is told
        const std::lock_guard lock(desk->mutex);
        if (auto* reader = desk->reader)
            QMetaObject::invokeMethod(
                reader,
                [reader, request, done = std::move(done), fault] {
                    if (request == reader->asked_) done(fault);
                },
                Qt::QueuedConnection);
    }).detach();
}

}  // namespace skippipe
