// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/topology/devices.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

#include <fmt/format.h>

#include "core/analysis/accounting.h"
#include "views/theme/numbers.h"

namespace skippipe {
namespace {

constexpr const char* half = "fp16 tensor cores, sums in fp32";

// NVIDIA's data sheets and white papers (H100 SXM, A100 80 GB, L4, GA102 and AD102 for the GeForce cards, V100 SXM2,
// T4), dense. The processor: 8 cores of 3 GHz with two 8-wide fused multiply-adds a cycle (AVX2), counted out.
constexpr std::array all_devices{
    Device{"H100", "h100", 989e12, half, 80e9},
    Device{"A100", "a100", 312e12, half, 80e9},
    Device{"L4", "l4", 121e12, half, 24e9},
    Device{"RTX 4090", "rtx4090", 165e12, half, 24e9},
    Device{"RTX 3090", "rtx3090", 71e12, half, 24e9},
    Device{"V100", "v100", 125e12, half, 16e9},
    Device{"T4", "t4", 65e12, half, 16e9},
    Device{"Laptop CPU", "laptop", 768e9, "fp32, 8 cores of AVX2", 16e9},
};

}  // namespace

std::span<const Device> devices() { return all_devices; }

const Device* find_device(const std::string& name) {
    const auto it =
        std::find_if(all_devices.begin(), all_devices.end(), [&](const Device& device) { return device.name == name; });
    return it == all_devices.end() ? nullptr : &*it;
}

double seconds_per_sample_per_block(const Device& device, const ModelSpec& model) {
    return block_flops_per_token(model) * model.sequence / (device.flops * device_utilisation);
}

QString device_words(const Device& device, const ModelSpec& model) {
    return QObject::tr("%1: %2 (%3), counted at %4; %5\nFor the experiment's model: %6 a sample and block")
        .arg(QString::fromUtf8(device.name), quantity(device.flops, "FLOP/s"), QString::fromUtf8(device.arithmetic),
             percent(device_utilisation), quantity(device.memory_bytes, "B"),
             duration(seconds_per_sample_per_block(device, model)));
}

void make_device(Node& node, const Device& device, const ModelSpec& model) {
    // Three digits, which its figures are good for, and which are read in a field.
    const double exact_s = seconds_per_sample_per_block(device, model);
    const double unit = exact_s > 0 ? std::pow(10.0, std::floor(std::log10(exact_s)) - 2) : 1;
    node.seconds_per_sample_per_block = std::stod(fmt::format("{:.3g}", std::round(exact_s / unit) * unit));
    node.memory_bytes = device.memory_bytes;
    node.memory_microbatches.reset();
}

const Device* device_of(const Node& node, const ModelSpec& model) {
    const auto it = std::find_if(all_devices.begin(), all_devices.end(), [&](const Device& device) {
        Node made = node;
        make_device(made, device, model);
        return made.seconds_per_sample_per_block == node.seconds_per_sample_per_block &&
               made.memory_bytes == node.memory_bytes;
    });
    return it == all_devices.end() ? nullptr : &*it;
}

}  // namespace skippipe
