// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QString>
#include <QToolButton>

#include "core/analysis/reductions.h"

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

/// "Gradients travel as int8", "Gradients charged as a ring".
QString reduction_words(const ReductionWhatIf& other);

}  // namespace skippipe
