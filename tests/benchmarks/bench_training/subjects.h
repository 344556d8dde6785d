// SPDX-License-Identifier: GPL-3.0-or-later
// What bench_training trains, and in which ways: through the engine, in a bare loop, whole with plain LibTorch.
#pragma once
#include <deque>
#include <string>
#include <vector>

#include "core/engine/virtual_clock.h"
#include "core/model/optimizer.h"
#include "core/model/reduction.h"
#include "core/model/reference.h"
#include "core/model/torch_compat.h"
#include "core/model/torch_compute.h"

namespace skippipe::bench {

inline constexpr int replicas = 2;

/// What is trained. A block is a stage, and every stage is on two nodes.
struct Setup {
    std::string name;  ///< of the preset; "small" for the benchmark's own
    ModelSpec model;
    int samples = 8, microbatches = 12;

    int stages() const { return model.blocks; }
    int nodes() const { return stages() * replicas; }
    double tokens() const { return static_cast<double>(microbatches) * samples * model.sequence; }
};

/// Of the large ones an iteration is 4 x 1,024 tokens.
Setup setup_of(const std::string& name);

/// Trains as `skippipe run` does, under the virtual clock.
class Trained {
public:
    /// `skipped`: of the stages above 0, by turns.
    Trained(const Setup& setup, int workers, int skipped = 0);
    double tokens() const { return setup_.tokens(); }
    void train() { driver_.train(iteration_++); }
    /// What a training does after every step beside that: all copies of each stage.
    void hash() const { compute_.copy_hashes(); }

private:
    Setup setup_;
    Plan plan_;
    Problem problem_;
    TorchCompute compute_;
    VirtualDriver driver_;
    int iteration_ = 0;
};

/// The same tensor work, called one after the other without machines, events, tasks or queues.
class BareLoop {
public:
    explicit BareLoop(const Setup& setup);
    void train();

private:
    void train_on(const Path& path);

    Experiment experiment_;
    Plan plan_;
    Batches batches_;
    std::deque<NodeState> nodes_;
    TaskGraph graph_;
    int iteration_ = 0;
};

/// Plain LLaMA training in LibTorch's own operations and autograd, with so many threads inside an operation and a
/// matrix product.
class Whole {
public:
    Whole(const Setup& setup, int intra_op, int blas);
    double tokens() const { return setup_.tokens(); }
    void train();

private:
    Setup setup_;
    int intra_op_, blas_;
    Batches batches_;
    WholeModel model_;
    std::vector<StagePath> paths_;
    int iteration_ = 0;
};

}  // namespace skippipe::bench
