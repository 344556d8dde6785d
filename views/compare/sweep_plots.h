// SPDX-License-Identifier: GPL-3.0-or-later
// Two pictures of a sweep: its rows as lines over an axis a column, and as points of what is paid for what.
#pragma once
#include <vector>

#include <QPainter>
#include <QPolygonF>
#include <QWidget>

#include "views/compare/sweep_look.h"

namespace skippipe {

/// What both have: rows that are pointed at, chosen and told. They are as good as the table beside them, which says the
/// same to a screen reader.
class SweepPlot : public QWidget {
    Q_OBJECT
public:
    explicit SweepPlot(const QString& name, QWidget* parent = nullptr);
    void set_look(const SweepLook& look);
    /// -1: none.
    void set_chosen(int row);
    int chosen() const { return chosen_; }
    /// Where a row stands: its line's or point's places; empty where it has not all that is drawn.
    virtual QPolygonF places(int row) const = 0;
    /// Where a row's runs may be named, the best place first, in so large a box; none: it is not drawn.
    virtual std::vector<QRectF> name_boxes(int row, QSizeF words) const = 0;

Q_SIGNALS:
    void row_clicked(int row);

protected:
    void paintEvent(QPaintEvent*) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent*) override;

    virtual void draw_axes(QPainter& painter) const = 0;
    virtual void draw_row(QPainter& painter, int row, const QPen& pen) const = 0;
    const SweepLook& look() const { return look_; }

private:
    QColor colour_of(int row) const;
    void draw_names(QPainter& painter) const;
    int row_at(QPointF at) const;
    QString words_of(int row) const;

    SweepLook look_;
    int chosen_ = -1, pointed_ = -1;
};

/// An axis for each column, a line for each row.
class ParallelPlot : public SweepPlot {
    Q_OBJECT
public:
    explicit ParallelPlot(QWidget* parent = nullptr);
    QPolygonF places(int row) const override;
    std::vector<QRectF> name_boxes(int row, QSizeF words) const override;

protected:
    void draw_axes(QPainter& painter) const override;
    void draw_row(QPainter& painter, int row, const QPen& pen) const override;

private:
    double axis_x(std::size_t column) const;
    double place_y(const SweepColumn& column, double value) const;
};

/// Loss over iteration time, or over money.
class TradeOffPlot : public SweepPlot {
    Q_OBJECT
public:
    explicit TradeOffPlot(QWidget* parent = nullptr);
    void set_over_money(bool over_money);
    QPolygonF places(int row) const override;
    std::vector<QRectF> name_boxes(int row, QSizeF words) const override;

protected:
    void draw_axes(QPainter& painter) const override;
    void draw_row(QPainter& painter, int row, const QPen& pen) const override;

private:
    const SweepColumn* across() const;
    QRectF field() const;
    bool over_money_ = false;
};

}  // namespace skippipe
