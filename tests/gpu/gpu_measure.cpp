// SPDX-License-Identifier: GPL-3.0-or-later
// Measures what there is of this machine's GPU and prints one table; what no GPU is there for is said to wait. Run by
// tests/gpu/measure.
#include <algorithm>
#include <cstdio>
#include <functional>
#include <optional>
#include <set>
#include <thread>

#include <fmt/format.h>
#include <torch/utils.h>
#include <torch/version.h>

#include "core/base/format.h"
#include "core/device/cuda_driver.h"
#include "core/device/cuda_queue.h"
#include "core/device/gpus.h"
#include "core/device/nccl_api.h"
#include "core/device/nvml.h"
#include "core/model/blas.h"
#include "plugins/transports/nccl/communicator.h"
#include "tests/gpu/kernel_cases.h"
#include "tests/gpu/training.h"
#include "tests/model/training_fixture.h"

namespace {

using namespace skippipe;

struct Row {
    std::string what, measured, goal;
};

class Table {
public:
    void add(std::string what, std::string measured, std::string goal = "") {
        std::fprintf(stderr, "%s: %s\n", what.c_str(), measured.c_str());  // as it comes
        rows_.push_back({std::move(what), std::move(measured), std::move(goal)});
    }
    void waits(std::string what, std::string goal) { add(std::move(what), "waits for a GPU", std::move(goal)); }
    /// What throws becomes a row that says so.
    void measure(const std::string& what, const std::string& goal, const std::function<std::string()>& work) try {
        add(what, work(), goal);
    } catch (const std::exception& error) {
        add(what, std::string("FAILED: ") + error.what(), goal);
        failed_ = true;
    }
    int print() const {
        std::size_t first = 0, second = 0;
        for (const auto& row : rows_) {
            first = std::max(first, row.what.size());
            second = std::max(second, row.measured.size());
        }
        for (const auto& row : rows_)
            fmt::print("{:<{}}  {:<{}}  {}\n", row.what, first, row.measured, second, row.goal);
        return failed_ ? 1 : 0;
    }

private:
    std::vector<Row> rows_;
    bool failed_ = false;
};

struct Device {
    std::shared_ptr<DeviceQueue> queue;
    Gpu gpu;
};

/// Seconds of one, by events around many.
double seconds_of(DeviceQueue& queue, const std::function<void()>& work) {
    constexpr int warm = 3, times = 20;
    for (int i = 0; i < warm; ++i) work();
    const auto begin = queue.record();
    for (int i = 0; i < times; ++i) work();
    const auto end = queue.record();
    end->wait();
    return (end->reached_s() - begin->reached_s()) / times;
}

/// Read and written.
double copy_bytes_per_s(const Device& device, std::size_t bytes = std::size_t{1} << 30) {
    const DeviceMemory from(device.queue, bytes), to(device.queue, bytes);
    const double s = seconds_of(*device.queue, [&] { device.queue->copy(to.data(), from.data(), bytes); });
    return 2.0 * static_cast<double>(bytes) / s;
}

/// The arrays on the device, as long as it lives.
class OnDevice {
public:
    OnDevice(const Device& device, const std::vector<gpu::Array>& arrays) : queue_(*device.queue) {
        for (const auto& array : arrays) {
            memory_.emplace_back(device.queue, array.bytes.size());
            queue_.copy(memory_.back().data(), array.bytes.data(), array.bytes.size());
            pointers_.push_back(memory_.back().data());
        }
        queue_.record()->wait();
    }
    const gpu::Pointers& pointers() const { return pointers_; }
    std::vector<gpu::Array> read(std::vector<gpu::Array> arrays) const {
        for (std::size_t i = 0; i < arrays.size(); ++i)
            queue_.copy(arrays[i].bytes.data(), memory_[i].data(), arrays[i].bytes.size());
        queue_.record()->wait();
        return arrays;
    }

private:
    DeviceQueue& queue_;
    std::vector<DeviceMemory> memory_;
    gpu::Pointers pointers_;
};

void launch(const gpu::Case& one, const gpu::Pointers& pointers, DeviceQueue& queue) {
    if (const int error = one.launch(pointers, queue.native()); error != 0)
        throw std::runtime_error(fmt::format("CUDA's error {}", error));
}

/// Odd shapes, both ways: the same source by nvcc and on this machine.
void kernels_agree(Table& table, const std::optional<Device>& device) {
    auto cases = gpu::kernel_cases(37, 129);
    const auto add = [&](std::size_t width, const std::set<std::string>& names) {
        for (auto& one : gpu::kernel_cases(37, width, names)) cases.push_back(std::move(one));
    };
    add(136, {});
    add(8192, {"RMSNorm, backward"});  // the widest row it takes
    for (const auto& one : cases) {
        const auto goal = "at most 0.01 off";  // a bf16 has 8 bits
        if (!device || !one.launch) {
            table.measure(one.name + ": nvcc's against this machine's", goal, [&] {
                const double between_orders = gpu::difference(gpu::emulated(one, 1), gpu::emulated(one, 2));
                if (between_orders > 0.01) throw std::runtime_error("this machine's depends on the order of threads");
                return std::string("waits for a GPU (this machine's: run, two orders of threads agree)");
            });
            continue;
        }
        table.measure(one.name + ": nvcc's against this machine's", goal, [&] {
            const OnDevice arrays(*device, one.arrays);
            launch(one, arrays.pointers(), *device->queue);
            const double off = gpu::difference(arrays.read(one.arrays), gpu::emulated(one, 1));
            if (!(off <= 0.01)) throw std::runtime_error(fmt::format("{} off", off));
            return fmt::format("{:.2g} off", off);
        });
    }
}

void kernels_are_fast(Table& table, const std::optional<Device>& device) {
    const std::string goal = ">= 85 % of copying";
    double copied = 0;
    if (device)
        table.measure("copying 1 GiB", "", [&] {
            copied = copy_bytes_per_s(*device);
            return format_si(copied, "B/s");
        });
    else
        table.waits("copying 1 GiB", "");
    const std::size_t rows = device ? 8192 : 1;
    auto cases = gpu::kernel_cases(rows, 4096);
    const auto add = [&](std::size_t width, const std::set<std::string>& names) {
        const std::size_t fewer = width > 65536 ? rows / 4 : rows;
        for (auto& one : gpu::kernel_cases(fewer, width, names)) {
            one.name += fmt::format(", {} wide", width);
            cases.push_back(std::move(one));
        }
    };
    add(1600, {"RMSNorm", "RMSNorm, backward", "rotary", "rotary, backward"});
    if (device) add(32000, {"softmax, cross-entropy"});  // vocabularies
    if (device) add(128256, {"softmax, cross-entropy"});
    for (const auto& one : cases) {
        if (!device || !one.launch) {
            table.waits(one.name, goal);
            continue;
        }
        table.measure(one.name, goal, [&] {
            const OnDevice arrays(*device, one.arrays);
            const double s = seconds_of(*device->queue, [&] { launch(one, arrays.pointers(), *device->queue); });
            // Short work has less of the card: launches count, and not all of it has something to do to the end.
            const double as_many = copy_bytes_per_s(*device, static_cast<std::size_t>(one.bytes / 2));
            return fmt::format("{:.0f} us, {:.0f} % of copying, {:.0f} % of copying as many bytes", 1e6 * s,
                               100 * one.bytes / s / copied, 100 * one.bytes / s / as_many);
        });
    }
}

/// One card has communicators of one rank only: a sum with nobody, but through all of NCCL's calls.
void nccl_of_one(Table& table, const std::optional<Device>& device) {
    const std::string what = "NCCL, one rank: 64 MB summed";
    std::string version;
    try {
        version = version_text(nccl());
    } catch (const std::exception&) {
        return table.add("NCCL", "not found here", "2.14 or later");
    }
    table.add("NCCL", version, "2.14 or later");
    if (!device) return table.waits(what, "the same values");
    table.measure(what, "the same values", [&] {
        device->queue->make_current();
        const auto array = gpu::random_array(gpu::Type::f32, 1 << 24, 5);
        const OnDevice arrays(*device, {array});
        Communicator alone(nccl(), {0}, 0, make_unique_id(nccl()), {[] {}, 60});
        const double s = seconds_of(
            *device->queue, [&] { alone.all_reduce(arrays.pointers()[0], array.count(), device->queue->native()); });
        alone.check();
        if (gpu::difference(arrays.read({array}), {array}) > 0) throw std::runtime_error("other values");
        return fmt::format("{:.0f} us", 1e6 * s);
    });
}

/// As the worker has it: operations end, and are timed, by the events of the stream that LibTorch works on.
std::shared_ptr<DeviceQueue> standard_queue(const std::string&) {
    return make_cuda_queue(cuda_driver(), 0, CudaStream::standard);
}

/// The loss of every iteration, nats a token.
std::vector<double> losses_on(const std::string& device, int iterations, ProductType products = ProductType::fp32) {
    struct Heard final : TrainingListener {
        std::vector<double> losses;
        void validated(int, double, double, std::int64_t, const ValidationResult&) override {}
        void iterated(const IterationReport& report) override {
            losses.push_back(report.result.loss_sum_nats / static_cast<double>(report.result.tokens));
        }
    } heard;
    auto experiment = testing::small_experiment(3, 6);
    for (auto& node : experiment.topology.nodes) node.device = device;
    experiment.topology.hop_matrix_s.assign(6, std::vector<double>(6, 0.001));
    for (std::size_t i = 0; i < 6; ++i) experiment.topology.hop_matrix_s[i][i] = 0;
    experiment.pipeline.microbatches = 4;
    experiment.training.iterations = iterations;
    experiment.execution.products = products;
    experiment.pipeline.balance_data_nodes = false;
    const auto plan = testing::make_plan({{0, 1}, {2, 3}, {4, 5}}, {{0, 2, 4}, {1, 3, 5}, {0, 3, 4}, {1, 2, 5}});
    const auto problem = make_problem(experiment);
    experiment.seed = 1;
    TorchCompute compute(experiment, one_rank_schedule(6, plan), 0, testing::make_batches(experiment), 2,
                         device == "cpu" ? QueueOfDevice() : standard_queue);
    LocalTransport alone;
    train(experiment, problem, one_rank_schedule(problem.nodes(), plan), compute, alone, &heard, nullptr);
    return heard.losses;
}

void losses_agree(Table& table, const std::optional<Device>& device, int iterations) {
    std::vector<double> expected;
    table.measure(fmt::format("{} iterations on this machine, fp32", iterations), "", [&] {
        expected = losses_on("cpu", iterations);
        return fmt::format("loss {:.4f} to {:.4f}", expected.front(), expected.back());
    });
    const std::string what = "the same on the GPU, largest difference of a loss", goal = "1e-4";
    if (!device) return table.waits(what, goal);
    table.measure(what, goal, [&] {
        const auto found = losses_on(fmt::format("cuda:{}", device->gpu.index), iterations);
        double off = 0;
        for (std::size_t i = 0; i < expected.size(); ++i) off = std::max(off, std::abs(found.at(i) / expected[i] - 1));
        if (!(off <= 1e-4)) throw std::runtime_error(fmt::format("{:.2g}", off));
        return fmt::format("{:.2g}", off);
    });
    table.measure("the same in bf16", "1e-2", [&] {
        const auto found = losses_on(fmt::format("cuda:{}", device->gpu.index), iterations, ProductType::bf16);
        double off = 0;
        for (std::size_t i = 0; i < expected.size(); ++i) off = std::max(off, std::abs(found.at(i) / expected[i] - 1));
        if (!(off <= 1e-2)) throw std::runtime_error(fmt::format("{:.2g}", off));
        return fmt::format("{:.2g}", off);
    });
}

void say_how_it_is(Table& table, const Device& device) {
    table.measure("NVML, right after", "", [&] {
        const auto reading = read_gpu(nvml(), device.gpu.uuid);
        return fmt::format("busy {:.0f} %, {} of {} used, {:.0f} W, {:.0f} MHz", 100 * reading.busy,
                           format_si(reading.memory_used_bytes, "B"), format_si(reading.memory_total_bytes, "B"),
                           reading.power_w, 1e-6 * reading.clock_hz);
    });
}

/// FLOP/s of a large product of bf16 matrices.
double product_flops(const Device& device) {
    constexpr std::int64_t n = 8192;
    const auto options = torch::TensorOptions(torch::Device(torch::kCUDA, 0)).dtype(torch::kBFloat16);
    const auto a = torch::randn({n, n}, options), b = torch::randn({n, n}, options);
    auto c = torch::empty({n, n}, options);
    return 2.0 * n * n * n / seconds_of(*device.queue, [&] { torch::mm_out(c, a, b); });
}

void trains_fast(Table& table, const std::optional<Device>& device) {
    if (!device)
        return table.waits("bf16 training of 8 stages on one GPU, 124 M and 1.5 B", "MFU >= 45 %, >= 1.0 x eager");
    const Device standard{standard_queue(""), device->gpu};
    double most = 0;
    table.measure("product of bf16 matrices, 8,192 each way", "", [&] {
        most = product_flops(standard);
        return format_si(most, "FLOP/s");
    });
    for (const auto& size : gpu::training_sizes()) {
        double full_s = 0, full_flops = 0;
        const auto experiment = gpu::training_experiment(size, "cuda:0");
        std::optional<TorchCompute> compute;
        for (const int skipped : {0, 3}) {
            const auto what = fmt::format("{}, 8 stages, {} passed over", size.name, skipped);
            table.measure(what, skipped == 0 ? "MFU >= 45 %" : ">= 0.9 of what the paths save", [&] {
                const auto plan = gpu::training_plan(size, skipped);
                if (!compute)
                    compute.emplace(experiment, one_rank_schedule(gpu::training_stages, plan), 0,
                                    testing::make_batches(experiment, 11, 400'000), 2, standard_queue);
                else
                    compute->follow(one_rank_schedule(gpu::training_stages, plan));
                const double s = gpu::training_seconds(*compute, plan, [&] { standard.queue->record()->wait(); });
                const double flops = gpu::training_flops(size, plan);
                if (skipped == 0) full_s = s, full_flops = flops;
                const auto found = fmt::format("{:.4f} s, MFU {:.1f} %", s, 100 * flops / s / most);
                return skipped == 0 ? found
                                    : found + fmt::format(", {:.2f} of what the paths save",
                                                          (1 - s / full_s) / (1 - flops / full_flops));
            });
        }
    }
}

}  // namespace

/// Arguments: parts to measure (kernels, agree, nccl, losses, training; short: for a sanitizer); none: all but short.
int main(int count, char** arguments) {
    const std::set<std::string> parts(arguments + 1, arguments + count);
    const auto wanted = [&](const char* part) { return parts.empty() || parts.contains(part); };
    prepare_blas();
    Table table;
    table.add("LibTorch", TORCH_VERSION);
    const auto attached = attached_gpus();
    std::optional<Device> device;
    for (const auto& gpu : attached.list)
        table.add(fmt::format("cuda:{}", gpu.index), fmt::format("{}, {}", gpu.name, format_si(gpu.memory_bytes, "B")));
    if (attached.list.empty())
        table.add("GPUs", "none: " + attached.none.front().what);
    else
        table.measure("a stream of cuda:0", "", [&] {
            device = Device{make_cuda_queue(cuda_driver(), 0), attached.list.front()};
            return device->queue->name();
        });
    if (wanted("agree")) kernels_agree(table, device);
    if (wanted("kernels")) kernels_are_fast(table, device);
    if (device) say_how_it_is(table, *device);
    if (wanted("nccl")) nccl_of_one(table, device);
    if (wanted("losses")) losses_agree(table, device, 50);
    if (parts.contains("short")) losses_agree(table, device, 2);
    if (wanted("training")) trains_fast(table, device);
    return table.print();
}
