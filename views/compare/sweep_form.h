// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <utility>
#include <vector>

#include <QComboBox>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QToolButton>
#include <QVBoxLayout>
#include <QWidget>

#include "views/runs/sweeper.h"

namespace skippipe {

/// What a sweep is made of: fields and their values, a line each, then how many seeds, draws, runs at a time.
class SweepForm : public QWidget {
    Q_OBJECT
public:
    explicit SweepForm(QWidget* parent = nullptr);

    /// What of: the experiment's name.
    void set_subject(const QString& name);
    /// The fields to choose from; others may be typed.
    void set_fields(const std::vector<std::string>& fields);
    /// Lines without values are left out.
    SweepSetup setup() const;
    /// As lines of the settings; `restore` takes them, and leaves out what it does not know.
    QStringList choices() const;
    void restore(const QStringList& choices);
    /// A line for the skip ratio, unless there is one.
    void vary_skip_ratio();
    /// Marks the line of that field, and tells there what is wrong; an empty one: of none.
    void show_fault(const QString& field, const QString& words);
    /// Adds a line; of a field that has one already, its values are replaced.
    void add_axis(const QString& field, const QString& values);
    QPushButton& add_button() { return *add_; }
    QComboBox& how() { return *how_; }

Q_SIGNALS:
    void changed();

private:
    struct Axis {
        QWidget* line;
        QComboBox* field;
        QLineEdit* values;
        QToolButton* remove;
    };
    void show_field(Axis& axis, const QString& field) const;
    static QString field_of(const Axis& axis);
    QSpinBox* number(const QString& name, const char* object, int least, int most, int value) const;
    void follow_how();
    void drop_axis(QWidget* line);
    /// The number fields, by their names in the settings.
    std::vector<std::pair<QString, QSpinBox*>> numbers() const;

    QLabel* subject_;
    QWidget* heads_;
    QVBoxLayout* lines_;
    std::vector<Axis> axes_;
    QStringList fields_;
    QPushButton* add_;
    QComboBox* how_;
    QSpinBox *draws_, *draw_seed_, *seeds_, *parallel_, *iterations_;
    QLabel* draw_label_;
};

}  // namespace skippipe
