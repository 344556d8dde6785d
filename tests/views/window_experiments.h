// SPDX-License-Identifier: GPL-3.0-or-later
// Small experiments for tests of the whole window, and its canvas under the mouse.
#pragma once
#include <string>

#include <QFile>
#include <QTabWidget>
#include <QtTest>

#include "core/experiment/document.h"
#include "views/topology/edits.h"
#include "views/topology/scene.h"
#include "views/topology/view.h"

namespace skippipe {

inline constexpr int patient_ms = 90'000;

/// Words without their thin spaces.
inline QString plain(QString words) {
    for (const char16_t space : {u'\u2009', u'\u202f', u'\u00a0'}) words.replace(QChar(space), ' ');
    return words;
}

inline bool worker_is_built() {
    return QFile::exists(QStringLiteral(SKIPPIPE_BIN_DIR "/skippipe-worker")) &&
           QFile::exists(QStringLiteral(SKIPPIPE_BIN_DIR "/skippipe"));
}

inline void draw_link(TopologyView& canvas, const std::string& from, const std::string& to) {
    const QPoint a = canvas.mapFromScene(canvas.scene_model().node(from)->pos() + QPointF(node_radius - 2, 0));
    const QPoint b = canvas.mapFromScene(canvas.scene_model().node(to)->pos());
    QTest::mousePress(canvas.viewport(), Qt::LeftButton, {}, a);
    QTest::mouseMove(canvas.viewport(), b);
    QTest::mouseRelease(canvas.viewport(), Qt::LeftButton, {}, b);
}

/// Brings a page of some tabs to the front.
inline QTabWidget& see_tab(QWidget& page) {
    QWidget* tabs = page.parentWidget();
    while (qobject_cast<QTabWidget*>(tabs) == nullptr) tabs = tabs->parentWidget();
    static_cast<QTabWidget*>(tabs)->setCurrentWidget(&page);
    return *static_cast<QTabWidget*>(tabs);
}

/// Small enough to train in seconds.
inline void make_small(Experiment& e, int iterations) {
    e.model.blocks = 3;
    e.model.width = 32;
    e.model.heads = 2;
    e.model.sequence = 32;
    e.pipeline.stages = 3;
    e.pipeline.stage_sizes = {1, 1, 1};
    e.pipeline.microbatches = 4;
    e.pipeline.microbatch_samples = 2;
    e.pipeline.plan_steps = 200;
    e.data.source = DataSource::text;
    e.data.validation_samples = 4;
    e.training.iterations = iterations;
}

/// Two iterations of training on the Bible.
inline Experiment three_linked_nodes() {
    Experiment e;
    for (int i = 0; i < 3; ++i) add_node(e, {100.0 * i, 0});
    for (const char* to : {"node-2", "node-3"}) add_link(e, "node-1", to);
    add_link(e, "node-2", "node-3");
    make_small(e, 2);
    e.data.source = DataSource::bible_kjv;
    return e;
}

/// Three nodes in each of two regions, with one link between these; `apart_px`: the regions on the canvas.
inline Experiment six_in_two_regions(double apart_px = 400) {
    Experiment e;
    e.pipeline.stages = 3;
    e.pipeline.microbatches = 6;
    e.pipeline.plan_steps = 200;
    for (const Point at : {Point{0, 0}, Point{apart_px, 0}}) {
        const std::string region = add_region(e, at);
        for (int i = 0; i < 3; ++i) add_node(e, {at.x, 80.0 * i}, region);
    }
    add_link(e, "region-1", "region-2");
    return e;
}

/// Null: none of the faults is an error.
inline const Fault* first_error(const Faults& faults) {
    for (const auto& fault : faults)
        if (fault.severity == Fault::Severity::error) return &fault;
    return nullptr;
}

}  // namespace skippipe
