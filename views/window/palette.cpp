// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/palette.h"

#include <QLabel>
#include <QMenu>
#include <QMimeData>
#include <QVBoxLayout>
#include <QWidgetAction>

#include "views/inspector/field_text.h"
#include "views/theme/below_delegate.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/topology/devices.h"
#include "views/topology/view.h"

namespace skippipe {
namespace {

constexpr int least_devices = 3, device_row = 34, figures_role = Qt::UserRole + 1;

/// Devices that are dragged onto the canvas; a double-click or Enter puts one there.
class DeviceList final : public QListWidget {
public:
    explicit DeviceList(const Document& document) : document_(document) {
        setObjectName("devices");
        setAccessibleName(tr("Hardware"));
        setDragEnabled(true);
        setDragDropMode(QAbstractItemView::DragOnly);
        setFrameShape(QFrame::NoFrame);
        setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        setTextElideMode(Qt::ElideRight);
        setItemDelegate(new BelowDelegate(figures_role, this));
        for (const auto& device : ::skippipe::devices()) {
            auto* item = new QListWidgetItem(QString::fromUtf8(device.name), this);
            const QString figures = tr("%1, %2").arg(without_zeros(quantity(device.flops, QStringLiteral("FLOP/s"))),
                                                     number_text(device.memory_bytes, "B"));
            item->setData(figures_role, figures);
            item->setSizeHint({0, device_row});
            item->setData(Qt::AccessibleDescriptionRole, figures);
        }
        // A low window has the buttons first, and devices in a list that scrolls.
        setMinimumHeight(height_of(least_devices));
        setMaximumHeight(height_of(count()));
        setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Preferred);
    }
    QSize sizeHint() const override { return {QListWidget::sizeHint().width(), height_of(count())}; }

protected:
    QMimeData* mimeData(const QList<QListWidgetItem*>& items) const override {
        auto* data = new QMimeData;
        if (!items.isEmpty()) data->setData(TopologyView::device_mime, items.front()->text().toUtf8());
        return data;
    }
    /// What was dropped is on the canvas: nothing is chosen here any longer.
    void startDrag(Qt::DropActions actions) override {
        QListWidget::startDrag(actions);
        clearSelection();
        setCurrentItem(nullptr);
    }
    bool viewportEvent(QEvent* event) override {
        // What a device gives depends on the experiment's model as it is now.
        if (event->type() == QEvent::ToolTip)
            for (int i = 0; i < count(); ++i)
                if (const auto* device = find_device(item(i)->text().toStdString()))
                    item(i)->setToolTip(device_words(*device, document_.experiment().model));
        return QListWidget::viewportEvent(event);
    }

private:
    int height_of(int rows) const { return rows * sizeHintForRow(0) + 2; }
    const Document& document_;
};

}  // namespace

Palette::Palette(const Document& document, TopologyView& canvas, QWidget* parent)
    : QWidget(parent), document_(document), canvas_(canvas) {
    setMinimumWidth(158);  // figures of hardware are whole beside its scroll bar
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(size::gap, size::gap, size::gap, size::gap);
    column->setSpacing(size::unit);
    add_heading(tr("Add"));
    auto* node = add_button(
        tr("Node"),
        tr("A machine that holds one stage (N, or double-click the canvas). It is as quick as the node added "
           "last, the first of them 55 ms a sample and block, which nobody measured: its form "
           "makes it a device"));
    node->setObjectName("add_node");
    auto* region = add_button(
        tr("Region"),
        tr("An empty place whose nodes will share links: N adds them; takes selected nodes in that stand in none (R)"));
    // The canvas has the keys then: N makes the next node.
    connect(node, &QPushButton::clicked, &canvas, [&canvas] {
        canvas.add_node_here();
        canvas.setFocus();
    });
    connect(region, &QPushButton::clicked, &canvas, [&canvas] {
        canvas.add_region_here();
        canvas.setFocus();
    });
    add_devices();
    add_heading(tr("Start from"));
    add_templates();
    add_heading(tr("This machine"));
    measure_ = add_button(tr("Measure"),
                          tr("Measures each stage's forward and backward on every node and, unless the experiment "
                             "simulates them, the links between ranks, "
                             "and puts the values in (Ctrl+M). Takes some seconds; Stop ends it, undo takes it back"));
    connect(measure_, &QPushButton::clicked, this, &Palette::measure_requested);
    column->addStretch();
    auto* hint = new QLabel(tr("? lists gestures and keys"));
    hint->setWordWrap(true);
    hint->setProperty("role", "small");
    column->addWidget(hint);
}

void Palette::add_heading(const QString& text) {
    auto* label = new QLabel(text);
    label->setProperty("role", "heading");
    label->setMinimumHeight(size::row);
    layout()->addWidget(label);
}

QPushButton* Palette::add_button(const QString& text, const QString& tip) {
    auto* button = new QPushButton(text);
    button->setToolTip(tip);
    layout()->addWidget(button);
    return button;
}

void Palette::add_devices() {
    devices_ = new DeviceList(document_);
    devices_->setToolTip(
        tr("Drag hardware onto the canvas, or double-click it: a node that is as quick and has its memory"));
    connect(devices_, &QListWidget::itemActivated, this, [this](const QListWidgetItem* item) {
        if (const auto* device = find_device(item->text().toStdString())) canvas_.add_device_here(*device);
    });
    layout()->addWidget(devices_);
}

std::vector<std::pair<QString, QString>> Palette::templates() {
    return {{tr("Quick start"), "quick-start"},
            {tr("Empty"), {}},
            {tr("Quick start, charged ring"), "charged-ring"},
            {tr("Quick start, rounded gradients"), "rounded-gradients"},
            {tr("Quick start with churn"), "churn"},
            {tr("One cluster"), "single-cluster"},
            {tr("Authors' 18 nodes"), "authors-18"},
            {tr("Authors' 20 nodes"), "authors-20"},
            {tr("Authors' 42 nodes"), "authors-42"}};
}

QString Palette::words_of(const QString& name) {
    const auto all = templates();
    const auto found = std::find_if(all.begin(), all.end(), [&](const auto& one) { return one.second == name; });
    return found == all.end() ? name : found->first;
}

/// The first two have buttons, the others a menu.
void Palette::add_templates() {
    constexpr std::ptrdiff_t buttons = 2;
    connect(add_button(tr("Quick start"), tr("Opens a copy of quick-start.json: 20 nodes in 12 places of the world")),
            &QPushButton::clicked, this, [this] { Q_EMIT template_requested("quick-start"); });
    connect(add_button(tr("Empty"), tr("An empty canvas")), &QPushButton::clicked, this,
            [this] { Q_EMIT template_requested({}); });
    auto* more = add_button(tr("More"), tr("Published experiments and networks of any size"));
    more->setObjectName("more_templates");
    auto* menu = new QMenu(more);
    menu->setToolTipsVisible(true);
    const auto all = templates();
    for (const auto& [words, name] : std::vector(all.begin() + buttons, all.end())) {
        auto* entry = menu->addAction(words);
        entry->setToolTip(tr("Opens a copy of %1.json").arg(name));
        connect(entry, &QAction::triggered, this, [this, n = name] { Q_EMIT template_requested(n); });
    }
    menu->addSeparator();
    add_shapes(*menu);
    more->setMenu(menu);
    connect(menu, &QMenu::aboutToHide, more, [more] {
        more->setAttribute(Qt::WA_UnderMouse, false);  // the mouse left while the menu had it
        more->update();
    });
}

void Palette::add_shapes(QMenu& menu) {
    auto* box = new QWidget;
    auto* row = new QHBoxLayout(box);
    row->setContentsMargins(size::wide_gap, size::unit, size::wide_gap, size::unit);
    const auto spin = [&](const QString& words, const char* name, int least, int most, int value) {
        auto* label = new QLabel(words);
        auto* number = new QSpinBox;
        number->setObjectName(QString::fromUtf8(name));
        number->setAccessibleName(words);
        number->setButtonSymbols(QAbstractSpinBox::NoButtons);
        number->setRange(least, most);
        number->setValue(value);
        label->setBuddy(number);
        row->addWidget(label);
        row->addWidget(number);
        return number;
    };
    nodes_ = spin(tr("Nodes"), "shape_nodes", least_shape_nodes, most_nodes(Shape::random), 12);
    seed_ = spin(tr("Seed"), "shape_seed", 0, 999'999, 1);
    auto* numbers = new QWidgetAction(&menu);
    numbers->setDefaultWidget(box);
    menu.addAction(numbers);
    const std::pair<QString, Shape> shapes[] = {{tr("Ring"), Shape::ring},
                                                {tr("Star of homes"), Shape::star},
                                                {tr("Two data centres"), Shape::two_data_centres},
                                                {tr("Random regions"), Shape::random}};
    for (const auto& [words, shape] : shapes)
        connect(menu.addAction(words), &QAction::triggered, this, [this, s = shape] {
            Q_EMIT shape_requested(s, nodes_->value(), static_cast<quint64>(seed_->value()));
        });
}

}  // namespace skippipe
