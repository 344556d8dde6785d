// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/curves/equal_words.h"

#include <QObject>
#include <QStringList>

#include "views/theme/numbers.h"

namespace skippipe {
namespace {

QString text_of(std::string_view text) { return QString::fromUtf8(text.data(), static_cast<qsizetype>(text.size())); }
QString run_name(const RunData& run) { return QObject::tr("run %1").arg(run.info.id); }

/// "Equal iterations, but of 30 and 60 microbatches" where they are not the same.
QString held_equal(const std::vector<const RunData*>& runs, WorkAxis x) {
    QStringList sizes;
    for (const auto* run : runs)
        if (const QString size = run->iteration ? QString::number(run->iteration->microbatches) : QString{};
            !size.isEmpty() && !sizes.contains(size))
            sizes << size;
    QString equal = QObject::tr("Equal %1").arg(text_of(describe(x)));
    if (x != WorkAxis::iteration || sizes.isEmpty()) return equal;
    return sizes.size() == 1 ? QObject::tr("%1 of %2 microbatches each").arg(equal, sizes.front())
                             : QObject::tr("%1, but of %2 microbatches").arg(equal, sizes.join(QObject::tr(" and ")));
}

}  // namespace

QString equal_words(const std::vector<const RunData*>& runs, RunId baseline, const std::string& metric, WorkAxis x,
                    PointStore& store) {
    if (runs.size() < 2) return {};
    QString text = held_equal(runs, x) + '.';
    if (metric != "loss" && metric != "validation_loss" && metric != "bits_per_byte") return text;
    std::vector<const std::vector<CurvePoint>*> curves;
    std::size_t base = 0;
    for (const auto* run : runs) {
        if (run->info.id == baseline) base = curves.size();
        curves.push_back(&static_cast<const std::vector<CurvePoint>&>(store.points(*run, metric, x)));
    }
    const auto view = equal_view_of(curves, base);
    if (!view.common_x) return text;
    const QString at = text_of(format_work(*view.common_x, x));
    QStringList values, reached;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        const auto& run = view.runs[i];
        if (!curves[i]->empty())
            values << QStringLiteral("%1 %2").arg(run_name(*runs[i]),
                                                  run.value ? three_digits(*run.value) : QObject::tr("not measured"));
        if (run.share && i != base)
            reached << QObject::tr("%1 needs %2 × %3's %4")
                           .arg(run_name(*runs[i]), three_digits(*run.share), run_name(*runs[base]),
                                text_of(describe(x)));
    }
    text += ' ' + (x == WorkAxis::iteration ? QObject::tr("At iteration %1").arg(at) : QObject::tr("At %1").arg(at));
    if (view.shortest) text += QObject::tr(", where %1 ends").arg(run_name(*runs[*view.shortest]));
    text += ", " +
            (metric == "loss"              ? QObject::tr("training loss")
             : metric == "validation_loss" ? QObject::tr("validation loss")
                                           : QObject::tr("bits per byte")) +
            ": " + values.join(", ") + '.';
    if (!reached.isEmpty())
        text += ' ' + QObject::tr("To reach %1, %2.").arg(three_digits(*view.target), reached.join(", "));
    return text;
}

}  // namespace skippipe
