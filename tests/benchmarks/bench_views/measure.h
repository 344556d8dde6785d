// SPDX-License-Identifier: GPL-3.0-or-later
// How figures of the window are taken and told.
#pragma once
#include <functional>
#include <string>

#include <ctime>

#include <QEvent>
#include <QPoint>
#include <QWidget>

namespace skippipe {

double seconds_of(clockid_t clock);
inline double clock_s() { return seconds_of(CLOCK_MONOTONIC); }
inline double thread_s() { return seconds_of(CLOCK_THREAD_CPUTIME_ID); }

/// A figure as a line of JSON.
void print(const std::string& name, double value, const char* unit, double goal, const char* ceiling, int repeat);
void run_events(int ms);
/// Runs events until it is so; gives up after a minute.
bool wait_until(const std::function<bool()>& done);
void mouse(QWidget& on, QEvent::Type type, QPoint at, Qt::MouseButton button, Qt::MouseButtons down);

}  // namespace skippipe
