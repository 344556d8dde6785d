// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>
#include <vector>

#include <QTableWidget>
#include <QWidget>

#include "core/device/device_meter.h"

namespace skippipe {

/// What GPUs said of themselves while a run trained: a row each.
class DevicePanel : public QWidget {
    Q_OBJECT
public:
    explicit DevicePanel(QWidget* parent = nullptr);

    /// `names`: of the nodes that readings count.
    void show_devices(const std::vector<DeviceReading>& devices, const std::vector<std::string>& names);
    const QTableWidget& table() const { return *table_; }

private:
    QTableWidget* table_;
};

/// "The device was busy 71 %: cuda:0", or of many "Devices were busy 12 to 71 %"; "": none told how busy it was.
QString busy_words(const std::vector<DeviceReading>& devices);
/// Why this is another number than a node's idle time.
QString busy_meaning();
/// All that a device said, in lines; `names`: of nodes.
QString device_words(const DeviceReading& device, const std::vector<std::string>& names);

}  // namespace skippipe
