// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include "core/experiment/document.h"
#include "views/document/document.h"
#include "views/document/selection.h"
#include "views/failures/failure_editor.h"
#include "views/inspector/inspector.h"

namespace skippipe {

/// The inspector of an experiment, with what it needs; tests take its parts by name:
/// `auto& [document, selection, failures, inspector] = shown;`
struct ShownInspector {
    explicit ShownInspector(const PlannerRegistry& planners, const Experiment& experiment = {}, QSize size = {300, 600})
        : failures(document, selection), inspector(document, selection, failures, planners) {
        document.start_new(experiment);
        inspector.resize(size);
        inspector.show();
        inspector.activateWindow();
    }

    Document document;
    SelectionModel selection;
    FailureEditor failures;
    Inspector inspector;
};

}  // namespace skippipe
