// SPDX-License-Identifier: GPL-3.0-or-later
// What a node's memory holds, as numbers and as a bar.
#pragma once
#include <array>
#include <optional>

#include <QString>
#include <QWidget>

#include "core/experiment/document.h"

namespace skippipe {

/// A stage that a node serves in the plan that is shown.
struct ServedStage {
    int stage = 0, blocks = 1;
    bool operator==(const ServedStage&) const = default;
};

/// What a node needs of its memory, in bytes.
struct MemoryNeed {
    std::optional<ServedStage> stage;  ///< nothing: the largest stage was taken
    double weights = 0, gradients = 0, moments = 0, scratch = 0;
    double activations = 0;     ///< of one microbatch
    int microbatches = 1;       ///< held at once: M, but no more than an iteration has; one where none fits
    std::optional<double> has;  ///< the node's memory; nothing: the document does not say

    double total() const { return weights + gradients + moments + scratch + microbatches * activations; }
};

/// Of the stage that the node serves; of none, or none yet, of the largest. Model and pipeline of `e` have no errors.
MemoryNeed memory_need(const Experiment& e, const Node& node, std::optional<ServedStage> stage);

/// The same as a sentence.
QString memory_need_words(const MemoryNeed& need);

/// The parts one after the other, each with its words below where there is room; the node's memory is the frame.
class MemoryBar : public QWidget {
    Q_OBJECT
public:
    explicit MemoryBar(QWidget* parent = nullptr);
    void show_need(const MemoryNeed& need);
    const MemoryNeed& need() const { return need_; }
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return {120, sizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent*) override;

private:
    struct Part {
        QString name;
        double bytes;
    };
    std::array<Part, 5> parts() const;

    MemoryNeed need_;
};

}  // namespace skippipe
