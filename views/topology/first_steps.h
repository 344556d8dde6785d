// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include <QLabel>
#include <QPushButton>
#include <QToolButton>
#include <QWidget>

#include "core/experiment/document.h"

namespace skippipe {

class Document;

/// What a network that has begun still wants before it can be planned, in words and as a button; empty: nothing.
struct NextStep {
    enum class Does { adds_node, fills_region, links, launches };
    QString words, button;
    Does does = Does::adds_node;  ///< what the button does; `links`: everything
    std::string region;           ///< that is filled
};
NextStep next_step(const Experiment& experiment);
/// The last one, of what can be launched.
NextStep last_step(const Experiment& experiment);

/// What an empty canvas shows: three steps to a first plan, each a button that does it with what it needs before; then,
/// at the lower edge, the next one alone. Of a file of which nothing can be drawn: what is wrong with it, and what to
/// do.
class FirstSteps : public QWidget {
    Q_OBJECT
public:
    explicit FirstSteps(QWidget& canvas);
    void follow(const Document& document);
    /// Another document: one that begins empty has steps until its run begins, one that is opened has none.
    void begin(const Document& document);
    /// Whether the window would launch it: the last step is offered only then.
    void set_can_launch(bool can, const Document& document);
    /// They were done, or are not wanted.
    void end();
    /// Pixels at the canvas's lower edge that the next step takes.
    int taken_below() const;

Q_SIGNALS:
    void region_wanted();
    void linked_regions_wanted();
    void settings_wanted();
    void node_wanted();
    void nodes_wanted(const std::string& region);  ///< three in a region that has none
    void links_wanted();
    void launch_wanted();
    void ended();              ///< by hand
    void open_again_wanted();  ///< the file, once it is mended

protected:
    bool event(QEvent* event) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    QWidget* make_steps() const;
    QWidget* make_next();
    QWidget* make_broken();
    void show_broken(const Document& document);
    void do_next();
    void place();

    QWidget& canvas_;
    QLabel* next_words_;
    QPushButton* next_button_;
    QPushButton* settings_;  ///< beside the last step
    QToolButton* close_;
    bool has_steps_ = false;  ///< of a document that began empty
    bool can_launch_ = true;
    NextStep now_;
    QLabel *broken_heading_, *broken_words_;
    QWidget *steps_, *next_, *broken_;
};

}  // namespace skippipe
