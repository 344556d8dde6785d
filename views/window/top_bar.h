// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <QLabel>
#include <QLineEdit>
#include <QPushButton>

#include "core/planner/planner.h"
#include "views/document/document.h"

namespace skippipe {

/// Name and state of the experiment, its skip ratio and planner with ways to their fields, Launch, Pause and Stop.
class TopBar : public QWidget {
    Q_OBJECT
public:
    TopBar(Document& document, const PlannerRegistry& planners, QWidget* parent = nullptr);

    /// How far a launch is before there is a run.
    enum class Launching { no, searches, starts };
    /// Launch is off while `why_not` says something; it becomes the button's tooltip. The button says how far it is.
    void set_launch(const QString& why_not, Launching launching);
    void set_stop(bool possible);
    /// Whether the experiment is what is looked at; beside runs their name stands here, and the experiment is the draft
    /// that Launch would start.
    void set_is_in_sight(bool on);
    /// The run or runs that are looked at.
    void set_subject(const QString& words);
    /// "edited", "Draft: Quick start".
    QString state_words() const { return is_in_sight_ ? state_->text() : draft_->text(); }
    /// Whether a run goes on that can be given more iterations; else the button is not there.
    void set_extend(bool possible) { extend_->setVisible(possible); }
    /// What the pause button does; `told`: the run was told and has not done it yet. The button keeps the keys then,
    /// and does nothing: the next one, Stop, would have them.
    enum class Pause { impossible, pause, resume };
    void set_pause(Pause what, bool told);
    QPushButton& pause_button() { return *pause_; }
    QPushButton& launch_button() { return *launch_; }
    QPushButton& stop_button() { return *stop_; }
    QPushButton& extend_button() { return *extend_; }
    /// What they are, and the way to the fields that change them.
    QPushButton& skip_link() { return *skip_; }
    QPushButton& planner_link() { return *planner_; }

Q_SIGNALS:
    void launch_requested();
    void stop_requested();
    void pause_requested();
    void resume_requested();
    void extend_requested();
    void setting_wanted(const QString& pointer);  ///< its field
    void possible_changed();                      ///< whether Pause or Stop do something

protected:
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void follow();
    void show_settings(const Pipeline& pipeline);
    void enable(QPushButton& button, bool on);
    void name_launch();

    Document& document_;
    const PlannerRegistry& planners_;
    QLineEdit* name_;
    QLabel *state_, *subject_, *draft_;
    std::vector<QWidget*> of_design_;  ///< what says how the experiment is
    QPushButton *skip_, *planner_;
    QPushButton *launch_, *pause_, *stop_, *extend_;
    Launching launching_ = Launching::no;
    bool is_in_sight_ = true;
    Pause pause_does_ = Pause::impossible;
    bool pause_told_ = false;
};

}  // namespace skippipe
