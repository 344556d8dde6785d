// SPDX-License-Identifier: GPL-3.0-or-later
// Inference with holes against a LLaMA of a few lines in float64 that passes the same blocks by.
#include <QTemporaryDir>
#include <QtTest>

#include <atomic>
#include <cmath>
#include <stdexcept>

#include "core/model/llama_weights.h"
#include "core/model/node_state.h"
#include "core/model/omissions.h"
#include "core/model/torch_compat.h"
#include "plain_llama.h"
#include "training_fixture.h"

using namespace skippipe;
using namespace skippipe::testing;

namespace {

const std::vector<std::vector<int>> sets{{}, {1}, {2}, {3}, {1, 2}, {1, 3}, {2, 3}, {1, 2, 3}, {0}, {0, 1, 2, 3}};

/// The blocks of the stages that are kept.
std::vector<int> layers_kept(const std::vector<int>& blocks, const std::vector<int>& omitted) {
    std::vector<int> layers;
    int layer = 0;
    for (int stage = 0; stage < static_cast<int>(blocks.size()); ++stage)
        for (int block = 0; block < blocks[static_cast<std::size_t>(stage)]; ++block, ++layer)
            if (std::find(omitted.begin(), omitted.end(), stage) == omitted.end()) layers.push_back(layer);
    return layers;
}

}  // namespace

class TestOmissions : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    Experiment experiment_;
    Plan plan_;
    std::optional<Batches> batches_;
    double validated_ = 0;

    std::filesystem::path file() const { return folder_.filePath("w.safetensors").toStdString(); }
    OmissionLosses losses(int workers, const std::vector<std::vector<int>>& omitted = sets,
                          const Progress& progress = {}) const {
        return losses_with_omissions(experiment_, plan_, *batches_, omitted, workers, progress);
    }

private Q_SLOTS:
    /// Four stages of two, one, two and one blocks, trained a little with skips, so that no block is like another.
    void initTestCase() {
        use_one_thread();
        experiment_ = small_experiment(4, 5);
        experiment_.model.blocks = 6;
        plan_ = make_plan({{0}, {1, 4}, {2}, {3}}, {{0, 1, 2}, {0, 2, 3}, {0, 4, 3}});
        plan_.blocks = {2, 1, 2, 1};
        batches_ = make_batches(experiment_);
        TorchCompute trained(experiment_, plan_, *batches_, 21, 2);
        for (int i = 0; i < 12; ++i) run_iteration(trained, i, tasks_of(plan_, false, Rng(1)));
        validated_ = validate(trained).loss_nats;
        save_llama(file(), experiment_.model, plan_.blocks,
                   [&](int stage) { return trained.weights(plan_.stages[static_cast<std::size_t>(stage)].front()); });
        experiment_.training.initial_weights = file().string();
    }

    void nothing_left_out_is_the_validation() {
        const auto found = losses(2);
        QCOMPARE(found.loss_nats.front(), validated_);
        QCOMPARE(found.tokens, std::int64_t{5 * 16});
        QCOMPARE(losses(1, {{}}).loss_nats.front(), validated_);
    }

    void every_set_is_that_of_the_plain_model() {
        auto plain = tensors_of(file());
        for (auto& [name, tensor] : plain) tensor = tensor.to(torch::kFloat64);
        const auto found = losses(2);
        const int sequence = experiment_.model.sequence;
        std::set<double> different;
        for (std::size_t i = 0; i < sets.size(); ++i) {
            double sum = 0;
            for (int sample = 0; sample < batches_->validation_samples(); ++sample) {
                torch::Tensor tokens, targets;
                set_tokens(batches_->validation(sample, 1), torch::kCPU, tokens, targets);
                sum += plain_loss(plain, experiment_.model, tokens, targets, layers_kept(plan_.blocks, sets[i]))
                           .item<double>();
            }
            const double expected = sum / (batches_->validation_samples() * sequence);
            QVERIFY2(std::abs(found.loss_nats[i] / expected - 1) < 1e-6,
                     qPrintable(QString("set %1: %2, not %3").arg(i).arg(found.loss_nats[i]).arg(expected)));
            different.insert(expected);
        }
        QCOMPARE(different.size(), sets.size());
    }

    void threads_and_company_change_no_bit() {
        const auto all = losses(3);
        QCOMPARE(losses(1).loss_nats, all.loss_nats);
        for (std::size_t i = 0; i < sets.size(); ++i)
            QCOMPARE(losses(1, {sets[i]}).loss_nats, std::vector<double>{all.loss_nats[i]});
    }

    void progress_comes_to_the_end_and_may_end_it() {
        double last = 0;
        losses(2, sets, [&](const std::string&, double share) {
            QVERIFY(share > last);
            last = share;
        });
        QCOMPARE(last, 1.0);
        int told = 0;
        const auto stop = [&](const std::string&, double) {
            if (++told == 3) throw std::runtime_error("stopped");
        };
        QVERIFY_EXCEPTION_THROWN(losses(1, sets, stop), std::runtime_error);
        QCOMPARE(told, 3);
    }

    void a_stage_that_is_not_there_is_refused() { QVERIFY_EXCEPTION_THROWN(losses(1, {{4}}), std::logic_error); }
};

QTEST_GUILESS_MAIN(TestOmissions)
#include "test_omissions.moc"
