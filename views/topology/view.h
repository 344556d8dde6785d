// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QGraphicsView>
#include <QTimer>

#include "views/topology/scene.h"

namespace skippipe {

class Document;

/// The canvas: zoom at the cursor, pan, and the actions of the editor.
class TopologyView : public QGraphicsView {
    Q_OBJECT
public:
    TopologyView(Document& document, bool editable, QWidget* parent = nullptr);

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

protected:
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

    Document& document_;
    TopologyScene scene_;
    QTimer sharp_again_;
    QPoint pan_from_;
    bool panning_ = false, fitted_ = false, user_moved_ = false;
};

}  // namespace skippipe
