// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <QKeySequence>
#include <QPointer>
#include <QString>

class QAction;

namespace skippipe {

/// Keys of the window's actions: as the program gives them, or as their user chose, which the settings file keeps.
class KeyBindings {
public:
    /// `scope`: where the keys count; two actions of one scope cannot have the same. The window's count everywhere.
    void add(QAction* action, const QString& scope);
    /// Takes what a user chose from the settings file, and keeps there what is chosen from now on.
    void remember_in(const QString& settings_file);
    /// Gives an action other keys; none: it has no keys any more. Returns why it cannot have them, naming who has, or
    /// nothing.
    QString set(QAction* action, const QKeySequence& keys);
    /// All as the program gives them.
    void reset();
    bool is_changed(const QAction* action) const;

    struct Binding {
        QPointer<QAction> action;
        QString scope;
        QList<QKeySequence> usual;
    };
    const std::vector<Binding>& all() const { return all_; }

private:
    const Binding* holder_of(const QKeySequence& keys, const Binding& but) const;
    void store(const Binding& binding) const;
    std::vector<Binding> all_;
    QString settings_file_;
};

}  // namespace skippipe
