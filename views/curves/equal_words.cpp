// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/curves/equal_words.h"

#include <algorithm>

#include <QObject>
#include <QStringList>

#include "core/analysis/ranking.h"
#include "views/runs/clock_words.h"
#include "views/runs/parameters.h"
#include "views/runs/same_work.h"
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
    QString equal = QObject::tr("Equal %1").arg(work_in_sentence(x, clock_of(runs)));
    if (x != WorkAxis::iteration || sizes.isEmpty()) return equal;
    return sizes.size() == 1 ? QObject::tr("%1 of %2 microbatches each").arg(equal, sizes.front())
                             : QObject::tr("%1, but of %2 microbatches").arg(equal, sizes.join(QObject::tr(" and ")));
}

constexpr std::size_t most_named = 5;  ///< runs in a sentence

QString loss_words(const std::string& metric) {
    return metric == "loss"              ? QObject::tr("training loss")
           : metric == "validation_loss" ? QObject::tr("validation loss")
                                         : QObject::tr("bits per byte");
}

/// Indices of those runs that have what `of` asks for, the least first.
template <class Of>
std::vector<std::size_t> in_order(const EqualView& view, const Of& of) {
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < view.runs.size(); ++i)
        if (of(view.runs[i])) order.push_back(i);
    std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return *of(view.runs[a]) < *of(view.runs[b]); });
    return order;
}

QString more_words(std::size_t count) {
    return count > most_named ? QObject::tr(", %1 more").arg(count - most_named) : QString{};
}

/// Who is lowest at the axis' `at`, and the others' values.
QString lowest_words(const std::vector<const RunData*>& runs, const EqualView& view, const QString& at,
                     const QString& what) {
    const auto value = [](const EqualRun& run) { return run.value; };
    const auto order = in_order(view, value);
    if (order.size() < 2) return {};
    const double least = *view.runs[order.front()].value;
    std::vector<RunId> best;
    QStringList values, others;
    for (const std::size_t i : order) {
        const double now = *view.runs[i].value;
        if (best.size() + static_cast<std::size_t>(others.size()) == most_named) break;
        const bool alike = best.empty() || (others.isEmpty() && seeds_may_explain(now, least));
        alike ? best.push_back(runs[i]->info.id)
              : others.push_back(QObject::tr("%1: %2").arg(run_name(*runs[i]), three_digits(now)));
        if (alike) values << three_digits(now);
    }
    values.removeDuplicates();
    QString words =
        best.size() == 1
            ? QObject::tr("At %1 %2 has the lowest %3, %4").arg(at, run_numbers(best), what, values.join(", "))
            : QObject::tr("At %1 %2 have the lowest %3, %4").arg(at, run_numbers(best), what, values.join(", "));
    if (!others.isEmpty()) words += QStringLiteral("; ") + others.join(QStringLiteral(", "));
    return words + more_words(order.size());
}

/// How far each had to go for the worst last value, of what the baseline needs.
QString reached_words(const std::vector<const RunData*>& runs, const EqualView& view, std::size_t base) {
    QStringList reached;
    const auto order = in_order(view, [](const EqualRun& run) { return run.share; });
    for (const std::size_t i : order) {
        if (i == base || reached.size() == static_cast<qsizetype>(most_named)) continue;
        const QString share = three_digits(*view.runs[i].share), name = run_name(*runs[i]);
        reached << (reached.isEmpty() ? QObject::tr("%1 %2\u00A0× %3's").arg(name, share, run_name(*runs[base]))
                                      : QObject::tr("%1 %2\u00A0×").arg(name, share));
    }
    if (reached.isEmpty()) return {};
    return QObject::tr(" To reach %1: %2%3.")
        .arg(three_digits(*view.target), reached.join(QStringLiteral(", ")), more_words(order.size() - 1));
}

/// Of runs that are held against each other.
EqualWords words_of_same_work(const std::vector<const RunData*>& runs, RunId baseline, const std::string& metric,
                              WorkAxis x, PointStore& store) {
    const QString equal = held_equal(runs, x);
    if (!train_the_same(runs)) return {not_the_same_words(), equal + '.'};
    if (metric != "loss" && metric != "validation_loss" && metric != "bits_per_byte") return {{}, equal + '.'};
    std::vector<const std::vector<CurvePoint>*> curves;
    std::size_t base = 0;
    for (const auto* run : runs) {
        if (run->info.id == baseline) base = curves.size();
        curves.push_back(&static_cast<const std::vector<CurvePoint>&>(store.points(*run, metric, x)));
    }
    const auto view = equal_view_of(curves, base);
    if (!view.common_x) return {{}, equal + '.'};
    const QString work = text_of(format_work(*view.common_x, x));
    const QString at = x == WorkAxis::iteration ? QObject::tr("iteration %1").arg(work) : work;
    const QString ends =
        view.shortest ? QObject::tr("; %1 ends at %2").arg(run_name(*runs[*view.shortest]), at) : QString{};
    return {lowest_words(runs, view, at, loss_words(metric)), equal + ends + '.' + reached_words(runs, view, base)};
}

}  // namespace

EqualWords equal_words(const std::vector<const RunData*>& runs, RunId baseline, const std::string& metric, WorkAxis x,
                       PointStore& store) {
    if (runs.size() < 2) return {};
    const auto base =
        std::find_if(runs.begin(), runs.end(), [&](const RunData* run) { return run->info.id == baseline; });
    const auto held =
        held_against(runs, base == runs.end() ? 0 : static_cast<std::size_t>(std::distance(runs.begin(), base)));
    std::vector<const RunData*> same;
    std::vector<RunId> aside;
    for (std::size_t i = 0; i < runs.size(); ++i) held[i] ? same.push_back(runs[i]) : aside.push_back(runs[i]->info.id);
    auto words = words_of_same_work(same, baseline, metric, x, store);
    if (!aside.empty()) words.details += QObject::tr(" %1.").arg(set_aside_words(aside));
    return words;
}

}  // namespace skippipe
