// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <map>
#include <optional>

#include <QGraphicsView>
#include <QPixmap>
#include <QThreadPool>
#include <QTimer>

#include "views/topology/drag_picture.h"
#include "views/topology/layouts.h"
#include "views/topology/scene.h"

class QMenu;
class QPushButton;

namespace skippipe {

class Document;
class FirstSteps;
class MiniMap;
struct Device;

/// What the canvas's actions are about, as menus group them.
enum class CanvasActions { see, add, join, copy, lay_out, align };

/// The canvas: zoom at the cursor, pan, and the actions of the editor.
class TopologyView : public QGraphicsView {
    Q_OBJECT
public:
    TopologyView(Document& document, SelectionModel& selection, bool editable, QWidget* parent = nullptr);
    ~TopologyView() override;

    /// What a device of the palette is dragged as: its name.
    static constexpr const char* device_mime = "application/x-skippipe-device";

    TopologyScene& scene_model() { return scene_; }
    const TopologyScene& scene_model() const { return scene_; }
    /// What the words about the selected stage's reduction took of the view when it was drawn; empty: there were none.
    QRect reduction_words_box() const { return words_box_; }
    /// In the order of menus; those that a canvas has which is only looked at are what is seen.
    QList<QAction*> actions_of(CanvasActions kind) const;
    QStringList names_of(CanvasActions kind) const;
    /// Everything in sight.
    void fit();
    /// The way of the selected microbatch; everything where none is selected.
    void fit_way();
    /// Brings what is selected to the middle.
    void center_selection();
    /// Brings what is selected into sight where it is not.
    void reveal_selection();
    /// Adds a node to the region that is selected or that the selected nodes stand in, beside them; else at the middle
    /// of what is seen. Selects it.
    void add_node_here();
    /// Adds a region beside all others; selected nodes that stand in none go into it.
    void add_region_here();
    /// Adds so many regions of three nodes in the middle, each linked to each: how an empty canvas begins.
    void add_regions(int regions);
    /// A run has begun: nobody needs to be told how.
    void end_first_steps();
    /// Whether the window would launch what is drawn: the last of the first steps is offered only then.
    void set_can_launch(bool can);
    /// Whether the canvas offers the next of the first steps as a button.
    bool has_next_step() const;
    /// Adds a node that is such a device.
    void add_device_here(const Device& device);
    void copy();
    void paste();
    void duplicate();
    void remove();
    void tidy_up();
    /// Every region where it is in the world, whose map is shown then.
    void lay_out_on_map();
    /// Linked nodes near each other, once Graphviz is done beside the window.
    void lay_out_by_graphviz();
    /// A column a stage of the plan.
    void lay_out_by_stage();
    /// Links every two of the selected regions and of the selected nodes that cannot reach each other yet.
    /// Returns the links that came.
    Selection link_selected();
    /// Moves the selected nodes; false where none is.
    bool nudge(QPointF by);
    void align_selected(Align to);
    void distribute_selected(bool across);
    /// Offers to draw how the stage of a node sums its gradient, where it does.
    void add_reduction_entry(const Selection& subject, QMenu& menu);
    /// Folds or unfolds the regions that are selected or hold what is selected; nothing selected: all of them.
    void fold_selected();
    /// Puts the selected nodes into a region of their own.
    void group_selected();

Q_SIGNALS:
    /// A menu is about to be shown for what was clicked; nothing: for the canvas. Whoever listens fills it. Empty, it
    /// is not shown.
    void menu_wanted(const Selection& subject, QMenu& menu);
    void told(const QString& what);  ///< what a gesture did, or why it did nothing
    void next_step_changed();        ///< the canvas offers one, or no more
    void launch_wanted();            ///< the last of the first steps
    void settings_wanted();          ///< of the experiment: stages and skip ratio
    void matrix_wanted();            ///< which has what links would
    void open_again_wanted();        ///< the document's file, of which nothing could be drawn

protected:
    void contextMenuEvent(QContextMenuEvent*) override;
    void paintEvent(QPaintEvent*) override;
    bool viewportEvent(QEvent* event) override;
    void changeEvent(QEvent*) override;
    void wheelEvent(QWheelEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void keyReleaseEvent(QKeyEvent*) override;
    void focusInEvent(QFocusEvent*) override;
    void focusOutEvent(QFocusEvent*) override;
    bool focusNextPrevChild(bool next) override;
    void dragEnterEvent(QDragEnterEvent*) override;
    void dragMoveEvent(QDragMoveEvent*) override;
    void dropEvent(QDropEvent*) override;
    void showEvent(QShowEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void scrollContentsBy(int dx, int dy) override;
    void drawBackground(QPainter*, const QRectF&) override;
    void drawForeground(QPainter*, const QRectF&) override;
    void draw_focus(QPainter& painter) const;

private:
    void magnify(double zoom);
    double zoom_for(const QRectF& box, QSizeF least) const;
    QRect free_rect() const;
    void center_in_free(QPointF middle);
    bool sees_all() const;
    bool sees_way_well() const;
    void lay_out(const QString& what, const std::vector<Point>& places, bool on_map);
    void take_layout(const Topology& of, const std::vector<Point>& places);
    void add_node_at(QPointF place);
    std::string region_under(QPointF place) const;
    void fill_region(const std::string& id);
    void reveal_added();
    void add_node_in(Point at, const std::string& region, const Device* device);
    std::string region_of_selection() const;
    Point free_place_round(QPointF middle, double apart) const;
    Point free_place() const;
    std::optional<Point> place_in_round(const std::string& region) const;
    Point free_region_place() const;
    void add_region_of(const std::set<std::string>& nodes);
    void add_copy(const std::string& text, const QString& what);
    bool place_selected(const QString& what, const std::function<void(std::vector<Point>&)>& change,
                        const QString& merge = {});
    void make_actions();
    void make_first_steps();
    void change_steps(const std::function<void()>& change);
    void make_hops_note();
    void place_hops_note();
    void draw_quickly();
    void begin_or_end_drag();
    void draw_reduction_words(QPainter* painter);
    QRect quietest_corner(QSize box, const QWidget* own = nullptr) const;
    qsizetype nodes_below(const QRect& box) const;

    Document& document_;
    SelectionModel& selection_;
    TopologyScene scene_;
    std::map<CanvasActions, QList<QAction*>> actions_of_;
    MiniMap* map_ = nullptr;
    FirstSteps* steps_ = nullptr;  ///< of an editor
    QPushButton* hops_ = nullptr;  ///< says why nodes have no links, and leads to their hop times; of an editor
    QTimer sharp_again_;
    QThreadPool layouts_;
    std::optional<DragPicture> drag_picture_;
    QRect words_box_;
    QString words_shown_;  ///< of the selected stage's reduction
    QPoint pan_from_;
    QSize fitted_size_;    ///< of the viewport when all was brought into sight; empty: not yet
    QSize fitted_window_;  ///< of the window then
    bool panning_ = false, space_held_ = false, user_moved_ = false;
    bool shows_way_ = false;  ///< a microbatch's way fills the view
};

}  // namespace skippipe
