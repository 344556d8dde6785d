// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/view.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>

#include <QAction>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QGuiApplication>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QWheelEvent>

#include "views/document/document.h"
#include "views/theme/theme.h"
#include "views/topology/edits.h"
#include "views/topology/failure_edits.h"

namespace skippipe {
namespace {
constexpr double least_zoom = 0.05, most_zoom = 4;
constexpr double copy_offset = 40;
constexpr int most_words_width = 420;
constexpr std::size_t most_sharp = 60;  ///< items that are drawn without stairs while they move
}  // namespace

TopologyView::TopologyView(Document& document, SelectionModel& selection, bool editable, QWidget* parent)
    : QGraphicsView(parent), document_(document), selection_(selection), scene_(document, selection, editable) {
    setScene(&scene_);
    setObjectName(editable ? "canvas" : "network");
    setAccessibleName(editable ? tr("Topology canvas") : tr("Network of the run"));
    setViewportUpdateMode(QGraphicsView::BoundingRectViewportUpdate);
    setRenderHint(QPainter::Antialiasing);
    setTransformationAnchor(QGraphicsView::NoAnchor);
    setResizeAnchor(QGraphicsView::AnchorViewCenter);
    setDragMode(QGraphicsView::RubberBandDrag);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFrameShape(QFrame::NoFrame);
    setMouseTracking(true);
    setAcceptDrops(false);  // files are the window's
    viewport()->setAcceptDrops(false);
    setBackgroundBrush(theme().surface);
    sharp_again_.setSingleShot(true);
    sharp_again_.setInterval(120);
    connect(&sharp_again_, &QTimer::timeout, this, [this] {
        setRenderHint(QPainter::Antialiasing);
        viewport()->update();
    });
    connect(&document, &Document::replaced, this, [this] { fit(); });
    connect(&document, &Document::changed, viewport(), qOverload<>(&QWidget::update));
    connect(&selection, &SelectionModel::changed, this, [this] {
        if (words_shown_ != scene_.reduction_words()) viewport()->update();
    });
    connect(&scene_, &TopologyScene::drag_changed, this, &TopologyView::begin_or_end_drag);
    connect(&scene_, &TopologyScene::empty_place_double_clicked, this, &TopologyView::add_node_at);
    make_actions();
}

void TopologyView::make_actions() {
    const auto add = [this](const QString& text, const QKeySequence& keys, auto member) {
        auto* action = new QAction(text, this);
        action->setShortcut(keys);
        action->setShortcutContext(Qt::WidgetWithChildrenShortcut);
        action->setProperty("group", tr("Canvas"));
        connect(action, &QAction::triggered, this, member);
        addAction(action);
    };
    add(tr("Fit everything"), QKeySequence(Qt::Key_Home), &TopologyView::fit);
    add(tr("Centre the selection"), QKeySequence(Qt::Key_F), &TopologyView::center_selection);
    add(tr("Reduction of the stage"), QKeySequence(Qt::Key_G), [this] { scene_.toggle_reduction(); });
    if (!scene_.is_editable()) return;
    add(tr("Add node"), QKeySequence(Qt::Key_N), &TopologyView::add_node_here);
    add(tr("Add region"), QKeySequence(Qt::Key_R), &TopologyView::add_region_here);
    add(tr("Link selected nodes"), QKeySequence(Qt::Key_L), &TopologyView::link_selected);
    add(tr("Group in a region"), QKeySequence(Qt::CTRL | Qt::Key_G), &TopologyView::group_selected);
    add(tr("Copy"), QKeySequence::Copy, &TopologyView::copy);
    add(tr("Paste"), QKeySequence::Paste, &TopologyView::paste);
    add(tr("Duplicate"), QKeySequence(Qt::CTRL | Qt::Key_D), &TopologyView::duplicate);
    add(tr("Delete"), QKeySequence(Qt::Key_Delete), &TopologyView::remove);
    add(tr("Select everything"), QKeySequence::SelectAll, [this] { scene_.select_everything(); });
    add(tr("Tidy up"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_T), &TopologyView::tidy_up);
}

void TopologyView::fit() {
    QRectF box;
    for (const auto* item : scene_.items())
        if (item->type() == node_item || item->type() == region_item) box |= item->sceneBoundingRect();
    if (box.isEmpty()) box = QRectF(-300, -200, 600, 400);
    box.adjust(-8, -8, 8, 8);
    if (scene_.sceneRect().contains(box) == false) scene_.setSceneRect(scene_.sceneRect() | box);
    const double zoom =
        std::clamp(std::min(viewport()->width() / box.width(), viewport()->height() / box.height()), least_zoom, 1.5);
    setTransform(QTransform::fromScale(zoom, zoom));
    centerOn(box.center());
    fitted_ = true;
    user_moved_ = false;
}

void TopologyView::center_selection() {
    if (const auto middle = scene_.middle_of_selection()) centerOn(*middle);
}

void TopologyView::add_node_at(QPointF place) {
    const Point at{std::round(place.x() / grid) * grid, std::round(place.y() / grid) * grid};
    Selection added;
    document_.edit(tr("Add node"), [&](Experiment& e) {
        // Nodes on one spot are laid out by the canvas: keep what is seen before one is added beside them.
        const auto places = node_places(e);
        for (std::size_t i = 0; i < places.size(); ++i)
            e.topology.nodes[i].x = places[i].x, e.topology.nodes[i].y = places[i].y;
        added.nodes.insert(add_node(e, at));
    });
    selection_.select(added);
}

void TopologyView::add_node_here() {
    const QPointF middle = mapToScene(viewport()->rect().center());
    const auto places = node_places(document_.experiment());
    // The first free spot on a widening ring, so that several in a row do not lie on each other.
    for (int ring = 0; ring < 40; ++ring)
        for (int step = 0; step < std::max(1, 6 * ring); ++step) {
            const double angle = 6.283185307179586 * step / std::max(1, 6 * ring);
            const QPointF at = middle + ring * 80.0 * QPointF(std::cos(angle), std::sin(angle));
            if (std::none_of(places.begin(), places.end(),
                             [&](Point p) { return std::hypot(p.x - at.x(), p.y - at.y()) < 70; })) {
                add_node_at(at);
                return;
            }
        }
    add_node_at(middle);
}

void TopologyView::add_region_here() {
    const QPointF middle = mapToScene(viewport()->rect().center());
    Selection added;
    document_.edit(tr("Add region"), [&](Experiment& e) {
        const std::string id = add_region(e, {middle.x(), middle.y()});
        for (auto& node : e.topology.nodes)
            if (selection_.now().nodes.count(node.id)) node.region = id;
        added.regions.insert(id);
    });
    selection_.select(added);
}

void TopologyView::link_selected() {
    const auto nodes = selection_.now().nodes;
    document_.edit(tr("Link selected nodes"), [&](Experiment& e) {
        for (auto a = nodes.begin(); a != nodes.end(); ++a)
            for (auto b = std::next(a); b != nodes.end(); ++b) add_link(e, *a, *b);
    });
}

void TopologyView::group_selected() {
    if (!selection_.now().nodes.empty()) add_region_here();
}

void TopologyView::copy() {
    const std::string text = copy_text(document_.experiment(), selection_.now());
    if (!text.empty()) QGuiApplication::clipboard()->setText(QString::fromStdString(text));
}

void TopologyView::add_copy(const std::string& text, const QString& what) {
    Selection added;
    document_.edit(what, [&](Experiment& e) { added = paste_text(e, text, {copy_offset, copy_offset}); });
    if (!added.empty()) selection_.select(added);
}

void TopologyView::paste() { add_copy(QGuiApplication::clipboard()->text().toStdString(), tr("Paste")); }

void TopologyView::duplicate() { add_copy(copy_text(document_.experiment(), selection_.now()), tr("Duplicate")); }

void TopologyView::remove() {
    const Selection gone = selection_.now();
    // A failure shown beside selected things is not what a key on the canvas is about.
    const bool things = !gone.nodes.empty() || !gone.links.empty() || !gone.regions.empty();
    document_.edit(tr("Delete"), [&](Experiment& e) {
        if (!things && gone.failure) return remove_failure(e, *gone.failure);
        remove_selected(e, gone);
    });
    selection_.select({});
}

void TopologyView::tidy_up() {
    document_.edit(tr("Tidy up"), [](Experiment& e) {
        const auto places = circle_layout(e);
        for (std::size_t i = 0; i < places.size(); ++i)
            e.topology.nodes[i].x = places[i].x, e.topology.nodes[i].y = places[i].y;
    });
    fit();
}

void TopologyView::draw_quickly() {
    setRenderHint(QPainter::Antialiasing, false);
    sharp_again_.start();
}

void TopologyView::begin_or_end_drag() {
    still_.reset();
    const auto moving = scene_.moving_items();
    // The index and the update region would be made anew for every link at every step, for nothing: all of the view is
    // drawn.
    scene_.setItemIndexMethod(moving.empty() ? QGraphicsScene::BspTreeIndex : QGraphicsScene::NoIndex);
    setViewportUpdateMode(moving.empty() ? QGraphicsView::BoundingRectViewportUpdate
                                         : QGraphicsView::FullViewportUpdate);
    if (moving.empty()) {
        viewport()->update();
        return;
    }
    const auto nodes = std::find_if(moving.begin(), moving.end(), [](const auto* item) { return item->zValue() >= 0; });
    const auto links = std::find_if(moving.begin(), nodes, [](const auto* item) { return item->type() == link_item; });
    still_.emplace(Still{{}, {}, {}, {moving.begin(), links}, {links, nodes}, {nodes, moving.end()}});
}

void TopologyView::draw_items(QPainter& painter, const std::vector<QGraphicsItem*>& items) {
    const QTransform place = viewportTransform();
    const QRectF seen = mapToScene(viewport()->rect()).boundingRect();
    for (auto* item : items) {
        if (!item->sceneBoundingRect().intersects(seen)) continue;
        painter.setTransform(item->sceneTransform() * place);
        item->paint(&painter, nullptr, viewport());
    }
    painter.resetTransform();
}

void TopologyView::draw_still(Still& still) {
    std::vector<QGraphicsItem*> low, high;
    std::set<QGraphicsItem*> moving;
    for (const auto* items : {&still.areas, &still.links, &still.high}) moving.insert(items->begin(), items->end());
    for (auto* item : scene_.items(Qt::AscendingOrder))
        if (!moving.count(item)) (item->zValue() < 0 ? low : high).push_back(item);
    const auto layer = [&](const std::vector<QGraphicsItem*>& items) {
        QPixmap picture(viewport()->size() * viewport()->devicePixelRatioF());
        picture.setDevicePixelRatio(viewport()->devicePixelRatioF());
        picture.fill(Qt::transparent);
        QPainter painter(&picture);
        painter.setRenderHint(QPainter::Antialiasing);
        draw_items(painter, items);
        return picture;
    };
    still.below = layer(low);
    still.above = high.empty() ? QPixmap() : layer(high);
    still.place = viewportTransform();
}

void TopologyView::paintEvent(QPaintEvent* event) {
    if (!still_) {
        QGraphicsView::paintEvent(event);
        return;
    }
    if (still_->below.size() != viewport()->size() * viewport()->devicePixelRatioF() ||
        still_->place != viewportTransform())
        draw_still(*still_);
    QPainter painter(viewport());
    painter.setClipRegion(event->region());
    painter.setRenderHint(QPainter::Antialiasing, still_->links.size() + still_->high.size() < most_sharp);
    painter.fillRect(event->rect(), theme().surface);
    draw_items(painter, still_->areas);
    painter.drawPixmap(0, 0, still_->below);
    draw_items(painter, still_->links);
    if (!still_->above.isNull()) painter.drawPixmap(0, 0, still_->above);
    draw_items(painter, still_->high);
}

void TopologyView::changeEvent(QEvent* event) {
    QGraphicsView::changeEvent(event);
    if (event->type() != QEvent::StyleChange) return;
    setBackgroundBrush(theme().surface);
    still_.reset();
    scene_.update();
}

void TopologyView::wheelEvent(QWheelEvent* event) {
    const double now = transform().m11();
    const double next = std::clamp(now * std::pow(1.2, event->angleDelta().y() / 120.0), least_zoom, most_zoom);
    if (next == now) return;
    draw_quickly();
    const QPointF under = mapToScene(event->position().toPoint());
    setTransform(QTransform::fromScale(next, next));
    const QPointF moved = mapFromScene(under) - event->position();
    horizontalScrollBar()->setValue(horizontalScrollBar()->value() + static_cast<int>(std::lround(moved.x())));
    verticalScrollBar()->setValue(verticalScrollBar()->value() + static_cast<int>(std::lround(moved.y())));
    user_moved_ = true;
    event->accept();
}

/// By the mouse of what is under it, by the keyboard of what is selected.
void TopologyView::contextMenuEvent(QContextMenuEvent* event) {
    const bool by_key = event->reason() == QContextMenuEvent::Keyboard;
    Selection subject;
    if (by_key) {
        const Selection& s = selection_.now();
        if (s.nodes.size() + s.links.size() == 1) subject = {.nodes = s.nodes, .links = s.links};
    } else {
        subject = scene_.subject_at(mapToScene(event->pos()));
    }
    if (subject.empty()) return QGraphicsView::contextMenuEvent(event);
    selection_.select(subject);
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->setToolTipsVisible(true);
    Q_EMIT menu_wanted(subject, *menu);
    if (menu->isEmpty()) return menu->deleteLater();
    QPoint at = event->globalPos();
    if (const auto middle = scene_.middle_of_selection(); by_key && middle)
        at = viewport()->mapToGlobal(mapFromScene(*middle));
    menu->popup(at);
    event->accept();
}

void TopologyView::mousePressEvent(QMouseEvent* event) {
    if (event->button() == Qt::MiddleButton) {
        panning_ = true;
        pan_from_ = event->pos();
        viewport()->setCursor(Qt::ClosedHandCursor);
        return;
    }
    QGraphicsView::mousePressEvent(event);
}

void TopologyView::mouseMoveEvent(QMouseEvent* event) {
    if (!panning_) {
        QGraphicsView::mouseMoveEvent(event);
        return;
    }
    draw_quickly();
    const QPoint moved = event->pos() - pan_from_;
    pan_from_ = event->pos();
    horizontalScrollBar()->setValue(horizontalScrollBar()->value() - moved.x());
    verticalScrollBar()->setValue(verticalScrollBar()->value() - moved.y());
    user_moved_ = true;
}

void TopologyView::mouseReleaseEvent(QMouseEvent* event) {
    if (panning_ && event->button() == Qt::MiddleButton) {
        panning_ = false;
        viewport()->setCursor(Qt::ArrowCursor);
        return;
    }
    QGraphicsView::mouseReleaseEvent(event);
}

void TopologyView::showEvent(QShowEvent* event) {
    QGraphicsView::showEvent(event);
    if (!fitted_) fit();
}

void TopologyView::resizeEvent(QResizeEvent* event) {
    QGraphicsView::resizeEvent(event);
    if (!user_moved_) fit();
}

void TopologyView::drawForeground(QPainter* painter, const QRectF&) {
    if (!document_.experiment().topology.nodes.empty()) return draw_reduction_words(painter);
    painter->resetTransform();
    painter->setPen(theme().text_2);
    painter->setFont(body_font());
    const QString words = scene_.is_editable()
                              ? tr("No nodes yet\nDouble-click to add one, drag from its rim to link it")
                              : tr("The network of the chosen run is drawn here");
    painter->drawText(QRectF(QPointF(0, 0), viewport()->size()), Qt::AlignCenter, words);
}

void TopologyView::add_reduction_entry(const Selection& subject, QMenu& menu) {
    if (subject.nodes.size() != 1) return;
    const int stage = scene_.stage_of(*subject.nodes.begin());
    if (stage < 0) return;
    auto* entry = menu.addAction(tr("Reduction of stage %1").arg(stage));
    entry->setObjectName("show_reduction");
    entry->setToolTip(tr("Draws how the stage's replicas sum their gradients (G)"));
    connect(entry, &QAction::triggered, this, [this] { scene_.toggle_reduction(); });
    menu.addSeparator();
}

/// What is drawn of the selected stage, on a ground of its own.
void TopologyView::draw_reduction_words(QPainter* painter) {
    words_shown_ = scene_.reduction_words();
    if (words_shown_.isEmpty()) return;
    painter->save();
    painter->resetTransform();
    painter->setFont(small_font());
    const QSize room = viewport()->size() - QSize(2 * size::gap, 2 * size::gap);
    QRect box = painter->fontMetrics().boundingRect(QRect({}, QSize(std::min(room.width(), most_words_width), 200)),
                                                    Qt::AlignLeft | Qt::TextWordWrap, words_shown_);
    box = quietest_corner(box.size() + QSize(2 * size::gap, 2 * size::unit));
    painter->setPen(QPen(theme().line, 1));
    painter->setBrush(theme().surface_2);
    painter->drawRoundedRect(box, size::radius, size::radius);
    painter->setPen(theme().text);
    painter->drawText(box.adjusted(size::gap, size::unit, -size::gap, -size::unit), Qt::AlignLeft | Qt::TextWordWrap,
                      words_shown_);
    painter->restore();
}

/// The corner of the view in which a box covers the fewest nodes.
QRect TopologyView::quietest_corner(QSize box) const {
    const int right = viewport()->width() - size::gap - box.width(),
              bottom = viewport()->height() - size::gap - box.height();
    QRect best;
    qsizetype least = std::numeric_limits<qsizetype>::max();
    for (const QPoint corner :
         {QPoint(size::gap, bottom), QPoint(size::gap, size::gap), QPoint(right, bottom), QPoint(right, size::gap)}) {
        const QRect there(corner, box);
        const auto items = scene_.items(mapToScene(there));
        const auto covered =
            std::count_if(items.begin(), items.end(), [](const auto* item) { return item->type() == node_item; });
        if (covered < least) best = there, least = covered;
    }
    return best;
}

}  // namespace skippipe
