// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QGraphicsView>
#include <QPixmap>
#include <QTimer>

#include "views/topology/scene.h"

class QMenu;

namespace skippipe {

class Document;

/// The canvas: zoom at the cursor, pan, and the actions of the editor.
class TopologyView : public QGraphicsView {
    Q_OBJECT
public:
    TopologyView(Document& document, SelectionModel& selection, bool editable, QWidget* parent = nullptr);

    TopologyScene& scene_model() { return scene_; }
    /// Everything in sight.
    void fit();
    /// Brings what is selected into sight.
    void center_selection();
    /// Adds a node at the middle of what is seen and selects it.
    void add_node_here();
    void add_region_here();
    void copy();
    void paste();
    void duplicate();
    void remove();
    void tidy_up();
    /// Links every two of the selected nodes that no link joins yet.
    void link_selected();
    /// Offers to draw how the stage of a node sums its gradient, where it does.
    void add_reduction_entry(const Selection& subject, QMenu& menu);
    /// Puts the selected nodes into a region of their own.
    void group_selected();

Q_SIGNALS:
    /// A menu is about to be shown for what can fail: whoever listens fills it. Empty, it is not shown.
    void menu_wanted(const Selection& subject, QMenu& menu);

protected:
    void contextMenuEvent(QContextMenuEvent*) override;
    void paintEvent(QPaintEvent*) override;
    void changeEvent(QEvent*) override;
    void wheelEvent(QWheelEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void showEvent(QShowEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void drawForeground(QPainter*, const QRectF&) override;

private:
    void add_node_at(QPointF place);
    void add_copy(const std::string& text, const QString& what);
    void make_actions();
    void draw_quickly();
    void begin_or_end_drag();
    void draw_items(QPainter& painter, const std::vector<QGraphicsItem*>& items);

    /// What a drag leaves where it is: drawn once, so that a frame costs what moves.
    struct Still {
        QPixmap below, above;  ///< areas and links; nodes and names
        QTransform place;
        std::vector<QGraphicsItem*> areas, links, high;  ///< what moves: under `below`, over it, over `above`
    };
    void draw_still(Still& still);
    void draw_reduction_words(QPainter* painter);
    QRect quietest_corner(QSize box) const;

    Document& document_;
    SelectionModel& selection_;
    TopologyScene scene_;
    QTimer sharp_again_;
    std::optional<Still> still_;
    QString words_shown_;  ///< of the selected stage's reduction
    QPoint pan_from_;
    bool panning_ = false, fitted_ = false, user_moved_ = false;
};

}  // namespace skippipe
