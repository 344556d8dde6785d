// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QObject>

namespace skippipe {

/// Sees the input of all windows of the program: how much somebody did, so that nothing moves away under a hand that is
/// at work; and where a field has nothing to undo or redo, these keys are the window's.
class InputWatch : public QObject {
    Q_OBJECT
public:
    explicit InputWatch(QObject* parent = nullptr);
    /// Presses of keys and buttons so far.
    int acts() const { return acts_; }
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    int acts_ = 0;
};

}  // namespace skippipe
