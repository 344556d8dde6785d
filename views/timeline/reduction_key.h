// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QToolButton>

namespace skippipe {

/// The timeline's key for transfers of reductions.
class ReductionKey : public QToolButton {
    Q_OBJECT
public:
    explicit ReductionKey(QWidget* parent = nullptr);

protected:
    void changeEvent(QEvent*) override;

private:
    void draw_key();
};

}  // namespace skippipe
