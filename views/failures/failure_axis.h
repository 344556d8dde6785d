// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <optional>
#include <vector>

#include <QWidget>

#include "views/failures/failure_lanes.h"
#include "views/timeline/geometry.h"
#include "views/timeline/zoom.h"

class QPainter;

namespace skippipe {

class Document;
class FailureEditor;
class SelectionModel;

inline constexpr double failure_gap = 6;  ///< above its scale: the axis of the plan above it is another one
inline constexpr double failure_scale_height = 24, failure_lane_height = 20;

/// Network time of the whole training with the document's failures: those at a time with a bar until it is over, those
/// in an iteration across it, those by chance or rate as a lane with words. A click on an empty place adds a crash, a
/// drag moves one, the right end of a bar says when it is over.
class FailureAxis : public QWidget {
    Q_OBJECT
public:
    FailureAxis(Document& document, SelectionModel& selection, FailureEditor& editor, QWidget* parent = nullptr);

    /// The length of an iteration of the plan has changed.
    void follow_plan();
    const std::vector<FailureLane>& lanes() const { return lanes_; }
    /// Where a time on a lane is, in the widget's coordinates.
    QPointF place_of(double seconds, int lane) const;
    /// What the card under the mouse says.
    QString words_at(QPointF place) const;

    /// Pixels of the lanes' names; what stands above it has its time begin there, too.
    double names_width() const;
    /// What its scale is of.
    bool is_one_row() const;
    void paint_hint(QPainter& painter, double top, double high) const;
    QString axis_words() const;
    /// As high as its lanes; at the least as two, which scroll.
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

Q_SIGNALS:
    void edit_requested();  ///< Enter: its properties are wanted

protected:
    bool event(QEvent*) override;
    void paintEvent(QPaintEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void mouseDoubleClickEvent(QMouseEvent*) override;
    void leaveEvent(QEvent*) override;
    void wheelEvent(QWheelEvent*) override;
    void keyPressEvent(QKeyEvent*) override;
    void resizeEvent(QResizeEvent*) override;

private:
    enum class Part { body, end };
    struct Hit {
        std::size_t failure = 0;
        Part part = Part::body;
    };
    struct Drag {
        Hit hit;
        QPointF from;
        Failure failure;  ///< as it would be
        bool moved = false;
    };

    int height_of(double most_rows) const;
    void follow_document();
    void bring_selected_into_sight();
    TimeScale scale() const;
    LaneStack stack() const;
    double pixels_s(double pixels) const;
    const Failure& shown(std::size_t index) const;
    std::optional<std::size_t> selected() const;
    std::optional<Hit> hit_at(QPointF place) const;
    bool is_empty_place(QPointF place) const;
    std::string target_at(QPointF place) const;
    double time_at(QPointF place, bool exact) const;
    void drag_to(QPointF place, bool exact);
    void step_time(int steps);
    void step_selection(int steps);

    void paint_axis(QPainter& painter) const;
    void paint_lane(QPainter& painter, int lane) const;
    void paint_timed(QPainter& painter, int lane) const;
    void paint_words(QPainter& painter, int lane) const;
    void paint_thumb(QPainter& painter) const;
    void paint_ghost(QPainter& painter) const;

    Document& document_;
    SelectionModel& selection_;
    FailureEditor& editor_;
    TimeZoom zoom_;
    std::vector<FailureLane> lanes_;
    std::vector<Failure> known_;
    int known_iterations_ = 0;
    double scroll_ = 0;
    std::optional<QPointF> hover_, pressed_empty_;
    std::optional<Drag> drag_;
};

}  // namespace skippipe
