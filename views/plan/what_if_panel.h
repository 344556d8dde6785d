// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <atomic>
#include <memory>
#include <stop_token>

#include <QComboBox>
#include <QLabel>
#include <QPushButton>
#include <QThreadPool>
#include <QWidget>

#include "views/plan/what_if_answers.h"
#include "views/plan/what_if_curve.h"
#include "views/theme/empty_note.h"

namespace skippipe {

class Document;
class SelectionModel;

/// What the iteration would take if one thing were another: asked without an edit, planned in the background, first
/// with a short search for each value, then, while it is seen, with the whole one that an edit would start: that of the
/// chosen value before the others. An edit that the plan depends on, or another question, ends what goes on; after an
/// edit it is asked once the new plan is there, until which what was found is pale.
class WhatIfPanel : public QWidget {
    Q_OBJECT
public:
    WhatIfPanel(Document& document, SelectionModel& selection, const PlannerRegistry& planners,
                QWidget* parent = nullptr);
    ~WhatIfPanel() override;
    /// The plan that is shown from now on, from which each search starts, and what nodes hold in it; null: none.
    /// `is_current`: false while another one is searched for, until which nothing is asked.
    void show_plan(std::shared_ptr<const PlanOutcome> plan, HeldMicrobatches held, bool is_current = true);
    QComboBox& questions() { return *box_; }
    WhatIfCurve& curve() { return *curve_; }
    QPushButton& use_button() { return *use_; }
    const QLabel& words() const { return *words_; }
    /// In the place of all else while nothing can be asked.
    EmptyNote& note() { return *note_; }
    const std::vector<WhatIfAnswer>& answers() const { return answers_; }
    /// A value has no answer yet.
    bool is_busy() const;
    /// A value has not been searched in full yet.
    bool is_searching_on() const { return busy_; }

protected:
    void showEvent(QShowEvent*) override;
    void hideEvent(QHideEvent*) override;

private:
    void follow();
    void ask();
    void stop();
    void search();
    void search_on(const WhatIfSearch& by, int serial);
    void tell(std::size_t place, const WhatIfAnswer& answer, const std::stop_token& stop, int serial);
    void take(std::size_t place, const WhatIfAnswer& answer, int serial);
    void say();
    QString spread_words() const;

    Document& document_;
    SelectionModel& selection_;
    const PlannerRegistry& planners_;
    QComboBox* box_;
    QLabel* words_;
    QPushButton* use_;
    WhatIfCurve* curve_;
    EmptyNote* note_;
    QWidget* head_;
    QThreadPool pool_, patient_;  ///< for short searches, and for whole ones, which give way to all else
    std::stop_source stop_;
    std::vector<WhatIfQuestion> all_;
    HeldMicrobatches held_;
    std::shared_ptr<const PlanOutcome> plan_;
    WhatIfQuestion asked_;
    std::shared_ptr<const PlanOutcome> asked_of_;
    Experiment asked_in_;                                                                ///< its plan_key
    std::vector<WhatIfAnswer> answers_;                                                  ///< to `asked_`, of both
    std::shared_ptr<std::atomic<int>> wanted_ = std::make_shared<std::atomic<int>>(-1);  ///< the chosen value's place
    int serial_ = 0;
    bool busy_ = false, awaits_ = false;
};

}  // namespace skippipe
