// SPDX-License-Identifier: GPL-3.0-or-later
#include "tests/benchmarks/bench_views/measure.h"

#include <cstdio>

#include <QCoreApplication>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QMouseEvent>
#include <QTimer>

namespace skippipe {

double seconds_of(clockid_t clock) {
    timespec time{};
    clock_gettime(clock, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

void print(const std::string& name, double value, const char* unit, double goal, const char* ceiling, int repeat) {
    std::printf(
        "{\"name\": \"%s\", \"value\": %.4g, \"unit\": \"%s\", \"baseline\": \"goal\", \"baseline_value\": %g, "
        "\"ratio\": %.3g, \"threads\": 1, "
        "\"ceiling\": \"%s\", \"repeat\": %d}\n",
        name.c_str(), value, unit, goal, value / goal, ceiling, repeat);
    std::fflush(stdout);
}

void run_events(int ms) {
    QEventLoop loop;
    QTimer::singleShot(ms, &loop, &QEventLoop::quit);
    loop.exec();
}

bool wait_until(const std::function<bool()>& done) {
    for (const double begin_s = clock_s(); !done(); run_events(1))
        if (clock_s() - begin_s > 60) return false;
    return true;
}

void mouse(QWidget& on, QEvent::Type type, QPoint at, Qt::MouseButton button, Qt::MouseButtons down) {
    QMouseEvent event(type, at, on.mapToGlobal(at), button, down, Qt::AltModifier);
    QApplication::sendEvent(&on, &event);
}

}  // namespace skippipe
