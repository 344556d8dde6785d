// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <utility>
#include <vector>

#include <QListWidget>
#include <QPushButton>
#include <QSpinBox>
#include <QWidget>

#include "views/document/document.h"
#include "views/topology/shapes.h"

class QMenu;

namespace skippipe {

class TopologyView;

/// What is put onto the canvas, what an experiment starts from, and this machine's measurement.
class Palette : public QWidget {
    Q_OBJECT
public:
    Palette(const Document& document, TopologyView& canvas, QWidget* parent = nullptr);
    QPushButton& measure_button() { return *measure_; }
    QListWidget& devices() { return *devices_; }
    /// What an experiment can start from, in words, with what `template_requested` calls it.
    static std::vector<std::pair<QString, QString>> templates();
    /// The words of one of these names; of another the name.
    static QString words_of(const QString& name);

Q_SIGNALS:
    /// A bundled experiment by its name; empty: an empty canvas.
    void template_requested(const QString& name);
    void shape_requested(Shape shape, int nodes, quint64 seed);
    void measure_requested();

private:
    void add_heading(const QString& text);
    QPushButton* add_button(const QString& text, const QString& tip);
    void add_devices();
    void add_templates();
    void add_shapes(QMenu& menu);

    const Document& document_;
    TopologyView& canvas_;
    QListWidget* devices_ = nullptr;
    QSpinBox *nodes_ = nullptr, *seed_ = nullptr;
    QPushButton* measure_ = nullptr;
};

}  // namespace skippipe
