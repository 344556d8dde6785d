// SPDX-License-Identifier: GPL-3.0-or-later
#include "app/worker/torch_backend.h"

#include <fstream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <torch/version.h>

#include "core/data/batches.h"
#include "core/device/cuda_driver.h"
#include "core/device/cuda_queue.h"
#include "core/device/gpus.h"
#include "core/model/blas.h"
#include "core/model/llama_weights.h"
#include "core/model/omissions.h"
#include "core/model/probe.h"
#include "core/model/torch_compute.h"
#include "core/run/checkpoint.h"

namespace skippipe {
namespace {

std::shared_ptr<DeviceQueue> queue_of_device(const std::string& device) {
    const int gpu = device_number(device, "device");
    return gpu < 0 ? nullptr : make_cuda_queue(cuda_driver(), gpu, CudaStream::standard);
}

}  // namespace

std::string TorchBackend::versions_json() const { return nlohmann::json{{"libtorch", TORCH_VERSION}}.dump(); }

double TorchBackend::blas_gflops() const { return measure_blas_gflops(); }

std::int64_t TorchBackend::peak_memory_bytes() const {
    std::ifstream status("/proc/self/status");
    for (std::string line; std::getline(status, line);)
        if (line.rfind("VmHWM:", 0) == 0) return std::stoll(line.substr(6)) * 1024;
    return 0;
}

RankBackend::Made TorchBackend::make(const protocol::Job& job, const Work& work, const RankSchedule& schedule, int rank,
                                     int workers, const TellProgress& tell) {
    Made made;
    std::optional<Batches> batches;
    const auto& experiment = work.experiment;
    if (TorchCompute::needs_data(experiment, schedule, rank)) {
        auto dataset = open_dataset(experiment.data, job.base_dir);
        const auto description = dataset.description;
        batches.emplace(std::move(dataset), experiment.data, batch_shape(experiment), experiment.seed, tell);
        made.data = fmt::format("{}{}{:016x}", description, data_hash_mark, batches->hash());
    }
    made.compute =
        std::make_unique<TorchCompute>(experiment, schedule, rank, std::move(batches), workers, queue_of_device);
    return made;
}

void TorchBackend::measure_nodes(const Work& work, const RankSchedule& schedule, int workers,
                                 const std::function<void()>& together, int rank, RankProbe& probe) {
    skippipe::measure_nodes(work.experiment, schedule, workers, together, rank, probe);
}

protocol::Evaluated TorchBackend::evaluate(const protocol::Job& job, const Work& work, int workers,
                                           const TellProgress& tell) {
    const auto& experiment = work.experiment;
    auto dataset = open_dataset(experiment.data, job.base_dir);
    protocol::Evaluated found{.data = dataset.description};
    const Batches batches(std::move(dataset), experiment.data, batch_shape(experiment), experiment.seed, tell);
    StageWeights weights;
    if (!job.start_from.empty())
        weights = [folder = job.start_from, manifest = read_manifest(job.start_from)](int stage) {
            return read_stage(folder, manifest, stage).weights;
        };
    auto losses = losses_with_omissions(experiment, work.plan, batches, job.omitted, workers, tell, weights);
    found.loss_nats = std::move(losses.loss_nats);
    found.tokens = losses.tokens;
    found.bytes_per_token = batches.bytes_per_token();
    return found;
}

void TorchBackend::save_weights(const std::filesystem::path& file, const Work& work,
                                const std::function<std::vector<float>(int stage)>& weights_of_stage) {
    save_llama(file, work.experiment.model, work.plan.blocks, weights_of_stage);
}

}  // namespace skippipe
