// SPDX-License-Identifier: GPL-3.0-or-later
// What the window can do about a fault. The edits are functions on the experiment; the bar offers them as buttons.
#pragma once
#include <functional>
#include <optional>
#include <stop_token>
#include <vector>

#include <QLabel>
#include <QString>
#include <QThreadPool>
#include <QWidget>

#include "core/base/fault.h"
#include "core/experiment/document.h"

class QBoxLayout;

namespace skippipe {

class Document;

/// An edit that mends a fault.
struct Remedy {
    QString words;
    std::function<void(Experiment&)> mend;
    bool of_pipeline = false;  ///< another way to do the whole: worth offering only where none leaves less wrong
    Faults cleared = {};       ///< errors and warnings of the experiment that are gone after it
    std::size_t left = 0;      ///< errors that remain
};

/// Edits after which that fault of the experiment is gone and no other error has come, the least first; each was tried
/// on a copy. Of those that change the pipeline, the ones that leave the fewest errors. Of what a plan alone finds,
/// those that mend it whatever the next plan is. At most three; those found so far once `stop` asks for an end. Any
/// thread may call it.
std::vector<Remedy> remedies_for(const Fault& fault, const Experiment& experiment, const std::stop_token& stop = {});

/// Buttons that mend one fault, which is named; nothing where the window knows no edit that would, or where only the
/// file's text is wrong. What mends is found out beside the
/// window's thread: every candidate is a whole validation.
class RemedyBar : public QWidget {
    Q_OBJECT
public:
    /// `names_fault`: it stands elsewhere than what it mends.
    RemedyBar(Document& document, bool names_fault, QWidget* parent = nullptr);
    ~RemedyBar() override;
    void show_for(const Fault* fault);

protected:
    void resizeEvent(QResizeEvent*) override;

private:
    void arrange();
    void show_remedies(const std::vector<Remedy>& remedies);
    void name_fault();
    QString tip_of(const Remedy& remedy) const;

    Document& document_;
    QLabel* words_;
    QBoxLayout* row_;
    QThreadPool pool_;
    std::stop_source stop_;
    std::optional<Fault> fault_;  ///< that is shown, or looked into
    Experiment of_;               ///< the experiment that has it
    int serial_ = 0;
};

}  // namespace skippipe
