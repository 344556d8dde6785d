// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/view.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>

#include <QAction>
#include <QContextMenuEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QPainter>
#include <QScrollBar>
#include <QWheelEvent>

#include "views/document/document.h"
#include "views/theme/theme.h"
#include "views/topology/first_steps.h"
#include "views/topology/mini_map.h"
#include "views/topology/world_map.h"

namespace skippipe {
namespace {
constexpr double least_zoom = 0.05, most_zoom = 4, opened_zoom = 0.6;
constexpr double most_fitted_zoom = 1.8, most_fitted_large = 2.6;  ///< in a usual window, and in one of any size
constexpr double usual_width = 1400;                               ///< pixels of a view, up to which windows are usual

constexpr QSizeF least_fitted(600, 300), least_way(400, 220);  ///< of what fills the view
constexpr int most_words_width = 420;
constexpr std::size_t many_links = 400;  ///< from here on a picture with soft edges takes longer than a frame
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
    setAcceptDrops(editable);  // devices; files are the window's
    setBackgroundBrush(theme().surface);
    layouts_.setMaxThreadCount(1);  // Graphviz is not for several threads
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
    if (!editable)
        connect(&selection, &SelectionModel::changed, this, [this] {
            // From way to way, and back to everything; who zoomed or moved looks at something else.
            if (user_moved_ || fitted_size_.isEmpty() || sees_way_well()) return;
            if (shows_way_ || !scene_.way_box().isEmpty()) fit_way();
        });
    connect(&scene_, &TopologyScene::drag_changed, this, &TopologyView::begin_or_end_drag);
    connect(&scene_, &TopologyScene::links_stepped, this, [this] {
        if (document_.experiment().topology.links.size() >= many_links) draw_quickly();
    });
    connect(&scene_, &TopologyScene::empty_place_double_clicked, this, [this](QPointF place) { add_node_at(place); });
    connect(&scene_, &TopologyScene::told, this, &TopologyView::told);
    connect(&scene_, &TopologyScene::region_opened, this, [this](RegionItem* region) {
        const QPointF middle = region->pos();
        magnify(opened_zoom);
        centerOn(middle);
        user_moved_ = true;
    });
    map_ = new MiniMap(*this);
    connect(map_, &MiniMap::place_wanted, this, [this](QPointF place) {
        centerOn(place);
        user_moved_ = true;
    });
    connect(&document, &Document::changed, map_, &MiniMap::follow);
    make_actions();
    if (!editable) return;
    make_first_steps();
    make_hops_note();
}

TopologyView::~TopologyView() { layouts_.waitForDone(); }

void TopologyView::scrollContentsBy(int dx, int dy) {
    QGraphicsView::scrollContentsBy(dx, dy);
    if (map_ != nullptr) map_->follow();
}

/// It is in sight already, and would not be much larger by itself: the map stays where it is.
bool TopologyView::sees_way_well() const {
    constexpr double worth_moving = 1.5;
    const QRectF box = scene_.way_box();
    return !box.isEmpty() && mapToScene(free_rect()).boundingRect().contains(box) &&
           zoom_for(box, least_way) < worth_moving * transform().m11();
}

void TopologyView::fit_way() {
    shows_way_ = !scene_.way_box().isEmpty();
    if (!shows_way_) return fit();
    const QRectF box = scene_.way_box();
    magnify(zoom_for(box, least_way));
    centerOn(box.center());
    fitted_size_ = viewport()->size();
    fitted_window_ = window()->size();
    user_moved_ = false;
}

void TopologyView::fit() {
    shows_way_ = false;
    constexpr int edge = 8, most_rounds = 6;
    const auto box_of = [&](double room) {
        const QRectF things = scene_.things_box();
        const QRectF all = things.isEmpty() ? QRectF(-300, -200, 600, 400) : things;
        return all.adjusted(-room, -room, room, room);
    };
    for (int k = 0; k < 2; ++k) magnify(zoom_for(box_of(0), least_fitted));  // whatever the zoom was
    // Folded regions and names are as large whatever the zoom: each time as what is seen then has them. What folds or
    // unfolds by it is not magnified again.
    QRectF box;
    for (int round = 0; round < most_rounds; ++round) {
        const double zoom = transform().m11();
        box = box_of(edge) | scene_.names_box(zoom).adjusted(-edge, -edge, edge, edge);
        if (const double next = zoom_for(box, least_fitted); next < zoom)
            magnify(next);
        else
            break;
    }
    if (scene_.sceneRect().contains(box) == false) scene_.setSceneRect(scene_.sceneRect() | box);
    center_in_free(box.center());
    place_hops_note();
    fitted_size_ = viewport()->size();
    fitted_window_ = window()->size();
    user_moved_ = false;
}

/// Few things are not magnified until they fill a large screen, but they grow with it.
double TopologyView::zoom_for(const QRectF& box, QSizeF least) const {
    const QSizeF size = box.size().expandedTo(least);
    const double most = std::clamp(most_fitted_zoom * width() / usual_width, most_fitted_zoom, most_fitted_large);
    return std::clamp(std::min(free_rect().width() / size.width(), free_rect().height() / size.height()), least_zoom,
                      most);
}

/// What of the view the next step leaves free.
QRect TopologyView::free_rect() const {
    const int taken = steps_ == nullptr ? 0 : steps_->taken_below();
    return viewport()->rect().adjusted(0, 0, 0, -std::min(taken, viewport()->height() / 2));
}

void TopologyView::center_in_free(QPointF middle) {
    const double zoom = transform().m11();
    const int taken = viewport()->height() - free_rect().height();
    const QPointF at = middle + QPointF(0, taken / 2.0 / zoom);
    QRectF seen({}, QSizeF(viewport()->size()) / zoom);
    seen.moveCenter(at);
    if (taken > 0) scene_.setSceneRect(scene_.sceneRect() | seen);  // which would not scroll so far otherwise
    centerOn(at);
}

bool TopologyView::sees_all() const {
    return mapToScene(free_rect()).boundingRect().contains(shows_way_ ? scene_.way_box() : scene_.things_box());
}

void TopologyView::magnify(double zoom) {
    setTransform(QTransform::fromScale(zoom, zoom));
    scene_.follow_zoom(zoom);
    if (map_ != nullptr) map_->follow();
}

void TopologyView::center_selection() {
    if (const auto middle = scene_.middle_of_selection()) centerOn(*middle);
}

void TopologyView::reveal_selection() {
    const auto middle = scene_.middle_of_selection();
    if (!middle) return;
    constexpr int room = 24;
    if (!viewport()->rect().adjusted(room, room, -room, -room).contains(mapFromScene(*middle))) centerOn(*middle);
}

void TopologyView::draw_quickly() {
    setRenderHint(QPainter::Antialiasing, false);
    sharp_again_.start();
}

void TopologyView::begin_or_end_drag() {
    drag_picture_.reset();
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
    drag_picture_.emplace(moving, scene_.moving_as_one());
}

void TopologyView::paintEvent(QPaintEvent* event) {
    if (!drag_picture_) {
        QGraphicsView::paintEvent(event);
        return;
    }
    QPainter painter(viewport());
    painter.setClipRegion(event->region());
    painter.setTransform(viewportTransform());
    drawBackground(&painter, mapToScene(event->rect()).boundingRect());
    painter.resetTransform();
    drag_picture_->draw(painter, *this);
    draw_focus(painter);
}

/// A menu takes the mouse as well: it may close with the mouse elsewhere.
bool TopologyView::viewportEvent(QEvent* event) {
    if (event->type() == QEvent::Leave) scene_.end_hover();
    return QGraphicsView::viewportEvent(event);
}

void TopologyView::changeEvent(QEvent* event) {
    QGraphicsView::changeEvent(event);
    if (event->type() != QEvent::StyleChange) return;
    setBackgroundBrush(theme().surface);
    drag_picture_.reset();
    scene_.update();
}

void TopologyView::wheelEvent(QWheelEvent* event) {
    const double now = transform().m11();
    const double next = std::clamp(now * std::pow(1.2, event->angleDelta().y() / 120.0), least_zoom, most_zoom);
    if (next == now) return;
    draw_quickly();
    const QPointF under = mapToScene(event->position().toPoint());
    magnify(next);
    const QPointF moved = mapFromScene(under) - event->position();
    horizontalScrollBar()->setValue(horizontalScrollBar()->value() + static_cast<int>(std::lround(moved.x())));
    verticalScrollBar()->setValue(verticalScrollBar()->value() + static_cast<int>(std::lround(moved.y())));
    user_moved_ = true;
    event->accept();
}

/// By the mouse of what is under it, by the keyboard of what is selected. Of several selected things one menu; on
/// emptiness that of the canvas.
void TopologyView::contextMenuEvent(QContextMenuEvent* event) {
    const bool by_key = event->reason() == QContextMenuEvent::Keyboard;
    const Selection& s = selection_.now();
    const Selection selected{.nodes = s.nodes, .regions = s.regions, .links = s.links};
    Selection subject = by_key ? selected : scene_.subject_at(mapToScene(event->pos()));
    const auto is_part = [&] {
        return std::includes(s.nodes.begin(), s.nodes.end(), subject.nodes.begin(), subject.nodes.end()) &&
               std::includes(s.regions.begin(), s.regions.end(), subject.regions.begin(), subject.regions.end()) &&
               std::includes(s.links.begin(), s.links.end(), subject.links.begin(), subject.links.end());
    };
    if (!subject.empty() && is_part())
        subject = selected;
    else if (!subject.empty())
        selection_.select(subject);
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    menu->setToolTipsVisible(true);
    Q_EMIT menu_wanted(subject, *menu);
    if (menu->isEmpty()) return menu->deleteLater();
    scene_.end_hover();
    QPoint at = event->globalPos();
    if (const auto middle = scene_.middle_of_selection(); by_key && middle)
        at = viewport()->mapToGlobal(mapFromScene(*middle));
    menu->popup(at);
    event->accept();
}

void TopologyView::mousePressEvent(QMouseEvent* event) {
    if (event->button() == Qt::MiddleButton || (space_held_ && event->button() == Qt::LeftButton)) {
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
    if (panning_ && (event->button() == Qt::MiddleButton || event->button() == Qt::LeftButton)) {
        panning_ = false;
        viewport()->setCursor(space_held_ ? Qt::OpenHandCursor : Qt::ArrowCursor);
        return;
    }
    QGraphicsView::mouseReleaseEvent(event);
}

void TopologyView::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Space) {
        if (!event->isAutoRepeat() && !space_held_) {
            space_held_ = true;
            viewport()->setCursor(Qt::OpenHandCursor);
        }
        return event->accept();
    }
    if (event->key() == Qt::Key_Escape && !selection_.now().empty()) {
        selection_.clear();
        return event->accept();
    }
    const double step = event->modifiers() & Qt::AltModifier     ? 1
                        : event->modifiers() & Qt::ShiftModifier ? 5 * grid
                                                                 : grid;
    const std::pair<int, QPointF> ways[] = {
        {Qt::Key_Left, {-step, 0}}, {Qt::Key_Right, {step, 0}}, {Qt::Key_Up, {0, -step}}, {Qt::Key_Down, {0, step}}};
    for (const auto& [key, way] : ways)
        if (event->key() == key && nudge(way)) return event->accept();
    QGraphicsView::keyPressEvent(event);
}

void TopologyView::keyReleaseEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Space && !event->isAutoRepeat()) {
        space_held_ = false;
        if (!panning_) viewport()->setCursor(Qt::ArrowCursor);
        return event->accept();
    }
    QGraphicsView::keyReleaseEvent(event);
}

/// Tab goes from node to node, and beyond the last one on to the next view.
bool TopologyView::focusNextPrevChild(bool next) {
    const auto& nodes = document_.experiment().topology.nodes;
    const auto& selected = selection_.now().nodes;
    auto at = nodes.end();
    for (auto node = nodes.begin(); node != nodes.end(); ++node)
        if (selected.contains(node->id) && (at == nodes.end() || next)) at = node;
    if (at == nodes.end() && next && !nodes.empty())
        at = nodes.begin();
    else if (at == nodes.end() || (next ? std::next(at) == nodes.end() : at == nodes.begin()))
        return QGraphicsView::focusNextPrevChild(next);
    else
        std::advance(at, next ? 1 : -1);
    selection_.select({.nodes = {at->id}});
    reveal_selection();
    return true;
}

void TopologyView::focusInEvent(QFocusEvent* event) {
    QGraphicsView::focusInEvent(event);
    viewport()->update();
}

void TopologyView::focusOutEvent(QFocusEvent* event) {
    viewport()->update();
    space_held_ = false;
    QGraphicsView::focusOutEvent(event);
}

void TopologyView::showEvent(QShowEvent* event) {
    QGraphicsView::showEvent(event);
    if (fitted_size_.isEmpty()) fit();
}

void TopologyView::resizeEvent(QResizeEvent* event) {
    QGraphicsView::resizeEvent(event);
    map_->follow();
    place_hops_note();
    // A banner that comes is no reason to move what is looked at, unless it hides some; another size of the window is.
    const QSize now = viewport()->size(), then = fitted_size_;
    const auto differs = [](int a, int b, int percent) { return std::abs(a - b) > b * percent / 100; };
    const bool is_another = fitted_window_ != window()->size() || differs(now.width(), then.width(), 3) ||
                            differs(now.height(), then.height(), 15);
    if (user_moved_ || (!is_another && sees_all())) return;
    if (shows_way_) return fit_way();
    fit();
}

void TopologyView::drawBackground(QPainter* painter, const QRectF& seen) {
    QGraphicsView::drawBackground(painter, seen);
    if (!document_.experiment().topology.on_map) return;
    painter->setPen(Qt::NoPen);
    painter->setBrush(mix(theme().surface, theme().text_2, theme().dark ? 0.1 : 0.07));
    painter->drawPath(land_outlines());
}

/// A frame, where the view has the keys.
void TopologyView::draw_focus(QPainter& painter) const {
    if (!hasFocus()) return;
    painter.save();
    painter.resetTransform();
    painter.setPen(QPen(theme().accent, 1));
    painter.setBrush(Qt::NoBrush);
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.drawRect(viewport()->rect().adjusted(0, 0, -1, -1));
    painter.restore();
}

void TopologyView::drawForeground(QPainter* painter, const QRectF&) {
    draw_focus(*painter);
    const auto& topology = document_.experiment().topology;
    if (!topology.nodes.empty() || scene_.is_editable()) return draw_reduction_words(painter);
    painter->resetTransform();
    painter->setPen(theme().text_2);
    painter->setFont(body_font());
    painter->drawText(QRectF(QPointF(0, 0), viewport()->size()), Qt::AlignCenter,
                      tr("The network of the chosen run is drawn here"));
}

void TopologyView::add_reduction_entry(const Selection& subject, QMenu& menu) {
    if (subject.nodes.size() != 1) return;
    const int stage = scene_.stage_of(*subject.nodes.begin());
    if (stage < 0) return;
    auto* entry = menu.addAction(tr("Show how stage %1 sums its gradient").arg(stage));
    entry->setObjectName("show_reduction");
    entry->setToolTip(tr("Draws how the stage's replicas sum their gradients (G)"));
    connect(entry, &QAction::triggered, this, [this] { scene_.toggle_reduction(); });
    menu.addSeparator();
}

/// What is drawn of the selected stage, on a ground of its own.
void TopologyView::draw_reduction_words(QPainter* painter) {
    words_shown_ = scene_.reduction_words();
    words_box_ = {};
    if (words_shown_.isEmpty()) return;
    painter->save();
    painter->resetTransform();
    painter->setFont(small_font());
    const QSize room = viewport()->size() - QSize(2 * size::gap, 2 * size::gap);
    const auto place = [&](const QString& words) {
        const QRect box = painter->fontMetrics().boundingRect(
            QRect({}, QSize(std::min(room.width(), most_words_width), 200)), Qt::AlignLeft | Qt::TextWordWrap, words);
        return quietest_corner(box.size() + QSize(2 * size::gap, 2 * size::unit));
    };
    QString words = words_shown_;
    QRect box = place(words);
    if (nodes_below(box) > 0) box = place(words = scene_.reduction_in_short());
    words_box_ = box;
    painter->setPen(QPen(theme().line, 1));
    painter->setBrush(theme().surface_2);
    painter->drawRoundedRect(box, size::radius, size::radius);
    painter->setPen(theme().text);
    painter->drawText(box.adjusted(size::gap, size::unit, -size::gap, -size::unit), Qt::AlignLeft | Qt::TextWordWrap,
                      words);
    painter->restore();
}

/// The corner of the view in which a box covers nothing that lies over the canvas, but for `own`, and the fewest nodes.
QRect TopologyView::quietest_corner(QSize box, const QWidget* own) const {
    constexpr qsizetype as_many_nodes = 1'000;
    const auto over = [&](const QRect& there) {
        const auto parts = viewport()->findChildren<QWidget*>(Qt::FindDirectChildrenOnly);
        return std::count_if(parts.begin(), parts.end(), [&](const QWidget* part) {
            return part != own && part->isVisible() && part->geometry().intersects(there);
        });
    };
    const int right = viewport()->width() - size::gap - box.width(),
              bottom = viewport()->height() - size::gap - box.height();
    QRect best;
    qsizetype least = std::numeric_limits<qsizetype>::max();
    for (const QPoint corner :
         {QPoint(size::gap, bottom), QPoint(size::gap, size::gap), QPoint(right, bottom), QPoint(right, size::gap)}) {
        const QRect there(corner, box);
        const auto covered = nodes_below(there) + as_many_nodes * over(there);
        if (covered < least) best = there, least = covered;
    }
    return best;
}

qsizetype TopologyView::nodes_below(const QRect& box) const {
    const auto items = scene_.items(mapToScene(box));
    return std::count_if(items.begin(), items.end(), [](const auto* item) { return item->type() == node_item; });
}

}  // namespace skippipe
