// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>

#include <QAbstractTableModel>

#include "views/timeline/lanes.h"

namespace skippipe {

/// A lane's work as a table: what the timeline draws, for screen readers and for those who read numbers.
class SpanTable : public QAbstractTableModel {
    Q_OBJECT
public:
    using QAbstractTableModel::QAbstractTableModel;
    /// True where another lane is shown now.
    bool show_lane(std::shared_ptr<const TimelineData> data, int lane);
    /// The first work that ends after that time; the last one where there is none.
    int row_at(double time_s) const;
    const LaneSpan* span(int row) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override { return parent.isValid() ? 0 : 4; }
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    double begin_of(int iteration) const;
    std::shared_ptr<const TimelineData> data_;
    int lane_ = -1, count_ = 0;
};

}  // namespace skippipe
