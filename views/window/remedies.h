// SPDX-License-Identifier: GPL-3.0-or-later
// What the window can do about a fault. The edits are functions on the experiment; the bar offers them as buttons.
#pragma once
#include <functional>
#include <vector>

#include <QLabel>
#include <QString>
#include <QWidget>

#include "core/base/fault.h"
#include "core/experiment/document.h"

class QHBoxLayout;

namespace skippipe {

class Document;

/// An edit that mends a fault.
struct Remedy {
    QString words;
    std::function<void(Experiment&)> mend;
};

/// Edits after which that fault of the experiment is gone and no other error has come, the least first; each was tried
/// on a copy. At most three.
std::vector<Remedy> remedies_for(const Fault& fault, const Experiment& experiment);

/// Buttons that mend one fault; nothing where the window knows no edit that would.
class RemedyBar : public QWidget {
    Q_OBJECT
public:
    explicit RemedyBar(Document& document, QWidget* parent = nullptr);
    void show_for(const Fault* fault);

private:
    Document& document_;
    QLabel* words_;
    QHBoxLayout* row_;
};

}  // namespace skippipe
