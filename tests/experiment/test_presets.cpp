// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include <cmath>

#include "core/experiment/io.h"
#include "core/experiment/model_size.h"
#include "core/experiment/presets.h"
#include "core/experiment/validate.h"
#include "tests/experiment/samples.h"

using namespace skippipe;

class TestPresets : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void every_file_is_there() {
        std::size_t files = 0;
        for (const auto& file : std::filesystem::directory_iterator(samples::resources() / "models")) {
            ++files;
            QCOMPARE(find_model_preset(file.path().stem().string()).name, file.path().stem().string());
        }
        QCOMPARE(model_presets().size(), files);
        QVERIFY(files >= 9);
        QVERIFY_THROWS_EXCEPTION(InputError, find_model_preset("llama-9b"));
        QVERIFY(model_parameters(model_presets().front().model) < 2e6);
        QVERIFY(model_parameters(model_presets().back().model) > 8e9);
    }

    /// Counted here from the dimensions: to the unit where the exact number is published, else to its rounding.
    void parameters_as_published() {
        int exact = 0, published = 0;
        for (const auto& preset : model_presets()) {
            if (preset.published_parameters == 0) continue;
            ++published;
            const double own_head =
                preset.shared_head ? static_cast<double>(preset.model.vocabulary) * preset.model.width : 0;
            const double counted = model_parameters(preset.model) - own_head;
            if (preset.published_exactly) {
                ++exact;
                QCOMPARE(counted, preset.published_parameters);
            } else {
                QVERIFY2(std::abs(counted / preset.published_parameters - 1) < 0.02, preset.name.c_str());
            }
        }
        QCOMPARE(exact, 4);
        QCOMPARE(published, 8);
    }

    void each_is_a_sound_model() {
        auto experiment = parse_experiment(samples::small()).experiment;
        experiment.costs.gradient_bytes.clear();
        for (const auto& preset : model_presets()) {
            experiment.model = preset.model;
            experiment.pipeline.stages = 1;
            experiment.pipeline.blocks_per_stage = {preset.model.blocks};
            experiment.pipeline.placement.clear();
            experiment.pipeline.stage_sizes.clear();
            experiment.pipeline.skip_ratio = 0;
            for (const auto& fault : validate(experiment))
                QVERIFY2(!fault.pointer.starts_with("/model"), to_string(fault).c_str());
        }
    }

    void grouped_heads_must_divide() {
        auto experiment = parse_experiment(samples::small()).experiment;
        experiment.model.heads = 4;
        experiment.model.width = 16;
        experiment.model.kv_heads = 3;
        const auto faults = validate(experiment);
        QVERIFY2(samples::find(faults, "/model/kv_heads") != nullptr, samples::listed(faults).c_str());
    }
};

QTEST_APPLESS_MAIN(TestPresets)
#include "test_presets.moc"
