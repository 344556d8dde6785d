// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/inspector/field_text.h"

namespace skippipe {
namespace {
QString with_unit(double value, const Info& info) {
    const QString number = QString::number(value, 'g', 6);
    return *info.unit != 0 ? number + QChar(0x2009) + QString::fromUtf8(info.unit) : number;
}
}  // namespace

QString limits_text(const Info& info) {
    const bool low = std::isfinite(info.min), high = std::isfinite(info.max);
    if (low && high)
        return info.above_min ? QObject::tr("more than %1, at most %2").arg(with_unit(info.min, info), with_unit(info.max, info))
                              : QObject::tr("%1 to %2").arg(with_unit(info.min, info), with_unit(info.max, info));
    if (low) return info.above_min ? QObject::tr("more than %1").arg(with_unit(info.min, info)) : QObject::tr("at least %1").arg(with_unit(info.min, info));
    return high ? QObject::tr("at most %1").arg(with_unit(info.max, info)) : QString{};
}

QString limit_fault(double value, const Info& info) {
    const bool low = info.above_min ? value <= info.min : value < info.min;
    return low || value > info.max ? QObject::tr("Must be %1").arg(limits_text(info)) : QString{};
}

}  // namespace skippipe
