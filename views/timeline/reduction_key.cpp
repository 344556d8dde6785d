// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/timeline/reduction_key.h"

#include <QEvent>
#include <QPainter>

#include "core/experiment/describe.h"
#include "views/theme/theme.h"

namespace skippipe {

ReductionKey::ReductionKey(QWidget* parent) : QToolButton(parent) {
    setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    setAutoRaise(true);
    setObjectName("reduction_key");
    setText(tr(" Reductions"));  // the style sets icon and text edge to edge
    setToolTip(tr("Drawn so: parts and sums of gradients on their way between replicas. Selects the longest in sight"));
    setIconSize({20, 12});
    draw_key();
    hide();
}

void ReductionKey::changeEvent(QEvent* event) {
    QToolButton::changeEvent(event);
    if (event->type() == QEvent::StyleChange) draw_key();
}

/// As the timeline's painter draws one, above the work of a lane.
void ReductionKey::draw_key() {
    const double scale = devicePixelRatioF();
    QPixmap picture(iconSize() * scale);
    picture.setDevicePixelRatio(scale);
    picture.fill(Qt::transparent);
    QPainter painter(&picture);
    painter.fillRect(0, 5, 20, 2, theme().reduction);
    painter.end();
    setIcon(picture);
}

QString reduction_words(const ReductionWhatIf& other) {
    if (other.wire)
        return QObject::tr("Gradients travel as %1").arg(QString::fromStdString(std::string{name_of(*other.wire)}));
    switch (other.rule) {
        case AllReduceRule::planned:
            return other.pieces == PieceForm::exchange
                       ? QObject::tr("Gradients as transfers, all parts to all in one round")
                       : QObject::tr("Gradients as transfers, exchanged directly in two rounds");
        case AllReduceRule::charged: return QObject::tr("Gradients charged as a ring");
        case AllReduceRule::free: return QObject::tr("Gradients summed for free");
    }
    return {};
}

}  // namespace skippipe
