// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/timeline/span_table.h"

#include <algorithm>

#include "views/theme/numbers.h"

namespace skippipe {

bool SpanTable::show_lane(std::shared_ptr<const TimelineData> data, int lane) {
    if (data == data_ && lane == lane_) return false;
    const bool other = lane != lane_;
    beginResetModel();
    data_ = std::move(data);
    lane_ = data_ && lane >= 0 && static_cast<std::size_t>(lane) < data_->lanes().size() ? lane : -1;
    count_ = lane_ < 0 ? 0 : static_cast<int>(data_->work_count(lane_));
    endResetModel();
    return other;
}

int SpanTable::row_at(double time_s) const {
    int low = 0, high = count_;
    while (low < high) {
        const int middle = low + (high - low) / 2;
        span(middle)->end_s > time_s ? high = middle : low = middle + 1;
    }
    return std::min(low, count_ - 1);
}

const LaneSpan* SpanTable::span(int row) const {
    if (lane_ < 0 || row < 0 || row >= count_) return nullptr;
    return &data_->work(lane_, static_cast<std::size_t>(row));
}

int SpanTable::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : count_; }

QVariant SpanTable::data(const QModelIndex& index, int role) const {
    const LaneSpan* s = span(index.row());
    if (s == nullptr) return {};
    if (role == Qt::TextAlignmentRole)
        return index.column() > 0 ? QVariant(int(Qt::AlignRight | Qt::AlignVCenter)) : QVariant{};
    if (role != Qt::DisplayRole) return {};
    const auto kind = to_string(s->kind);
    switch (index.column()) {
        case 0: return QString::fromUtf8(kind.data(), static_cast<qsizetype>(kind.size()));
        case 1: return s->microbatch;
        case 2: return tr("%1: %2").arg(s->iteration + 1).arg(duration(s->start_s - begin_of(s->iteration)));
        default: return duration(s->end_s - s->start_s);
    }
}

/// When its iteration began; 0: it has not ended yet, and nobody knows.
double SpanTable::begin_of(int iteration) const {
    const auto& all = data_->iterations();
    const auto one = std::lower_bound(all.begin(), all.end(), iteration,
                                      [](const IterationTime& time, int number) { return time.iteration < number; });
    return one != all.end() && one->iteration == iteration ? one->begin_s() : all.empty() ? 0 : all.back().end_s;
}

QVariant SpanTable::headerData(int section, Qt::Orientation orientation, int role) const {
    static const char* names[] = {"Operation", "Microbatch", "Start", "Takes"};
    if (orientation == Qt::Horizontal && role == Qt::TextAlignmentRole)
        return int((section > 0 ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter);
    if (orientation == Qt::Horizontal && role == Qt::ToolTipRole && section == 2)
        return tr("The iteration, and how long after its start");
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole || section > 3) return {};
    return tr(names[section]);
}

}  // namespace skippipe
