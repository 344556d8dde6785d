// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/compare/loss_box.h"

#include <QObject>
#include <QSignalBlocker>

#include "core/analysis/equal_view.h"

namespace skippipe {

static constexpr const char* chosen_by_hand = "chosen_by_hand";  ///< property

static QString loss_words(const QString& metric) {
    return metric == "loss"              ? QObject::tr("Training loss")
           : metric == "validation_loss" ? QObject::tr("Validation loss")
                                         : QObject::tr("Bits per byte");
}

void fill_losses(QComboBox& box, std::initializer_list<const char*> metrics) {
    for (const char* metric : metrics) box.addItem(loss_words(metric), QString(metric));
    QObject::connect(&box, &QComboBox::activated, &box, [&box] { box.setProperty(chosen_by_hand, true); });
}

void choose_readable_loss(QComboBox& box, const std::vector<const RunData*>& runs) {
    if (box.property(chosen_by_hand).toBool()) return;
    std::vector<const std::vector<Metric>*> metrics;
    metrics.reserve(runs.size());
    for (const auto* run : runs) metrics.push_back(&run->metrics);
    const QSignalBlocker quiet(box);
    box.setCurrentIndex(box.findData(QString::fromStdString(loss_to_compare(metrics))));
}

}  // namespace skippipe
