// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QDBusConnection>
#include <QString>

namespace skippipe {

/// The desktop's notifications (org.freedesktop.Notifications): told and forgotten, nothing waits for an answer.
class DesktopNotes {
public:
    explicit DesktopNotes(QDBusConnection bus = QDBusConnection::sessionBus()) : bus_(std::move(bus)) {}

    /// One bubble. Where no desktop listens nothing happens.
    void show(const QString& title, const QString& text) const;

private:
    QDBusConnection bus_;
};

}  // namespace skippipe
