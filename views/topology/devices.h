// SPDX-License-Identifier: GPL-3.0-or-later
// Devices with their makers' figures, and what a node of each is.
#pragma once
#include <span>
#include <string>

#include <QString>

#include "core/experiment/document.h"

namespace skippipe {

/// What its maker says of it.
struct Device {
    const char* name;
    const char* stem;  ///< of the names of its nodes
    double flops;      ///< dense, per second, in `arithmetic`
    const char* arithmetic;
    double memory_bytes;
};

/// The share of a device's peak that a block's products are taken to reach: large transformers are published at 35 to
/// 55 %. Measure replaces it.
inline constexpr double device_utilisation = 0.4;

std::span<const Device> devices();
/// The one of that name; null: none.
const Device* find_device(const std::string& name);
/// Forward time of one sample through one block of this model.
double seconds_per_sample_per_block(const Device& device, const ModelSpec& model);
/// Peak, memory and what follows from them for this model, in words.
QString device_words(const Device& device, const ModelSpec& model);
/// The device whose figures the node has, for this model; null: none.
const Device* device_of(const Node& node, const ModelSpec& model);
/// Makes a node one of these: speed for the experiment's model, and memory.
void make_device(Node& node, const Device& device, const ModelSpec& model);

}  // namespace skippipe
