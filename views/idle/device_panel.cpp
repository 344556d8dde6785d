// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/idle/device_panel.h"

#include <algorithm>

#include <QHeaderView>
#include <QVBoxLayout>

#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {

/// "" where it is negative: it was not told.
QString if_told(double value, const char* unit) { return value < 0 ? QString{} : quantity(value, unit); }

/// "22.5 GB of 151 GB"; `before_of` stands between.
QString memory_words(const GpuReading& gpu, QChar before_of = ' ') {
    if (gpu.memory_used_bytes < 0) return {};
    if (gpu.memory_total_bytes < 0) return quantity(gpu.memory_used_bytes, "B");
    return QObject::tr("%1%2of %3")
        .arg(quantity(gpu.memory_used_bytes, "B"), before_of, quantity(gpu.memory_total_bytes, "B"));
}

QString names_of_nodes(const DeviceReading& device, const std::vector<std::string>& names) {
    QStringList list;
    for (const int node : device.nodes)
        if (node >= 0 && static_cast<std::size_t>(node) < names.size())
            list << QString::fromStdString(names[static_cast<std::size_t>(node)]);
    return list.join(QObject::tr(", "));
}

}  // namespace

QString busy_words(const std::vector<DeviceReading>& devices) {
    std::vector<const DeviceReading*> told;
    for (const auto& device : devices)
        if (device.gpu.busy >= 0) told.push_back(&device);
    if (told.empty()) return {};
    if (told.size() == 1)
        return QObject::tr("The device was busy %1: %2")
            .arg(percent(told.front()->gpu.busy), QString::fromStdString(told.front()->device));
    const auto [least, most] = std::minmax_element(
        told.begin(), told.end(), [](const auto* a, const auto* b) { return a->gpu.busy < b->gpu.busy; });
    return QObject::tr("%1 devices were busy %2 to %3")
        .arg(told.size())
        .arg(percent((*least)->gpu.busy), percent((*most)->gpu.busy));
}

QString busy_meaning() {
    return QObject::tr(
        "A device is busy while any kernel runs on it, of any node or program, however little of it that kernel uses "
        "(NVML).\nA node is idle while it has nothing to execute, whatever its device does: several nodes on one "
        "device may each idle much while the device never rests, and a node at work may leave its device waiting.");
}

QString device_words(const DeviceReading& device, const std::vector<std::string>& names) {
    QStringList lines{QObject::tr("%1 of %2: %3")
                          .arg(QString::fromStdString(device.device), QString::fromStdString(device.host),
                               QString::fromStdString(device.name))};
    const auto& gpu = device.gpu;
    const auto add = [&](const QString& words, const QString& value) {
        if (!value.isEmpty()) lines << words.arg(value);
    };
    add(QObject::tr("nodes: %1"), names_of_nodes(device, names));
    add(QObject::tr("busy %1 of the time"), gpu.busy < 0 ? QString{} : percent(gpu.busy));
    add(QObject::tr("memory in use, at most: %1"), memory_words(gpu));
    add(QObject::tr("power %1"), if_told(gpu.power_w, "W"));
    add(QObject::tr("clock %1"), if_told(gpu.clock_hz, "Hz"));
    add(QObject::tr("clock of the memory %1"), if_told(gpu.memory_clock_hz, "Hz"));
    lines << QObject::tr("%1 readings, all programs on the device included").arg(device.readings);
    return lines.join('\n');
}

DevicePanel::DevicePanel(QWidget* parent) : QWidget(parent), table_(new QTableWidget(0, 5)) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, size::unit, 0, 0);
    column->addWidget(table_);
    make_plain(*table_, tr("Devices of this run"));
    table_->setHorizontalHeaderLabels({tr("Device"), tr("Busy"), tr("Memory"), tr("Power"), tr("Clock")});
    table_->setSelectionMode(QAbstractItemView::NoSelection);
    table_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    table_->horizontalHeader()->setSectionResizeMode(QHeaderView::ResizeToContents);  // no name is cut
    table_->horizontalHeader()->setStretchLastSection(true);
    table_->horizontalHeaderItem(0)->setTextAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    for (int column = 1; column < table_->columnCount(); ++column)
        table_->horizontalHeaderItem(column)->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    table_->horizontalHeaderItem(1)->setToolTip(busy_meaning());
}

void DevicePanel::show_devices(const std::vector<DeviceReading>& devices, const std::vector<std::string>& names) {
    table_->setRowCount(static_cast<int>(devices.size()));
    for (int row = 0; row < table_->rowCount(); ++row) {
        const auto& device = devices[static_cast<std::size_t>(row)];
        const auto& gpu = device.gpu;
        // What it is called on its host, and what it is.
        const QString name = QString::fromStdString(device.name);
        const QStringList cells{QString::fromStdString(device.device) + (name.isEmpty() ? name : '\n' + name),
                                gpu.busy < 0 ? QString{} : percent(gpu.busy), memory_words(gpu, '\n'),
                                if_told(gpu.power_w, "W"), if_told(gpu.clock_hz, "Hz")};
        for (int column = 0; column < table_->columnCount(); ++column) {
            auto* item = new QTableWidgetItem(cells[column]);
            item->setToolTip(device_words(device, names));
            if (column > 0) item->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
            table_->setItem(row, column, item);
        }
    }
    table_->resizeRowsToContents();
}

}  // namespace skippipe
