// SPDX-License-Identifier: GPL-3.0-or-later
// The fused kernels on one core: bytes that must move a second, against a copy of the same size in the same run, in the
// cache and beyond it.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <functional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/base/rng.h"
#include "kernels/attention.h"
#include "kernels/cross_entropy.h"
#include "kernels/norm.h"
#include "kernels/rotary.h"
#include "kernels/swiglu.h"
#include "kernels/vector.h"

using namespace skippipe;

namespace {

constexpr int repeats = 30;

/// Seconds of this thread's processor time: others' work beside it does not count.
double best_seconds(const std::function<void()>& work) {
    const auto now = [] {
        timespec time{};
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
        return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
    };
    double best = 1e9;
    for (int i = 0; i < repeats; ++i) {
        const double start = now();
        work();
        best = std::min(best, now() - start);
    }
    return best;
}

std::vector<float> values(std::size_t n) {
    Rng rng(1);
    std::vector<float> result(n);
    for (auto& value : result) value = static_cast<float>(rng.uniform() - 0.5);
    return result;
}

/// Bytes a second of copying so many bytes (read and written).
double copy_gb_per_s(std::size_t bytes) {
    std::vector<char> from(bytes / 2, 1), to(bytes / 2);
    return static_cast<double>(bytes) / best_seconds([&] { std::memcpy(to.data(), from.data(), from.size()); }) * 1e-9;
}

void print(const std::string& name, double bytes, const std::function<void()>& kernel) {
    const double rate = bytes / best_seconds(kernel) * 1e-9, copy = copy_gb_per_s(static_cast<std::size_t>(bytes));
    const nlohmann::ordered_json line{
        {"name", name},           {"value", rate},        {"unit", "GB/s"}, {"baseline", "copying as many bytes, GB/s"},
        {"baseline_value", copy}, {"ratio", rate / copy}, {"threads", 1},   {"repeat", repeats}};
    std::puts(line.dump().c_str());
}

void bench(std::size_t rows, std::size_t width) {
    const std::size_t hidden = (8 * width / 3 + 7) / 8 * 8, n = rows * width, h = rows * hidden, vocabulary = 256;
    const auto title = [&](const char* kernel) { return fmt::format("{}, {} x {}", kernel, rows, width); };
    const auto megabytes = [](std::size_t floats) { return 4.0 * static_cast<double>(floats); };
    auto a = values(n), b = values(n), c = values(n), weight = values(width), weight_gradient = values(width),
         gate_up = values(2 * h), activated = values(h);
    print(title("RMSNorm"), megabytes(2 * n),
          [&] { kernels::rms_norm(a.data(), b.data(), weight.data(), rows, width, 1e-5f); });
    print(title("residual and RMSNorm"), megabytes(4 * n),
          [&] { kernels::add_rms_norm(a.data(), b.data(), c.data(), weight.data(), rows, width, 1e-5f); });
    std::vector<float> dx(n);
    print(title("RMSNorm backward"), megabytes(5 * n), [&] {
        kernels::rms_norm_backward(dx.data(), a.data(), weight_gradient.data(), b.data(), c.data(), weight.data(), rows,
                                   width, 1e-5f);
    });
    print(title("SwiGLU"), megabytes(3 * h), [&] { kernels::swiglu(activated.data(), gate_up.data(), rows, hidden); });
    print(title("SwiGLU backward"), megabytes(6 * h),
          [&] { kernels::swiglu_backward(gate_up.data(), activated.data(), rows, hidden); });
    const kernels::RotaryShape turn{128, width / 32, 32};
    std::vector<float> table(kernels::rotary_table_size(turn));
    kernels::fill_rotary_table(table.data(), turn, 10000);
    auto qkv = values(3 * n);
    print(title("rotary"), megabytes(4 * n), [&] { kernels::rotary(qkv.data(), table.data(), rows, turn, 1); });
    auto logits = values(rows * vocabulary);
    const std::vector<std::int64_t> targets(rows, 5);
    print(fmt::format("softmax, cross-entropy and gradient, {} x {}", rows, vocabulary),
          megabytes(2 * rows * vocabulary),
          [&] { kernels::softmax_cross_entropy(logits.data(), targets.data(), rows, vocabulary); });
    std::vector<float> variance(n, 1e-3f);
    print(title("AdamW"), megabytes(7 * n),
          [&] { kernels::adamw(a.data(), b.data(), c.data(), variance.data(), n, {}); });
}

/// Attention is bound by arithmetic: GFLOP/s of what lies below the diagonal (forward 2, backward 5 products).
void bench_attention(std::size_t sequence, std::size_t heads, std::size_t head_width) {
    const kernels::AttentionShape shape{sequence, heads, head_width};
    const std::size_t n = sequence * heads * head_width;
    const auto start = values(3 * n), gradient = values(n);
    auto qkv = start;
    std::vector<float> out(n), log_sums(sequence * heads), workspace(kernels::attention_workspace(shape));
    const double product =
        static_cast<double>(sequence) * static_cast<double>(sequence + 1) * static_cast<double>(heads * head_width);
    const double forward_s = best_seconds(
        [&] { kernels::causal_attention(out.data(), log_sums.data(), start.data(), shape, workspace.data()); });
    const double copy_s = best_seconds([&] { qkv = start; });
    const double backward_s = best_seconds([&] {
        qkv = start;
        kernels::causal_attention_backward(qkv.data(), gradient.data(), out.data(), log_sums.data(), shape,
                                           workspace.data());
    });
    const auto line = [&](const char* name, double gflops) {
        const nlohmann::ordered_json json{
            {"name", fmt::format("{}, {} positions, {} heads of {}", name, sequence, heads, head_width)},
            {"value", gflops},
            {"unit", "GFLOP/s"},
            {"threads", 1},
            {"repeat", repeats}};
        std::puts(json.dump().c_str());
    };
    line("causal attention", 2 * product / forward_s * 1e-9);
    line("causal attention backward", 5 * product / (backward_s - copy_s) * 1e-9);
}

}  // namespace

int main() {
    bench(256, 128);    // a few hundred kB: the second-level cache
    bench(1024, 128);   // a microbatch of the bundled experiments
    bench(65536, 256);  // beyond the caches
    bench_attention(128, 4, 32);
    bench_attention(512, 4, 64);
    bench_attention(2048, 4, 64);
}
