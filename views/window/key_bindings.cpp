// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/key_bindings.h"

#include <algorithm>

#include <QAction>
#include <QObject>
#include <QSettings>

namespace skippipe {
namespace {

QString name_of(const QAction& action) { return QString(action.text()).remove('&').remove(QChar(0x2026)); }

QString key_of(const KeyBindings::Binding& binding) {
    return QStringLiteral("keys/") + binding.scope + '/' + name_of(*binding.action);
}

}  // namespace

void KeyBindings::add(QAction* action, const QString& scope) { all_.push_back({action, scope, action->shortcuts()}); }

void KeyBindings::remember_in(const QString& settings_file) {
    settings_file_ = settings_file;
    const QSettings settings(settings_file, QSettings::IniFormat);
    for (const auto& binding : all_)
        if (const auto chosen = settings.value(key_of(binding)); binding.action != nullptr && chosen.isValid())
            binding.action->setShortcut(QKeySequence(chosen.toString(), QKeySequence::PortableText));
}

const KeyBindings::Binding* KeyBindings::holder_of(const QKeySequence& keys, const Binding& but) const {
    if (keys.isEmpty()) return nullptr;
    const auto meets = [&](const Binding& other) {
        if (&other == &but || other.action == nullptr) return false;
        if (other.scope != but.scope && !other.scope.isEmpty() && !but.scope.isEmpty()) return false;
        const auto shortcuts = other.action->shortcuts();
        return std::any_of(shortcuts.begin(), shortcuts.end(), [&](const QKeySequence& held) {
            return held.matches(keys) != QKeySequence::NoMatch || keys.matches(held) != QKeySequence::NoMatch;
        });
    };
    const auto found = std::find_if(all_.begin(), all_.end(), meets);
    return found == all_.end() ? nullptr : &*found;
}

QString KeyBindings::set(QAction* action, const QKeySequence& keys) {
    const auto binding = std::find_if(all_.begin(), all_.end(), [&](const Binding& b) { return b.action == action; });
    if (binding == all_.end()) return QObject::tr("This action's keys cannot be changed");
    if (const auto* holder = holder_of(keys, *binding))
        return QObject::tr("%1 are the keys of %2: give that other ones first")
            .arg(keys.toString(QKeySequence::NativeText), name_of(*holder->action));
    action->setShortcut(keys);
    store(*binding);
    return {};
}

void KeyBindings::store(const Binding& binding) const {
    if (settings_file_.isEmpty()) return;
    QSettings settings(settings_file_, QSettings::IniFormat);
    if (is_changed(binding.action))
        settings.setValue(key_of(binding), binding.action->shortcut().toString(QKeySequence::PortableText));
    else
        settings.remove(key_of(binding));
}

bool KeyBindings::is_changed(const QAction* action) const {
    const auto binding = std::find_if(all_.begin(), all_.end(), [&](const Binding& b) { return b.action == action; });
    return binding != all_.end() && action->shortcuts() != binding->usual;
}

void KeyBindings::reset() {
    for (const auto& binding : all_) {
        if (binding.action == nullptr) continue;
        binding.action->setShortcuts(binding.usual);
        store(binding);
    }
}

}  // namespace skippipe
