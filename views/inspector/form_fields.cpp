// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/inspector/form_fields.h"

#include <set>
#include <string>

#include <QObject>

#include "core/experiment/describe.h"
#include "views/inspector/applying.h"
#include "views/theme/words.h"

namespace skippipe {

namespace {

/// Takes the keys of one part.
struct FieldsOf {
    std::vector<FormField>& all;
    QString section, pointer;
    std::set<std::string> hidden;
    template <class Value>
    void operator()(const char* key, const Value&, const Info&) {
        if (hidden.count(key) == 0) all.push_back({section, label_of(key), pointer + QString::fromUtf8(key)});
    }
};

}  // namespace

std::vector<FormField> form_fields(const Experiment& experiment, const Faults& faults) {
    std::vector<FormField> all;
    const auto add = [&](const QString& section, const char* pointer, const auto& part,
                         std::set<std::string> hidden = {}) {
        FieldsOf fields{all, section, QString::fromUtf8(pointer), std::move(hidden)};
        describe(fields, part);
    };
    const auto without = [&](FormPart part) { return hidden_fields(part, experiment, faults); };
    auto of_pipeline = without(FormPart::pipeline);
    of_pipeline.insert("constraints");  // a section of its own
    add(QObject::tr("Pipeline"), "/pipeline/", experiment.pipeline, std::move(of_pipeline));
    add(QObject::tr("Rules for planners"), "/pipeline/constraints/", experiment.pipeline.constraints,
        without(FormPart::constraints));
    add(QObject::tr("Model"), "/model/", experiment.model);
    add(QObject::tr("Training"), "/training/", experiment.training, without(FormPart::training));
    add(QObject::tr("Data"), "/data/", experiment.data, without(FormPart::data));
    add(QObject::tr("Costs"), "/costs/", experiment.costs, without(FormPart::costs));
    add(QObject::tr("Execution"), "/execution/", experiment.execution, without(FormPart::execution));
    add(QObject::tr("Prices"), "/prices/", experiment.prices);
    add(QObject::tr("Recovery"), "/recovery/", experiment.recovery, without(FormPart::recovery));
    return all;
}

}  // namespace skippipe
