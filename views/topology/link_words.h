// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <QGraphicsItem>

#include "core/experiment/document.h"
#include "views/topology/items.h"

namespace skippipe {

/// Of all links of a network; of none both are 0.
struct BandwidthRange {
    double slowest_bytes_per_s = 0, fastest_bytes_per_s = 0;
    bool operator==(const BandwidthRange&) const = default;
};
BandwidthRange bandwidths_of(const std::vector<Link>& links);

/// Pixels of a link's line, from 1 to 4.5: links of a network that differ by four times or more spread over all of
/// these, by logarithm, those that differ by less over a part; where all are alike 1 up to 20 Mbit/s and 1.6 more for
/// each ten times as much.
double link_width(double bandwidth_bytes_per_s, const BandwidthRange& among);
/// "Oregon ↔ LA", or "Oregon → LA" where there is one direction only.
QString link_name(const Link& link);
/// "50 ms, 1 Gbit/s"
QString link_words(const Link& link);

/// "critical link: 23 % of the critical path"
QString critical_words(double share);
/// The same of a node.
QString critical_node_words(double share);

/// What links say of themselves, near their middles: the one under the mouse, with its ends, and the selected ones.
class LinkWordsItem final : public QGraphicsItem {
public:
    LinkWordsItem();
    QRectF boundingRect() const override { return bounds_; }
    QPainterPath shape() const override { return {}; }
    void paint(QPainter*, const QStyleOptionGraphicsItem*, QWidget*) override;
    /// `links` live as long as they are shown.
    void show_links(std::vector<const LinkItem*> links);
    void follow_links() { show_links(links_); }
    const std::vector<const LinkItem*>& links() const { return links_; }
    /// The canvas is magnified by so much.
    void set_zoom(double zoom);
    /// What they cover as little as a node; it lives as long as they do.
    void keep_off(const SharesItem* shares) { shares_ = shares; }
    /// What the words of one of them take of the scene, where the canvas is magnified by `zoom`: nothing of what is
    /// `taken`.
    QRectF box_of(const LinkItem& link, double zoom, std::vector<QRectF> taken = {}) const;
    /// From words that stand there to the nearest place of their line.
    static QLineF leader_of(const QLineF& line, const QRectF& box);
    static QString words_of(const LinkItem& link);

private:
    std::vector<QRectF> things_near(const QLineF& line, double zoom) const;
    std::vector<const LinkItem*> links_;
    const SharesItem* shares_ = nullptr;
    QRectF bounds_;
    double zoom_ = 1;
};

}  // namespace skippipe
