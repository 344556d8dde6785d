// SPDX-License-Identifier: GPL-3.0-or-later
// The canvas under the mouse.
#pragma once
#include <QtTest>

#include "views/topology/view.h"

namespace skippipe {

/// From place to place of the scene, by the way between.
inline void drag_mouse(TopologyView& view, QPointF from, QPointF to) {
    QWidget* port = view.viewport();
    const QPoint a = view.mapFromScene(from), b = view.mapFromScene(to);
    QTest::mousePress(port, Qt::LeftButton, {}, a);
    QTest::mouseMove(port, (a + b) / 2);
    QTest::mouseMove(port, b);
    QTest::mouseRelease(port, Qt::LeftButton, {}, b);
}

}  // namespace skippipe
