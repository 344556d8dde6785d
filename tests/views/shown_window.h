// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>

#include <QTemporaryDir>

#include "views/window/main_window.h"

namespace skippipe {

/// The window at its usual size, on the screen, with the record of that folder.
inline std::unique_ptr<MainWindow> shown_window(const PlannerRegistry& planners, const QTemporaryDir& folder) {
    auto made = std::make_unique<MainWindow>(planners, folder.filePath("record.sqlite").toStdString());
    made->resize(1280, 800);
    made->show();
    return made;
}

}  // namespace skippipe
