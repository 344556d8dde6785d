// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/view_keys.h"

#include <QAction>
#include <QApplication>
#include <QKeyEvent>

#include "views/failures/failure_axis.h"
#include "views/idle/split_table.h"
#include "views/timeline/timeline_view.h"
#include "views/topology/view.h"
#include "views/window/key_bindings.h"

namespace skippipe {
namespace {

struct ViewKey {
    const char *scope, *what;
    QKeyCombination usual;
};

const ViewKey view_keys[] = {
    {"Canvas", "Nudge left (Shift: further, Alt: by a point)", Qt::Key_Left},
    {"Canvas", "Nudge right", Qt::Key_Right},
    {"Canvas", "Nudge up", Qt::Key_Up},
    {"Canvas", "Nudge down", Qt::Key_Down},
    {"Canvas", "Next node (Shift: the one before)", Qt::Key_Tab},
    {"Canvas", "Clear the selection", Qt::Key_Escape},
    {"Timeline", "Zoom in", Qt::Key_W},
    {"Timeline", "Zoom out", Qt::Key_S},
    {"Timeline", "Pan left", Qt::Key_A},
    {"Timeline", "Pan right", Qt::Key_D},
    {"Timeline", "Centre the selection, again: fit it", Qt::Key_F},
    {"Timeline", "Whole run", Qt::Key_Home},
    {"Timeline", "Previous in the lane", Qt::Key_Comma},
    {"Timeline", "Next in the lane", Qt::Key_Period},
    {"Timeline", "Previous hop of the microbatch", Qt::Key_BracketLeft},
    {"Timeline", "Next hop of the microbatch", Qt::Key_BracketRight},
    {"Timeline", "To what it waited for", Qt::Key_Return},
    {"Timeline", "Back from there", Qt::Key_Backspace},
    {"Timeline", "Pin the lane above the others, or let it go", Qt::Key_P},
    {"Timeline", "Set or remove a bookmark", Qt::Key_B},
    {"Timeline", "The timeline alone, or all again", Qt::Key_T},
    {"Timeline", "Previous bookmark", Qt::Key_PageUp},
    {"Timeline", "Next bookmark", Qt::Key_PageDown},
    {"Timeline", "Clear the selection", Qt::Key_Escape},
    {"Idle times", "By the next head (Shift: the other way round)", Qt::Key_S},
    {"Failures", "Add a crash", Qt::Key_Insert},
    {"Failures", "Previous failure", Qt::Key_Up},
    {"Failures", "Next failure", Qt::Key_Down},
    {"Failures", "Earlier (Shift: ten steps)", Qt::Key_Left},
    {"Failures", "Later", Qt::Key_Right},
    {"Failures", "Its properties", Qt::Key_Return},
    {"Failures", "Remove it", Qt::Key_Delete},
    {"Failures", "Clear the selection", Qt::Key_Escape},
    {"Failures", "Whole training", Qt::Key_Home},
};

const char* scope_of(const QObject* view) {
    if (qobject_cast<const TimelineView*>(view) != nullptr) return "Timeline";
    if (qobject_cast<const FailureAxis*>(view) != nullptr) return "Failures";
    if (qobject_cast<const TopologyView*>(view) != nullptr) return "Canvas";
    if (qobject_cast<const QTableWidget*>(view) != nullptr &&
        qobject_cast<const SplitTable*>(view->parent()) != nullptr)
        return "Idle times";
    return nullptr;
}

constexpr Qt::KeyboardModifiers passed_on = Qt::ShiftModifier | Qt::AltModifier;

}  // namespace

const std::vector<ViewKeys::Gesture>& ViewKeys::gestures() {
    static const std::vector<Gesture> all{
        {"Canvas", "Add a node there", "Double-click"},
        {"Canvas", "Draw a link; on emptiness: to a new node", "Drag a rim or a ring"},
        {"Canvas", "Not on the grid", "Alt+Drag"},
        {"Canvas", "Move the camera", "Space+Drag, Middle drag"},
        {"Canvas", "Zoom at the cursor", "Wheel"},
        {"Timeline", "Zoom at the cursor", "Ctrl+Wheel"},
        {"Timeline", "Pan in time", "Shift+Wheel"},
        {"Timeline", "Scroll lanes", "Wheel"},
        {"Timeline", "The network at a moment", "Drag on the axis"},
        {"Timeline", "Find", "Ctrl+F"},
        {"Timeline", "Collapse or open a group", "Click its head"},
        {"Timeline", "Move what is in sight", "Drag in the overview"},
        {"Timeline", "One iteration", "Click its number"},
        {"Timeline", "Sums of an area", "Drag"},
        {"Idle times", "In its order; again: the other way round", "Click a head"},
        {"Failures", "Add a crash there", "Click"},
        {"Failures", "To any instant, not on a step", "Alt+Drag"},
        {"Failures", "Its properties", "Double-click"},
        {"Failures", "Zoom at the cursor", "Ctrl+Wheel"}};
    return all;
}

ViewKeys::ViewKeys(KeyBindings& bindings, QObject* parent) : QObject(parent) {
    for (const auto& key : view_keys) {
        auto* action = new QAction(tr(key.what), this);
        action->setShortcut(QKeySequence(key.usual));
        action->setProperty("group", tr(key.scope));
        bindings.add(action, tr(key.scope));
        keys_.push_back({action, QString::fromUtf8(key.scope), QKeySequence(key.usual)});
    }
    qApp->installEventFilter(this);
}

bool ViewKeys::eventFilter(QObject* watched, QEvent* event) {
    if (event->type() != QEvent::KeyPress || passing_) return false;
    const char* scope = scope_of(watched);
    return scope != nullptr && pass_on(*watched, QString::fromUtf8(scope), *static_cast<QKeyEvent*>(event));
}

/// True: the view shall not see this key. Shift and Alt say how far: they go with it.
bool ViewKeys::pass_on(QObject& view, const QString& scope, const QKeyEvent& event) {
    const auto modifiers = event.modifiers() & ~Qt::KeypadModifier;
    const QKeySequence exact(QKeyCombination(modifiers, static_cast<Qt::Key>(event.key())));
    const QKeySequence bare(QKeyCombination(modifiers & ~passed_on, static_cast<Qt::Key>(event.key())));
    bool was_usual = false;
    for (const bool is_exact : {true, false})
        for (const auto& key : keys_) {
            if (key.scope != scope) continue;
            const QKeySequence& pressed = is_exact ? exact : bare;
            if (key.action->shortcut() == pressed) {
                if (key.usual == pressed) return false;
                QKeyEvent usual(event.type(), key.usual[0].key(),
                                key.usual[0].keyboardModifiers() | (is_exact ? Qt::NoModifier : modifiers & passed_on));
                passing_ = true;
                QApplication::sendEvent(&view, &usual);
                passing_ = false;
                return true;
            }
            was_usual = was_usual || key.usual == pressed;
        }
    return was_usual;
}

}  // namespace skippipe
