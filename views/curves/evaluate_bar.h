// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <map>
#include <vector>

#include <QWidget>

#include "core/record/record.h"

class QLabel;
class QProgressBar;
class QPushButton;

namespace skippipe {

class Evaluator;

/// The button that evaluates runs with stages left out; meanwhile how far that is, and *Cancel*; after it what failed.
class EvaluateBar : public QWidget {
    Q_OBJECT
public:
    explicit EvaluateBar(Evaluator& evaluator, QWidget* parent = nullptr);

    /// What the button is for. None: there is no button.
    void offer(std::vector<RunId> runs);
    /// In the middle of its place, or on the left.
    void set_centred(bool centred);
    QString words() const;

private:
    void follow();

    Evaluator& evaluator_;
    std::vector<RunId> offered_;
    std::map<RunId, QString> failures_;
    QPushButton *evaluate_, *cancel_;
    QProgressBar* progress_;
    QWidget* row_;
    QLabel *words_, *failed_;
};

}  // namespace skippipe
