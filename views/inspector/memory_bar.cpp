// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/inspector/memory_bar.h"

#include <algorithm>

#include <QPainter>

#include "core/experiment/counts.h"
#include "core/experiment/model_size.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr int bar_height = 14, key_row = 16, swatch = 8;

ServedStage largest_stage(const Experiment& e) {
    const auto blocks = stage_blocks(e);
    ServedStage largest{0, blocks.empty() ? 1 : blocks.front()};
    const auto bytes = [&](const ServedStage& s) { return state_bytes(e, s.blocks, s.stage == 0); };
    for (std::size_t s = 1; s < blocks.size(); ++s)
        if (const ServedStage other{static_cast<int>(s), blocks[s]}; bytes(other) > bytes(largest)) largest = other;
    return largest;
}

}  // namespace

MemoryNeed memory_need(const Experiment& e, const Node& node, std::optional<ServedStage> stage) {
    const ServedStage of = stage.value_or(largest_stage(e));
    const double state = state_bytes(e, of.blocks, of.stage == 0);
    MemoryNeed need;
    need.stage = stage;
    need.weights = need.gradients = state / 4;
    need.moments = state / 2;
    need.scratch = workspace_bytes(e, of.blocks, of.stage == 0);
    need.activations = activation_bytes(e, of.blocks);
    need.microbatches = std::clamp(memory_limit(e, node), 1, std::max(1, e.pipeline.microbatches));
    need.has = node.memory_bytes;
    return need;
}

QString memory_need_words(const MemoryNeed& need) {
    const QString of = need.stage ? QObject::tr("Stage %1, %2")
                                        .arg(need.stage->stage)
                                        .arg(need.stage->blocks == 1 ? QObject::tr("1 block")
                                                                     : QObject::tr("%1 blocks").arg(need.stage->blocks))
                                  : QObject::tr("The largest stage");
    const QString held =
        need.microbatches == 1 ? QObject::tr("1 microbatch") : QObject::tr("%1 microbatches").arg(need.microbatches);
    return need.has ? QObject::tr("%1 and %2 need %3 of %4")
                          .arg(of, held, quantity(need.total(), "B"), quantity(*need.has, "B"))
                    : QObject::tr("%1 and %2 need %3").arg(of, held, quantity(need.total(), "B"));
}

MemoryBar::MemoryBar(QWidget* parent) : QWidget(parent) {
    setObjectName("memory_bar");
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
}

QSize MemoryBar::sizeHint() const { return {240, bar_height + 2 + 5 * key_row}; }

std::array<MemoryBar::Part, 5> MemoryBar::parts() const {
    return {{{tr("Weights"), need_.weights},
             {tr("Gradients"), need_.gradients},
             {tr("AdamW"), need_.moments},
             {tr("Scratch"), need_.scratch},
             {tr("Activations, %1 x %2").arg(need_.microbatches).arg(quantity(need_.activations, "B")),
              need_.microbatches * need_.activations}}};
}

void MemoryBar::show_need(const MemoryNeed& need) {
    need_ = need;
    QStringList words{memory_need_words(need)};
    for (const auto& part : parts()) words << tr("%1 %2").arg(part.name, quantity(part.bytes, "B"));
    setAccessibleName(words.join("; "));
    setToolTip(words.join('\n'));
    update();
}

void MemoryBar::paintEvent(QPaintEvent*) {
    const Theme& t = theme();
    QPainter painter(this);
    painter.setFont(small_font());
    const double whole = std::max({need_.total(), need_.has.value_or(0), 1.0});
    const QRectF bar(0.5, 0.5, width() - 1, bar_height - 1);
    painter.fillRect(bar, t.surface_2);
    double left = bar.left();
    int y = bar_height + 2;
    const auto all = parts();
    for (std::size_t i = 0; i < all.size(); ++i) {
        const QColor hue = t.memory[i];
        const double wide = all[i].bytes / whole * bar.width();
        painter.fillRect(QRectF(left, bar.top(), wide, bar.height()), hue);
        left += wide;
        painter.fillRect(QRectF(0, y + (key_row - swatch) / 2.0, swatch, swatch), hue);
        const QRect row(swatch + size::unit, y, width() - swatch - size::unit, key_row);
        const QString bytes = quantity(all[i].bytes, "B");
        const int room = row.width() - painter.fontMetrics().horizontalAdvance(bytes) - size::gap;
        painter.setPen(t.text_2);
        painter.drawText(row, Qt::AlignLeft | Qt::AlignVCenter,
                         painter.fontMetrics().elidedText(all[i].name, Qt::ElideRight, room));
        painter.setPen(t.text);
        painter.drawText(row, Qt::AlignRight | Qt::AlignVCenter, bytes);
        y += key_row;
    }
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(t.line, 1));
    painter.drawRect(bar);
    if (need_.has && *need_.has < whole) {  // what is beyond does not fit
        const double end = bar.left() + *need_.has / whole * bar.width();
        painter.fillRect(QRectF(end - 2, bar.top(), 6, bar.height()), t.surface);  // of whatever hue the part is
        painter.fillRect(QRectF(end, bar.top(), 2, bar.height()), t.bad);
    }
}

}  // namespace skippipe
