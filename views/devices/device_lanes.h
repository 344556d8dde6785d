// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <QLabel>
#include <QPushButton>
#include <QTimer>
#include <QWidget>

#include "views/document/file_worker.h"
#include "views/plan/node_lane_view.h"
#include "views/devices/attached_devices.h"

class QMenu;

namespace skippipe {

class Document;

/// The GPUs of this machine with the nodes that are on them: a node is dragged, moved by Alt+Up and Alt+Down, or put by
/// its menu onto another device. Devices are looked for when this is first shown, and their memory every few seconds
/// while it is, on a thread of its own.
class DeviceLanes : public QWidget {
    Q_OBJECT
public:
    DeviceLanes(Document& document, SelectionModel& selection, GpuSource source = {}, QWidget* parent = nullptr);

    NodeLaneView& view() { return *view_; }
    QLabel& words() { return *words_; }
    QPushButton& look_button() { return *look_; }
    QPushButton& draw_button() { return *draw_; }
    /// Of a device, as lanes are ordered; -1: it has no lane.
    int key_of(const std::string& device) const;
    /// What can be done with the selected nodes.
    void fill_menu(QMenu& menu);
    /// Looks now, and shows it when it is known.
    void look();
    bool is_looking() const { return looking_; }

Q_SIGNALS:
    void told(const QString& what);
    void looked();

protected:
    void showEvent(QShowEvent*) override;

private:
    void follow();
    void show_words();
    void put(const std::set<std::string>& nodes, int key);
    void draw();

    Document& document_;
    SelectionModel& selection_;
    const GpuSource source_;
    NodeLaneView* view_;
    QLabel* words_;
    QPushButton *look_, *draw_;
    QTimer again_;
    AttachedDevices found_;
    std::vector<std::string> devices_;  ///< of each lane
    bool looking_ = false, has_looked_ = false;
    FileWorker worker_;  ///< the last: it ends before what it tells
};

}  // namespace skippipe
