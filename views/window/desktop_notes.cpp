// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/desktop_notes.h"

#include <QDBusMessage>
#include <QStringList>
#include <QVariantMap>

namespace skippipe {

void DesktopNotes::show(const QString& title, const QString& text) const {
    if (!bus_.isConnected()) return;
    auto message = QDBusMessage::createMethodCall("org.freedesktop.Notifications", "/org/freedesktop/Notifications",
                                                  "org.freedesktop.Notifications", "Notify");
    // Which program, which note it replaces (none), icon, title, text, buttons, hints, and how long: as long as is
    // usual. Bodies are read as markup.
    message << QStringLiteral("SkipPipe Studio") << 0U << QString() << title << text.toHtmlEscaped() << QStringList{}
            << QVariantMap{} << -1;
    bus_.send(message);
}

}  // namespace skippipe
