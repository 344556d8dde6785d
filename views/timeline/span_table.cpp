// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/timeline/span_table.h"

#include <algorithm>
#include <cmath>

#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/timeline/colours.h"
#include "views/timeline/details.h"
#include "views/timeline/lane_key.h"

namespace skippipe {
namespace {

enum Column { iteration, operation, start_of, takes, columns };
/// Of a row that is a wait.
std::size_t gap_number(std::int32_t row) {
    const std::int32_t number = ~row;
    return static_cast<std::size_t>(number);
}
double middle_of(const LaneGap& gap) { return (gap.start_s + gap.end_s) / 2; }
/// As ticks of the ruler are, and from a minute on in fewer letters: "18.362 s", "3:10.05", "1:03:10.05".
QString clock_words(double seconds, double step) {
    constexpr double clock_from_s = 60;
    if (seconds < clock_from_s) return tick(seconds, step);
    const auto hundredths = std::llround(seconds * 100);
    const auto two = [](long long number) { return QStringLiteral("%1").arg(number, 2, 10, QChar('0')); };
    const long long hours = hundredths / 360'000, minutes = hundredths / 6'000 % 60;
    return (hours > 0 ? QStringLiteral("%1:%2").arg(hours).arg(two(minutes)) : QString::number(minutes)) + ':' +
           two(hundredths / 100 % 60) + '.' + two(hundredths % 100);
}
constexpr std::size_t most_with_waits = 200'000;  ///< spans of a lane: of more only work is listed

}  // namespace

bool SpanTable::show_lane(std::shared_ptr<const TimelineData> data, int lane) {
    if (data == data_ && lane == lane_) return false;
    const bool other = lane != lane_;
    beginResetModel();
    data_ = std::move(data);
    lane_ = data_ && lane >= 0 && static_cast<std::size_t>(lane) < data_->lanes().size() ? lane : -1;
    read_rows();
    endResetModel();
    return other;
}

void SpanTable::read_rows() {
    gaps_.clear();
    rows_.clear();
    const std::size_t count = lane_ < 0 ? 0 : data_->work_count(lane_);
    if (count > 0 && count <= most_with_waits)
        data_->visit_gaps(lane_, 0, data_->extent_s(), 0, [&](const LaneGap& gap) {
            // One wait may be in pieces, by whom it was for; draining and the next filling are two.
            const auto same_iteration = [&](const LaneGap& before) {
                return iteration_at(data_->iterations(), middle_of(before)) ==
                       iteration_at(data_->iterations(), middle_of(gap));
            };
            if (!gaps_.empty() && gaps_.back().cause == gap.cause && gaps_.back().end_s == gap.start_s &&
                same_iteration(gaps_.back()))
                gaps_.back().end_s = gap.end_s;
            else
                gaps_.push_back(gap);
        });
    rows_.reserve(count + gaps_.size());
    std::size_t next = 0;
    for (std::size_t k = 0; k < count; ++k) {
        const double start_s = data_->work(lane_, k).start_s;
        for (; next < gaps_.size() && gaps_[next].start_s < start_s; ++next)
            rows_.push_back(~static_cast<std::int32_t>(next));
        rows_.push_back(static_cast<std::int32_t>(k));
    }
    for (; next < gaps_.size(); ++next) rows_.push_back(~static_cast<std::int32_t>(next));
}

int SpanTable::row_at(double time_s) const {
    const auto ends_before = [&](std::int32_t row, double time) {
        return (row >= 0 ? data_->work(lane_, static_cast<std::size_t>(row)).end_s : gaps_[gap_number(row)].end_s) <=
               time;
    };
    const auto found = std::lower_bound(rows_.begin(), rows_.end(), time_s, ends_before);
    return static_cast<int>(std::min(found - rows_.begin(), std::ssize(rows_) - 1));
}

const LaneSpan* SpanTable::span(int row) const {
    if (row < 0 || row >= std::ssize(rows_) || rows_[static_cast<std::size_t>(row)] < 0) return nullptr;
    return &data_->work(lane_, static_cast<std::size_t>(rows_[static_cast<std::size_t>(row)]));
}

const LaneGap* SpanTable::gap(int row) const {
    if (row < 0 || row >= std::ssize(rows_) || rows_[static_cast<std::size_t>(row)] >= 0) return nullptr;
    return &gaps_[gap_number(rows_[static_cast<std::size_t>(row)])];
}

int SpanTable::rowCount(const QModelIndex& parent) const {
    return parent.isValid() ? 0 : static_cast<int>(rows_.size());
}

/// Null: it has not ended yet, and nobody knows when it began.
const IterationTime* SpanTable::iteration_of(int row) const {
    const auto& all = data_->iterations();
    if (const LaneGap* wait = gap(row)) return iteration_at(all, middle_of(*wait));
    const auto one = std::lower_bound(all.begin(), all.end(), span(row)->iteration,
                                      [](const IterationTime& time, int number) { return time.iteration < number; });
    return one != all.end() && one->iteration == span(row)->iteration ? &*one : nullptr;
}

/// "forward 15", of the microbatch, or "waits: gradient".
QString SpanTable::what(int row) const {
    if (const LaneGap* wait = gap(row)) return tr("waits: %1").arg(short_cause_words(wait->cause));
    const auto kind = to_string(span(row)->kind);
    const QString words = QString::fromUtf8(kind.data(), static_cast<qsizetype>(kind.size())).replace('_', ' ');
    return span(row)->microbatch < 0 ? words : QStringLiteral("%1 %2").arg(words).arg(span(row)->microbatch);
}

/// By the clock of the ruler.
QString SpanTable::start(int row) const {
    const LaneGap* wait = gap(row);
    const double start_s = wait != nullptr ? wait->start_s : span(row)->start_s;
    const IterationTime* one = iteration_of(row);
    return clock_words(std::abs(start_s) < 1e-12 * data_->extent_s() ? 0 : start_s,
                       one != nullptr ? std::min(1.0, nice_step(one->length_s / 1000)) : 1e-3);
}

QString SpanTable::start_in_iteration(int row) const {
    const IterationTime* one = iteration_of(row);
    const auto& all = data_->iterations();
    const double begin_s = one != nullptr ? one->begin_s() : all.empty() ? 0 : all.back().end_s;
    const LaneGap* wait = gap(row);
    const LaneSpan* work = span(row);
    const double start_s = wait != nullptr ? wait->start_s : work != nullptr ? work->start_s : begin_s;
    constexpr double rounding = 1e-12;  // of the run's time, which a difference of two large ones has left over
    return duration(start_s - begin_s > rounding * data_->extent_s() ? start_s - begin_s : 0);
}

QVariant SpanTable::data(const QModelIndex& index, int role) const {
    const int row = index.row();
    const LaneSpan* work = span(row);
    const LaneGap* wait = gap(row);
    if (work == nullptr && wait == nullptr) return {};
    if (role == Qt::TextAlignmentRole)
        return int((index.column() == operation ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    if (role == Qt::ForegroundRole && wait != nullptr) return theme().text_2;
    if (role == Qt::ToolTipRole && index.column() == start_of)
        return tr("%1, %2 after its iteration's start")
            .arg(moment_words(wait != nullptr ? wait->start_s : work->start_s, 0), start_in_iteration(row));
    if (role == Qt::ToolTipRole && wait != nullptr) return cause_words(wait->cause);
    if (role != Qt::DisplayRole) return {};
    switch (index.column()) {
        case iteration: {
            const IterationTime* one = iteration_of(row);
            return one != nullptr ? one->iteration + 1 : work != nullptr ? work->iteration + 1 : QVariant{};
        }
        case operation: return what(row);
        case start_of: return start(row);
        default: return duration(wait != nullptr ? wait->end_s - wait->start_s : work->end_s - work->start_s);
    }
}

QVariant SpanTable::headerData(int section, Qt::Orientation orientation, int role) const {
    static const char* names[] = {"Iter.", "Operation", "Start", "Takes"};
    static_assert(std::size(names) == columns);
    if (orientation == Qt::Horizontal && role == Qt::TextAlignmentRole)
        return int((section == operation ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    if (orientation == Qt::Horizontal && role == Qt::ToolTipRole && section == iteration) return tr("Iteration");
    if (orientation == Qt::Horizontal && role == Qt::ToolTipRole && section == operation)
        return tr("With its microbatch; or what the node waits for");
    if (orientation == Qt::Horizontal && role == Qt::ToolTipRole && section == start_of)
        return tr("As the ruler counts: from the run's start");
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole || section >= columns) return {};
    return tr(names[section]);
}

}  // namespace skippipe
