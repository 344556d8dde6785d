// SPDX-License-Identifier: GPL-3.0-or-later
// `skippipe-worker`: a rank that trains with LibTorch.
#include "app/worker/torch_backend.h"
#include "app/worker/worker.h"

int main(int, char** arguments) {
    static skippipe::TorchBackend backend;
    skippipe::be_worker(arguments, backend);
}
