// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <utility>

#include <QObject>

#include "views/document/selection.h"

namespace skippipe {

/// What is selected, shared by the views that show it.
class SelectionModel : public QObject {
    Q_OBJECT
public:
    using QObject::QObject;
    const Selection& now() const { return now_; }
    void select(Selection selection) {
        if (selection == now_) return;
        now_ = std::move(selection);
        Q_EMIT changed();
    }
    void clear() { select({}); }

Q_SIGNALS:
    void changed();

private:
    Selection now_;
};

}  // namespace skippipe
