// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <utility>
#include <vector>

#include <QString>
#include <QWidget>

namespace skippipe {

/// One plan: what an iteration of it takes and costs.
struct PricedPlan {
    int row = 0;  ///< of the table beside it
    QString name;
    double iteration_s = 0, price = 0;
    bool is_front = false;  ///< no other is as short and as cheap and better in one
};

/// Iteration time across, price upwards: a point a plan, those of the Pareto front filled and joined. It is as good as
/// the table beside it, which says the same to a screen reader.
class PricePlot : public QWidget {
    Q_OBJECT
public:
    explicit PricePlot(QWidget* parent = nullptr);
    void show_plans(std::vector<PricedPlan> plans);
    const std::vector<PricedPlan>& plans() const { return plans_; }
    QPointF place(const PricedPlan& plan) const;
    /// Plans whose names have room, with where these stand.
    std::vector<std::pair<const PricedPlan*, QRectF>> named() const;
    QSize sizeHint() const override { return {280, 160}; }

Q_SIGNALS:
    void row_clicked(int row);

protected:
    void paintEvent(QPaintEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;

private:
    struct Extent {
        double low = 0, high = 1;
    };
    const PricedPlan* plan_at(QPointF at) const;
    Extent times() const;
    Extent prices() const;
    QRectF field() const;
    void draw_names(QPainter& painter) const;
    void draw_times(QPainter& painter) const;
    void draw_prices(QPainter& painter) const;

    std::vector<PricedPlan> plans_;
};

}  // namespace skippipe
