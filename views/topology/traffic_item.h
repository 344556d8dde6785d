// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <QGraphicsItem>

#include "views/topology/items.h"
#include "views/topology/traffic.h"

namespace skippipe {

/// A ring from the top, clockwise: the share of time that a node works; bold and green while it does.
void draw_gauge(QPainter* painter, QPointF middle, double radius, double share, bool works);
inline constexpr double parcel_radius = 6;  ///< of the screen, as numbers are
/// What is under way: of a forward full, of a backward hollow, of a reduction in its colour. Pixels of the painter.
void draw_parcel(QPainter* painter, QPointF at, SpanKind kind, double radius = parcel_radius);

/// Load on the canvas: around each node the share of time that it works, lines as wide as the bytes that they carry a
/// second, and what is under way at a moment: forward full, backward hollow.
class TrafficItem final : public QGraphicsItem {
public:
    TrafficItem();
    int type() const override { return UserType + 11; }
    QRectF boundingRect() const override { return bounds_; }
    QPainterPath shape() const override;
    void paint(QPainter*, const QStyleOptionGraphicsItem*, QWidget*) override;

    /// `nodes`: those of the traffic's lanes on the canvas, null where one is not there.
    void set_traffic(Traffic traffic, std::vector<NodeItem*> nodes);
    bool is_empty() const { return nodes_.empty(); }
    /// The canvas is magnified by so much: what is under way is as large whatever that is.
    void set_zoom(double zoom);
    const Traffic& traffic() const { return traffic_; }
    /// A line as it is drawn: pixels wide at a zoom of 1; its tone 0 the ground's to 1 the accent's.
    struct Stroke {
        QLineF line;
        double width = 0, tone = 0;
    };
    std::vector<Stroke> strokes() const;
    /// Something under way as it is drawn: its place, in pixels of a canvas magnified by that much, and its number's
    /// box there; null: the number has no room beside it. Many of a kind on one way are one in their middle, which says
    /// how many; where very much is under way all are smaller.
    struct DrawnParcel {
        const Parcel* parcel = nullptr;
        QPointF at;
        QRectF number;
        int count = 1;
        QString words() const;
    };
    std::vector<DrawnParcel> drawn_parcels(double zoom) const;
    /// Pixels of what is under way.
    double drawn_radius() const;
    /// What the node or line there does; empty: there is none.
    QString words_at(QPointF place) const;

private:
    const NodeItem* node(int lane) const;
    QLineF way(int from, int to) const;
    QString line_words(const LineTraffic& line) const;
    void paint_node(QPainter* painter, int lane) const;
    void paint_parcels(QPainter* painter) const;
    std::vector<DrawnParcel> bundled_parcels(double zoom) const;
    void find_bounds();

    Traffic traffic_;
    std::vector<NodeItem*> nodes_;
    QRectF bounds_;
    double zoom_ = 1;
};

}  // namespace skippipe
