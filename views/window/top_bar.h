// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>

#include "core/planner/planner.h"
#include "views/document/document.h"

namespace skippipe {

/// Name and state of the experiment, skip ratio, planner, Launch and Stop.
class TopBar : public QWidget {
    Q_OBJECT
public:
    TopBar(Document& document, const PlannerRegistry& planners, QWidget* parent = nullptr);

    /// Launch is off while `why_not` says something; it becomes the button's tooltip.
    void set_launch(const QString& why_not);
    void set_stop(bool possible);
    QPushButton& launch_button() { return *launch_; }
    QPushButton& stop_button() { return *stop_; }
    QDoubleSpinBox& skip_ratio() { return *skip_; }

Q_SIGNALS:
    void launch_requested();
    void stop_requested();

private:
    void follow();

    Document& document_;
    const PlannerRegistry& planners_;
    QLineEdit* name_;
    QLabel *state_, *skip_words_;
    QDoubleSpinBox* skip_;
    QComboBox* planner_;
    QPushButton *launch_, *stop_;
};

}  // namespace skippipe
