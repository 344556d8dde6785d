// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <utility>
#include <vector>

#include <QKeySequence>
#include <QObject>

class QAction;
class QKeyEvent;

namespace skippipe {

class KeyBindings;

/// Keys that views take themselves (timelines, the axis of failures, nudges on the canvas), as actions of the key
/// sheet: where one is given other keys, its view gets the usual ones when these are pressed.
class ViewKeys : public QObject {
    Q_OBJECT
public:
    /// Adds an action a key to `bindings`, which outlives this.
    explicit ViewKeys(KeyBindings& bindings, QObject* parent = nullptr);
    bool eventFilter(QObject* watched, QEvent* event) override;

    /// What views do with the mouse alone: where, what, by what.
    struct Gesture {
        const char *where, *what, *by;
    };
    static const std::vector<Gesture>& gestures();

private:
    struct Key {
        QAction* action;
        QString scope;
        QKeySequence usual;
    };
    bool pass_on(QObject& view, const QString& scope, const QKeyEvent& event);

    std::vector<Key> keys_;
    bool passing_ = false;
};

}  // namespace skippipe
