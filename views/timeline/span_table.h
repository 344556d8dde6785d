// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>

#include <QAbstractTableModel>

#include "views/timeline/lanes.h"

namespace skippipe {

/// A lane's work and its waits by their times as a table: what the timeline draws, for screen readers and for those
/// who read numbers.
class SpanTable : public QAbstractTableModel {
    Q_OBJECT
public:
    using QAbstractTableModel::QAbstractTableModel;
    /// True where another lane is shown now.
    bool show_lane(std::shared_ptr<const TimelineData> data, int lane);
    /// The first row that ends after that time; the last one where there is none.
    int row_at(double time_s) const;
    /// Its work; null: it is a wait.
    const LaneSpan* span(int row) const;
    /// Its wait, of one cause; null: it is work.
    const LaneGap* gap(int row) const;
    int lane() const { return lane_; }

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : 4; }
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    void read_rows();
    const IterationTime* iteration_of(int row) const;
    QString what(int row) const;
    QString start(int row) const;
    QString start_in_iteration(int row) const;
    std::shared_ptr<const TimelineData> data_;
    int lane_ = -1;
    std::vector<LaneGap> gaps_;
    std::vector<std::int32_t> rows_;  ///< a number of work; of a wait its complement
};

}  // namespace skippipe
