// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/input_watch.h"

#include <QApplication>
#include <QKeyEvent>
#include <QLineEdit>

namespace skippipe {

namespace {

/// Of Ctrl+Z, Ctrl+Y and their like.
bool is_done_with(const QLineEdit& line, const QKeyEvent& event) {
    return (event.matches(QKeySequence::Undo) && !line.isUndoAvailable()) ||
           (event.matches(QKeySequence::Redo) && !line.isRedoAvailable());
}

}  // namespace

InputWatch::InputWatch(QObject* parent) : QObject(parent) { qApp->installEventFilter(this); }

bool InputWatch::eventFilter(QObject* watched, QEvent* event) {
    if (!watched->isWidgetType()) return false;
    const auto type = event->type();
    if (type == QEvent::KeyPress || type == QEvent::MouseButtonPress) ++acts_;
    if (type != QEvent::ShortcutOverride) return false;
    const auto* line = qobject_cast<QLineEdit*>(watched);
    if (line == nullptr || !is_done_with(*line, *static_cast<QKeyEvent*>(event))) return false;
    event->ignore();
    return true;
}

}  // namespace skippipe
