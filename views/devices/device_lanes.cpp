// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/devices/device_lanes.h"

#include <algorithm>
#include <utility>

#include <QHBoxLayout>
#include <QMenu>
#include <QScrollArea>
#include <QVBoxLayout>

#include "views/document/document.h"
#include "views/theme/numbers.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {

constexpr int device_head_width = 330, memory_ms = 3000;

QString in_words(const std::string& text) { return QString::fromStdString(text); }

/// "NVIDIA H200, 120 GB free of 140 GB".
QString figures_of(const Gpu& gpu, const GpuReading& reading) {
    const bool told = reading.memory_used_bytes >= 0 && reading.memory_total_bytes >= 0;
    const double all = told ? reading.memory_total_bytes : gpu.memory_bytes;
    if (!told) return QObject::tr("%1, %2").arg(in_words(gpu.name), quantity(all, "B"));
    return QObject::tr("%1, %2 free of %3")
        .arg(in_words(gpu.name), quantity(all - reading.memory_used_bytes, "B"), quantity(all, "B"));
}

/// "cpu", then "cuda", which leaves the choice, then each GPU that is attached or that a node names.
std::vector<std::string> devices_to_show(const AttachedGpus& gpus, const Topology& topology) {
    std::vector<std::string> shown{"cpu"};
    const auto add = [&](const std::string& device) {
        if (std::find(shown.begin(), shown.end(), device) == shown.end()) shown.push_back(device);
    };
    if (!gpus.list.empty()) add("cuda");
    for (const auto& gpu : gpus.list) add("cuda:" + std::to_string(gpu.index));
    for (const auto& node : topology.nodes) add(node.device);
    return shown;
}

QString figures_of(const std::string& device, const AttachedDevices& found) {
    if (device == "cpu") return QObject::tr("this machine's processor");
    if (device == "cuda") return QObject::tr("any GPU: dealt out when the run starts");
    for (std::size_t i = 0; i < found.gpus.list.size(); ++i)
        if (device == "cuda:" + std::to_string(found.gpus.list[i].index))
            return figures_of(found.gpus.list[i], found.readings[i]);
    return QObject::tr("not attached here");
}

QPushButton* button_of(const QString& words, const QString& tip, const char* name) {
    auto* button = new QPushButton(words);
    button->setToolTip(tip);
    button->setObjectName(QString::fromUtf8(name));
    return button;
}

}  // namespace

DeviceLanes::DeviceLanes(Document& document, SelectionModel& selection, GpuSource source, QWidget* parent)
    : QWidget(parent),
      document_(document),
      selection_(selection),
      source_(std::move(source)),
      view_(new NodeLaneView(selection, tr("Devices with their nodes"), device_head_width,
                             tr("Drag it to another device, Alt+Up and Alt+Down, or its menu"))),
      words_(words_label({}, "secondary")),
      look_(button_of(tr("Look again"), tr("Looks for GPUs and what they have free"), "look_for_devices")),
      draw_(button_of(tr("Draw what is attached"),
                      tr("A topology of this machine's GPUs in the place of what is drawn: a node for each, or one for "
                         "each stage where there are more; undo takes it back"),
                      "draw_attached")) {
    setProperty("role", "surface");
    setAttribute(Qt::WA_StyledBackground);
    auto* row = head_row();
    row->addWidget(words_, 1);
    row->addWidget(look_);
    row->addWidget(draw_);
    auto* scroll = new QScrollArea;
    scroll->setWidget(view_);
    scroll->setWidgetResizable(true);
    scroll->setFocusPolicy(Qt::NoFocus);  // the lanes have the keys
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    auto* column = seamless_column(this);
    column->addLayout(row);
    column->addWidget(scroll, 1);
    again_.setInterval(memory_ms);
    connect(&again_, &QTimer::timeout, this, [this] {
        if (isVisible()) look();
    });
    connect(view_, &NodeLaneView::moved, this, [this](const std::string& node, int key) { put({node}, key); });
    connect(view_, &NodeLaneView::menu_wanted, this, [this](const std::string&, QPoint at) {
        auto* menu = new QMenu(this);
        menu->setAttribute(Qt::WA_DeleteOnClose);
        fill_menu(*menu);
        menu->popup(at);
    });
    connect(look_, &QPushButton::clicked, this, &DeviceLanes::look);
    connect(draw_, &QPushButton::clicked, this, &DeviceLanes::draw);
    connect(&document, &Document::changed, this, &DeviceLanes::follow);
    follow();
}

void DeviceLanes::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    look();
}

void DeviceLanes::look() {
    if (std::exchange(looking_, true)) return;
    if (!has_looked_) show_words();
    auto found = std::make_shared<AttachedDevices>();
    worker_.ask(
        "devices", [found, source = source_] { *found = look_for_devices(source); }, this,
        [this, found](const QString& fault) {
            looking_ = false;
            has_looked_ = true;
            found_ = std::move(*found);
            if (!fault.isEmpty()) found_.trouble = fault.toStdString();
            found_.gpus.list.empty() ? again_.stop() : again_.start();  // none comes by itself
            follow();
            Q_EMIT looked();
        });
}

int DeviceLanes::key_of(const std::string& device) const {
    const auto found = std::find(devices_.begin(), devices_.end(), device);
    return found == devices_.end() ? -1 : static_cast<int>(found - devices_.begin());
}

void DeviceLanes::follow() {
    const auto& topology = document_.experiment().topology;
    devices_ = devices_to_show(found_.gpus, topology);
    std::vector<NodeLane> lanes;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        NodeLane lane{static_cast<int>(i), in_words(devices_[i]), figures_of(devices_[i], found_), {}, false};
        for (const auto& node : topology.nodes)
            if (node.device == devices_[i]) lane.nodes.push_back(node.id);
        lanes.push_back(std::move(lane));
    }
    view_->show_lanes(std::move(lanes));
    draw_->setEnabled(!found_.gpus.list.empty());
    show_words();
}

void DeviceLanes::show_words() {
    const auto count = found_.gpus.list.size();
    if (!has_looked_) return words_->setText(looking_ ? tr("Looking for GPUs…") : tr("GPUs were not looked for yet"));
    if (count == 0) {
        const Fault none = found_.gpus.none.empty() ? Fault{.what = "no GPU can be used", .why = found_.trouble}
                                                    : found_.gpus.none.front();
        QString words = tr("No GPU here: %1").arg(in_words(none.what));
        if (!none.why.empty()) words += tr(" (%1)").arg(in_words(none.why));
        const auto& nodes = document_.experiment().topology.nodes;
        const bool none_asks =
            std::all_of(nodes.begin(), nodes.end(), [](const Node& node) { return node.device == "cpu"; });
        words_->setToolTip(words);
        return words_->setText(none_asks ? tr("No GPU was found here: all nodes use the processor")
                                         : words + ". " + in_words(none.remedy));
    }
    const QString what = tr("A node's weights and its work are on its device. Drag it onto another");
    words_->setText((count == 1 ? tr("1 GPU is attached. ") : tr("%1 GPUs are attached. ").arg(count)) + what);
    words_->setToolTip(found_.trouble.empty() ? QString{}
                                              : tr("What is free is not told: %1").arg(in_words(found_.trouble)));
}

void DeviceLanes::put(const std::set<std::string>& nodes, int key) {
    if (key < 0 || nodes.empty()) return;
    const std::string device = devices_[static_cast<std::size_t>(key)];
    const QString who = nodes.size() == 1 ? in_words(*nodes.begin()) : tr("%1 nodes").arg(nodes.size());
    document_.edit(tr("Put %1 on %2").arg(who, in_words(device)),
                   [&](Experiment& e) { put_on_device(e, nodes, device); });
}

void DeviceLanes::fill_menu(QMenu& menu) {
    const auto nodes = selection_.now().nodes;
    if (nodes.empty()) return;
    for (std::size_t i = 0; i < devices_.size(); ++i) {
        auto* entry = menu.addAction(tr("Put on %1, %2").arg(in_words(devices_[i]), figures_of(devices_[i], found_)));
        connect(entry, &QAction::triggered, this, [this, nodes, key = static_cast<int>(i)] { put(nodes, key); });
    }
}

void DeviceLanes::draw() {
    if (found_.gpus.list.empty()) return;
    document_.edit(tr("Draw what is attached"),
                   [&](Experiment& e) { draw_attached(e, found_.gpus.list, found_.host); });
    Q_EMIT told(tr("%1 nodes on %2 GPUs. Speeds are the makers' or a node's usual ones, links a region's: Measure puts "
                   "in what they are")
                    .arg(document_.experiment().topology.nodes.size())
                    .arg(found_.gpus.list.size()));
}

}  // namespace skippipe
