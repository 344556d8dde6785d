// SPDX-License-Identifier: GPL-3.0-or-later
// What is drawn on the canvas. Items hold no document: the scene tells them what they look like.
#pragma once
#include <string>
#include <vector>

#include <QFont>
#include <QGraphicsItem>
#include <QStaticText>

#include "views/document/selection.h"

namespace skippipe {

inline constexpr double node_radius = 20;
inline constexpr double widest_link = 4.5;  ///< pixels
inline constexpr double rim_width = 8;      ///< dragging from here draws a link
inline constexpr double region_margin = 32;
inline constexpr double most_folded_px = 17, least_folded_px = 7;  ///< radius of a folded region of few nodes
inline constexpr double grid = 10;

enum ItemType { node_item = QGraphicsItem::UserType + 1, link_item, region_item, region_label_item };

/// The mark of planned failures, about the origin, 6 by 10.
QPolygonF failure_flash();

class LinkItem;
class RegionItem;
class RegionLabel;

/// Where a node of a small picture has its name: on a side that is free.
enum class FarName { none, below, above, right, left };

/// Of a region's area.
QColor region_ground();

class NodeItem final : public QGraphicsItem {
public:
    explicit NodeItem(std::string id);
    int type() const override { return node_item; }
    QRectF boundingRect() const override;
    QPainterPath shape() const override;
    void paint(QPainter*, const QStyleOptionGraphicsItem*, QWidget*) override;

    /// What it takes of the canvas with its name and its marks, but for the share above it.
    QRectF room() const;
    const std::string& id() const { return id_; }
    bool on_rim(QPointF scene_place) const;
    /// Where its name stands, in scene coordinates, where the canvas is magnified by `zoom`.
    QRectF name_box(double zoom) const;
    /// Where it is seen: in the middle of its region where that is folded.
    QPointF seen_at() const;
    /// The name's room from the node's middle, at a zoom where names are as small as they are read.
    QRectF far_name_box(FarName side, double zoom) const;
    /// The middle of its share of the critical path, from where it is seen.
    QPointF share_place(double zoom) const;
    /// That share's box in the scene; empty where it has none.
    QRectF share_box(double zoom) const;
    /// Draws it there.
    void paint_share(QPainter* painter, const QRectF& box) const;
    void set_far_name(FarName side, double zoom);
    FarName far_name() const { return far_name_; }
    /// Where its name is seen, in scene coordinates, where the canvas is magnified by `zoom`; nowhere: empty.
    QRectF seen_name_box(double zoom) const;

    int stage = -1;
    bool left_out = false;         ///< a plan exists and does not use it
    bool pale = false;             ///< the stage is that of a plan of another state of the document
    int fault_level = 0;           ///< 0 none, 1 warning, 2 error
    bool down = false;             ///< lost, at the time that is shown
    bool fails = false;            ///< failures of the document happen to it
    bool link_target = false;      ///< a link being drawn would end here
    double critical_share = 0;     ///< of the critical path that is spent on it; 0: it is not marked
    bool holds_selection = false;  ///< selected, though its region may hide it
    RegionItem* region = nullptr;
    std::vector<LinkItem*> links;

protected:
    QVariant itemChange(GraphicsItemChange, const QVariant&) override;

private:
    bool is_chosen() const { return isSelected() || link_target; }
    int rings() const { return (is_chosen() ? 1 : 0) + (critical_share > 0 ? 1 : 0); }
    /// Where its name begins, below the disc and its ring.
    double name_top(double zoom) const;
    void paint_name(QPainter* painter) const;

    std::string id_;
    QStaticText label_;
    FarName far_name_ = FarName::none;
    QRectF far_box_;
};

/// A link's line that nothing marks.
struct LinkLook {
    QColor colour;
    double width = 1;  ///< pixels
};
/// `width` as its bandwidth has it; `presence` as the number of links has it, 0 to 1. The wider, the stronger: of many
/// lines one sees those that carry much.
LinkLook link_look(double width, double presence);

/// A line between two nodes or, from outline to outline, two regions; to a folded region where an end is hidden in it,
/// and unseen within one.
class LinkItem final : public QGraphicsItem {
public:
    LinkItem(LinkKey key, QGraphicsItem* from, QGraphicsItem* to, bool both_ways);
    int type() const override { return link_item; }
    QRectF boundingRect() const override;
    QPainterPath shape() const override;
    void paint(QPainter*, const QStyleOptionGraphicsItem*, QWidget*) override;
    void follow_ends();
    /// The middle of its share of the critical path: near its own middle, where it covers no name and nothing that is
    /// `taken`.
    QPointF share_place(double zoom, const std::vector<QRectF>& taken = {}) const;
    /// That share's box; empty where it has none, or where its words say so.
    QRectF share_box(double zoom, const std::vector<QRectF>& taken) const;
    /// Draws it there, and the line through the nodes that lie on it, above all of them.
    void paint_share(QPainter* painter, const QRectF& box) const;
    /// Beneath the regions' areas, which it may cross, where it joins two of them and nothing marks it.
    void settle_depth();

    const LinkKey& key() const { return key_; }
    bool both_ways() const { return both_ways_; }
    const QGraphicsItem* from() const { return from_; }
    const QGraphicsItem* to() const { return to_; }
    QPointF middle() const { return line_.center(); }
    const QLineF& line() const { return line_; }
    int fault_level = 0;
    double width = 1;           ///< pixels, by its bandwidth
    QString words;              ///< latency and bandwidth
    QString name;               ///< its ends
    bool hovered = false;       ///< the mouse is on it: its words are shown
    bool critical = false;      ///< the plan's end waits for it the longest
    double critical_share = 0;  ///< of the critical path that is spent on it
    bool fails = false;         ///< failures of the document happen to it
    bool down = false;          ///< one of its ends is, at the time that is shown
    double presence = 1;        ///< 0 to 1: one of few is seen well, one of thousands is a breath
    bool apart = false;         ///< it leads to nothing of what is selected
    bool beneath = false;       ///< a run's traffic is drawn over it

private:
    bool shows_share() const;
    void paint_over_nodes(QPainter* painter) const;
    void draw_way_to(QPainter* painter, QPointF place, double near) const;
    LinkKey key_;
    QGraphicsItem *from_, *to_;
    bool both_ways_;
    QLineF line_;
    double end_room_ = 0;  ///< from the line's end to where what it leads to begins
    bool joins_edges_ = false;
};

/// The shares of what is critical, above all nodes.
class SharesItem final : public QGraphicsItem {
public:
    SharesItem() {
        setZValue(3);
        setAcceptedMouseButtons(Qt::NoButton);
    }
    QRectF boundingRect() const override;
    QPainterPath shape() const override { return {}; }
    void paint(QPainter*, const QStyleOptionGraphicsItem*, QWidget*) override;
    /// They live as long as they are shown; null: none.
    void show_things(const NodeItem* node, const LinkItem* link);
    void follow();
    /// The canvas is magnified by so much.
    void set_zoom(double zoom);
    /// Where they stand where the canvas is magnified by `zoom`, the node's first: none on the other.
    std::vector<QRectF> boxes(double zoom) const;

private:
    QRectF node_box(double zoom) const;
    QRectF link_box(double zoom, const QRectF& of_node) const;
    const NodeItem* node_ = nullptr;
    const LinkItem* link_ = nullptr;
    QRectF bounds_;
    double zoom_ = 1;
};

/// The soft area behind the nodes of a region: their convex hull with a margin; its position is their middle.
class RegionItem final : public QGraphicsItem {
public:
    explicit RegionItem(std::string id);
    int type() const override { return region_item; }
    QRectF boundingRect() const override;
    QPainterPath shape() const override { return area_; }
    void paint(QPainter*, const QStyleOptionGraphicsItem*, QWidget*) override;
    void follow_nodes();

    const std::string& id() const { return id_; }
    /// Folded it is one disc of that radius in pixels whatever the zoom, with its nodes' number and stages; they are
    /// hidden. True where something changes.
    bool fold(bool folded, double zoom, double radius_px);
    void settle_depth();
    bool is_folded() const { return folded_; }
    /// How many nodes it holds, as its disc says it.
    QString count_words() const;
    /// What a pixel is in the scene's units, as last told.
    double pixel() const { return pixel_; }
    /// Of its disc, in the scene's units.
    double folded_radius() const { return radius_px_ * pixel_; }
    /// While all nodes are being placed it waits for `follow_nodes`: one by one they would move it each time.
    bool waits = false;
    /// Where the way from its middle to a place of the scene leaves it.
    QPointF edge_towards(QPointF scene_place) const;
    /// The middle of a share of the critical path beside it while it is folded, from its own middle.
    QPointF share_place(QSizeF size, double zoom) const;
    /// Whether its area covers a place of the scene.
    bool covers(QPointF scene_place) const;
    int fault_level = 0;
    bool link_target = false;  ///< a link being drawn would end here
    bool hovered = false;      ///< the mouse is on it: its name is shown whatever it covers
    std::vector<NodeItem*> nodes;
    std::vector<LinkItem*> links;
    RegionLabel* label = nullptr;

private:
    void paint_folded(QPainter& painter) const;
    QFont count_font() const;
    void follow_area();

    std::string id_;
    std::vector<QPointF> places_;  ///< of the nodes and of the corners of their names' room, from the middle
    std::vector<QPointF> hull_;    ///< of these; the area is this and a margin
    QPainterPath area_;
    bool folded_ = false;
    double pixel_ = 1, radius_px_ = most_folded_px;
};

/// A region's name, badge and, where it can be linked, the ring from which a link is drawn: above all areas.
class RegionLabel final : public QGraphicsItem {
public:
    RegionLabel(RegionItem& region, bool has_handle);
    int type() const override { return region_label_item; }
    RegionItem& region() const { return region_; }
    QRectF boundingRect() const override;
    /// The name alone takes the mouse: what lies beside it stays within reach.
    QPainterPath shape() const override;
    /// Middle of the ring in scene coordinates, where the canvas is magnified by `zoom`.
    QPointF handle(double zoom) const;
    bool on_handle(QPointF scene_place, double zoom) const;
    void paint(QPainter*, const QStyleOptionGraphicsItem*, QWidget*) override;
    void follow() { prepareGeometryChange(); }
    /// Above its region or below it, by `side` at its left end (-1), its middle (0) or its right end (1); of a folded
    /// one, by `side` beside its disc.
    void set_place(bool below, int side) {
        prepareGeometryChange();
        below_ = below;
        side_ = side;
    }
    bool is_below() const { return below_; }
    /// Whether it stands there without covering others; of a folded region it is hidden else, but for one that is
    /// selected or below the mouse.
    /// What it covers all the same lies below it: words are read whole or not at all.
    void set_has_room(bool has, bool covers) {
        has_room_ = has;
        setZValue(covers ? above_nodes : below_nodes);
    }
    bool is_shown() const;
    /// In a picture too small for names as they are elsewhere: their size, and where they stand, in scene coordinates;
    /// an empty box: they have no room.
    QSizeF far_size(double zoom) const;
    void set_far_box(const QRectF& box);
    /// Where they are seen, where the canvas is magnified by `zoom`; nowhere: empty.
    QRectF seen_box(double zoom) const;
    /// Where the words are, in scene coordinates, at full size.
    QRectF words_box() const;
    /// The words and the ring beside them.
    QRectF words_and_handle_box() const;
    /// The same as they are seen, where the canvas is magnified by `zoom`.
    QRectF words_and_handle_box(double zoom) const;

private:
    static constexpr double below_nodes = 1.7, above_nodes = 2.1;  ///< above what flows both
    QRectF band() const;
    QRectF folded_band() const;
    QRectF words(double scale) const;
    double scale(double zoom) const;
    RegionItem& region_;
    void paint_far(QPainter& painter) const;
    bool below_ = false, has_handle_, has_room_ = true;
    int side_ = 0;
    QRectF far_box_;
};

}  // namespace skippipe
