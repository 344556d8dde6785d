// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include <QSize>
#include <QString>

#include "core/record/record.h"

namespace skippipe {

class MainWindow;

struct Screenshot {
    QString file, view;  ///< view: topology, timeline, curves, compare, stages or runs
    RunId run = 0;       ///< 0: the newest
    QSize size{1280, 800};
    QString select;  ///< "node:NAME", "region:NAME", "link:FROM->TO", "stage:NUMBER", "microbatch:NUMBER", "reduction",
                     ///< "runs:1,2", "find:WORDS", "tab:NAME", "menu:WORDS" (an entry of any menu, or a button) or
                     ///< "context:NODE" (its menu; no name: the canvas's), several with ; between; empty: nothing
};

/// "1280x800"; invalid where the text is no size from 200 to 8000.
QSize parse_size(const std::string& text);
/// Waits until what the view shows is planned and read (bounded in time), then writes the window as a PNG file. Returns
/// what went wrong, or nothing.
QString take_screenshot(MainWindow& window, const Screenshot& shot);

}  // namespace skippipe
