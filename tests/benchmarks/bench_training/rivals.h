// SPDX-License-Identifier: GPL-3.0-or-later
// Other programs that train the same model, and this one started again.
#pragma once
#include "tests/benchmarks/bench_training/figures.h"

namespace skippipe::bench {

/// Tokens a second of one worker that trains the small setup from `start_ns` of the steady clock on: run by a process
/// of its own, as `bench_processes` starts it.
double alone(long long start_ns, double for_s);
/// Tokens a second of the model trained whole with plain LibTorch: run by a process of its own.
double whole(const std::string& setup, int intra_op, int blas, double for_s);

/// Two workers against two processes of one worker.
void bench_processes(Trained& two);
/// Against plain LibTorch under whichever threading it is fastest with.
void bench_against_plain(Trained& ours, const Setup& setup, int cores, const Ceiling& ceiling);
/// Against python3-torch, eager; says so where it is not installed.
void bench_against_python(Trained& ours, const Setup& setup, int cores, const Ceiling& ceiling);

}  // namespace skippipe::bench
