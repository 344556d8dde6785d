// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/engine/transport.h"

namespace skippipe {

/// A transport that carries the schedule's transfers and sums, and leaves all else to another one, which outlives it:
/// who is there, what is small or seldom, the common clock.
class BesideControl : public RankTransport {
public:
    int rank() const override { return control_.rank(); }
    int ranks() const override { return control_.ranks(); }
    std::vector<int> members() const override { return control_.members(); }
    void outlive_losses(bool outlives) override { control_.outlive_losses(outlives); }
    bool must_regroup() const override { return control_.must_regroup(); }
    bool somebody_waits() const override { return control_.somebody_waits(); }
    double now_s() const override { return control_.now_s(); }
    double common_s(double local_s) const override { return control_.common_s(local_s); }
    std::vector<std::vector<double>> gather_stage(int stage, const std::vector<double>& values) override {
        return control_.gather_stage(stage, values);
    }
    std::vector<std::vector<double>> all_gather(const std::vector<double>& values) override {
        return control_.all_gather(values);
    }
    std::vector<std::string> gather(const std::string& text) override { return control_.gather(text); }
    std::string broadcast(const std::string& text) override { return control_.broadcast(text); }
    void send_to(int rank, std::span<const std::byte> bytes) override { control_.send_to(rank, bytes); }
    void receive_from(int rank, std::span<std::byte> bytes) override { control_.receive_from(rank, bytes); }
    std::unique_ptr<LineBook> line_book(std::size_t lines) override { return control_.line_book(lines); }

protected:
    explicit BesideControl(RankTransport& control) : control_(control) {}

    RankTransport& control_;
};

}  // namespace skippipe
