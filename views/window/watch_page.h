// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QPushButton>

#include "views/curves/curve_panel.h"
#include "views/document/document.h"
#include "views/idle/idle_panel.h"
#include "views/runs/run_feed.h"
#include "views/timeline/timeline_view.h"
#include "views/topology/view.h"

class QTableView;

namespace skippipe {

class SpanTable;

/// The workspace where a run is watched: its network, curves, why nodes idle, and the timeline.
class WatchPage : public QWidget {
    Q_OBJECT
public:
    /// `selection` is the document whose selection all workspaces share.
    WatchPage(RunFeed& feed, Document& selection, QWidget* parent = nullptr);

    /// Shows a run; 0: none.
    void show_run(RunId run);
    RunId run() const { return run_; }
    TimelineView& timeline() { return *timeline_; }
    TimeZoom& zoom() { return zoom_; }
    CurvePanel& curves() { return *curves_; }
    IdlePanel& idle() { return *idle_; }

Q_SIGNALS:
    void launch_requested();
    void run_changed();  ///< another run is shown

private:
    QWidget* timeline_area();
    void list_runs();
    void refresh();
    void show_idle();
    void show_selected();
    void follow_selection();

    RunFeed& feed_;
    Document& shared_;
    Document network_document_;
    TimeZoom zoom_;
    TopologyView* network_;
    CurvePanel* curves_;
    IdlePanel* idle_;
    TimelineView* timeline_;
    SpanTable* spans_;
    QTableView* span_view_;
    QLabel *selected_, *run_words_;
    QCheckBox* follow_;
    QComboBox *runs_, *colour_;
    QWidget *content_, *empty_;
    RunId run_ = 0;
    bool first_look_ = true;
};

}  // namespace skippipe
