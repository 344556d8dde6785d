// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/probe.h"

#include <algorithm>
#include <cstring>
#include <ctime>
#include <fstream>
#include <functional>
#include <map>
#include <set>

#include <nlohmann/json.hpp>

#include "core/base/fault.h"
#include "core/engine/delay_queue.h"
#include "core/engine/task_graph.h"
#include "core/engine/cost_compute.h"
#include "core/engine/wall_clock.h"

namespace skippipe {

namespace {

using nlohmann::json;

constexpr std::size_t sizes[] = {64, 1 << 10, 16 << 10, 256 << 10, 1 << 20, 4 << 20};
constexpr int warm_ups = 3, repeats = 15;
constexpr std::size_t usual_size = 256 << 10;  // of activations: what the work for a byte is taken from

/// One way of a message, by round trips: the first sends, the second answers with as much.
std::vector<double> round_trips(RankTransport& transport, int peer, bool first, std::vector<std::byte>& message) {
    std::vector<double> one_way_s;
    for (int i = 0; i < warm_ups + repeats; ++i) {
        const double start_s = steady_s();
        if (first) transport.send_to(peer, message);
        transport.receive_from(peer, message);
        if (!first) transport.send_to(peer, message);
        if (first && i >= warm_ups) one_way_s.push_back((steady_s() - start_s) / 2);
    }
    return one_way_s;
}

/// The largest message one way, ended by an answer of one byte.
std::vector<double> one_way(RankTransport& transport, int peer, bool sends, std::vector<std::byte>& message,
                            double latency_s) {
    std::vector<double> bytes_per_s;
    std::byte answer{};
    for (int i = 0; i < warm_ups + repeats; ++i) {
        const double start_s = steady_s();
        if (sends) {
            transport.send_to(peer, message);
            transport.receive_from(peer, std::span(&answer, 1));
        } else {
            transport.receive_from(peer, message);
            transport.send_to(peer, std::span(&answer, 1));
        }
        // On a busy machine a small message may take as long as a large one: then the latency says nothing.
        const double took_s = steady_s() - start_s;
        if (sends && i >= warm_ups)
            bytes_per_s.push_back(static_cast<double>(message.size()) / std::max(took_s - 2 * latency_s, took_s / 2));
    }
    return bytes_per_s;
}

/// By both ends of the link; what the first finds counts.
LinkSpeed measure_link(RankTransport& transport, int from, int to) {
    const bool first = transport.rank() == from;
    const int peer = first ? to : from;
    LinkSpeed link{.from = from, .to = to};
    std::vector<std::byte> message;
    for (const auto size : sizes) {
        message.assign(size, std::byte{1});
        const double before_s = process_cpu_s();
        const auto times = summarize(round_trips(transport, peer, first, message));
        // Each round trip is one message sent here and one received.
        const double cpu_s = (process_cpu_s() - before_s) / (warm_ups + repeats);
        if (size == sizes[0]) link.latency_s = times, link.cpu_s = cpu_s;
        if (size == usual_size) link.cpu_s_per_byte = std::max(0.0, cpu_s - link.cpu_s) / static_cast<double>(size);
        link.sweep.emplace_back(size, times.median);
    }
    link.bandwidth_bytes_per_s = summarize(one_way(transport, peer, first, message, link.latency_s.median));
    return link;
}

/// A number of the machine this runs on, whatever its containers are called.
double this_machine() {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    return static_cast<double>(std::hash<std::string>{}(boot) >> 11);
}

json write(const Measured& m) { return {m.median, m.spread}; }
Measured read_measured(const json& v) { return {v.at(0), v.at(1)}; }

}  // namespace

double process_cpu_s() {
    timespec time{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

Measured summarize(std::vector<double> values) {
    if (values.empty()) return {};
    std::sort(values.begin(), values.end());
    const auto percentile = [&](double share) {
        return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
    };
    return {percentile(0.5), (percentile(0.84) - percentile(0.16)) / 2};
}

std::vector<std::vector<std::pair<int, int>>> probe_rounds(const std::vector<int>& host_of) {
    const int ranks = static_cast<int>(host_of.size());
    std::vector<std::vector<std::pair<int, int>>> rounds;
    std::vector<std::set<int>> hosts;  // of each round
    const auto place = [&](int a, int b) {
        const int host_a = host_of[static_cast<std::size_t>(a)], host_b = host_of[static_cast<std::size_t>(b)];
        std::size_t round = 0;
        while (round < rounds.size() && (hosts[round].contains(host_a) || hosts[round].contains(host_b))) ++round;
        if (round == rounds.size()) rounds.emplace_back(), hosts.emplace_back();
        rounds[round].emplace_back(std::min(a, b), std::max(a, b));
        hosts[round].insert({host_a, host_b});
    };
    // As a tournament is drawn up: one stays, the others go round the table, and who sits opposite plays.
    const int seats = ranks + ranks % 2;
    for (int turn = 0; turn < seats - 1; ++turn)
        for (int seat = 0; seat < seats / 2; ++seat) {
            const int a = seat == 0 ? seats - 1 : (turn + seat) % (seats - 1),
                      b = (turn + seats - 1 - seat) % (seats - 1);
            if (a < ranks && b < ranks) place(a, b);
        }
    return rounds;
}

std::vector<LinkSpeed> measure_links(RankTransport& transport) {
    std::vector<LinkSpeed> links;
    const int me = transport.rank();
    std::vector<int> host_of;
    std::map<double, int> hosts;
    for (const auto& machine : transport.all_gather({this_machine()}))
        host_of.push_back(hosts.emplace(machine.front(), static_cast<int>(hosts.size())).first->second);
    for (const auto& round : probe_rounds(host_of))
        for (const bool back : {false, true}) {
            for (const auto& [a, b] : round)
                if (a == me || b == me) {
                    const int from = back ? b : a, to = back ? a : b;
                    auto link = measure_link(transport, from, to);
                    if (from == me) links.push_back(std::move(link));
                }
            transport.all_gather({0});  // the others wait, so that nothing else is on the line
        }
    std::sort(links.begin(), links.end(), [](const LinkSpeed& a, const LinkSpeed& b) { return a.to < b.to; });
    return links;
}

Measured measure_handover() {
    DelayQueue<int> inbox;
    TaskGraph worker(1, [] {});
    std::vector<double> seconds;
    double ended_s = steady_s();
    for (int i = 0; i < 400; ++i) {
        inbox.put(i);
        inbox.take();
        worker.add([&, i] {
            if (i >= 50) seconds.push_back(steady_s() - ended_s);
            // The node would compute here, and everybody else sleep.
            std::this_thread::sleep_for(std::chrono::microseconds(200));
            ended_s = steady_s();
        });
        worker.wait();
    }
    return summarize(std::move(seconds));
}

double rehearse(const Problem& problem, const RankSchedule& schedule, RankTransport& transport, int workers) {
    constexpr int first = 2, iterations = 5;
    constexpr double forward_s = 5e-4;
    Problem quick = problem;
    const double blocks =
        static_cast<double>(std::max(1, schedule.plan.blocks.empty() ? 1 : schedule.plan.blocks.front()));
    quick.seconds_per_sample_per_block.assign(quick.seconds_per_sample_per_block.size(),
                                              forward_s / (blocks * std::max(1e-9, quick.samples)));
    quick.backward_factor = quick.loss_factor = 1;
    CostCompute sleeping(quick, schedule, workers);
    WallClock clock(quick, schedule, sleeping, transport, nullptr);
    Driver driver(quick, schedule, transport.rank(), clock);
    double before_s = 0;
    for (int i = 0; i < first + iterations; ++i) {
        if (i == first) before_s = process_cpu_s();
        driver.run_iteration(i);
    }
    return (process_cpu_s() - before_s) / iterations;
}

double measure_copy_bytes_per_s() {
    const std::size_t bytes = 64 << 20;
    std::vector<std::byte> from(bytes, std::byte{1}), to(bytes);
    double best_s = 1e9;
    for (int i = 0; i < 3; ++i) {
        const double start_s = steady_s();
        std::memcpy(to.data(), from.data(), bytes);
        best_s = std::min(best_s, steady_s() - start_s);
    }
    return static_cast<double>(bytes) / best_s;
}

std::string to_json_text(const RankProbe& probe) {
    json value{{"host", probe.host},
               {"cores", probe.cores},
               {"handover_s", write(probe.handover_s)},
               {"copy_bytes_per_s", probe.copy_bytes_per_s},
               {"step_s", write(probe.step_s)},
               {"iteration_cpu_s", probe.iteration_cpu_s},
               {"reduction_cpu_s_per_byte", probe.reduction_cpu_s_per_byte},
               {"nodes", json::array()},
               {"links", json::array()}};
    for (const auto& n : probe.nodes)
        value["nodes"].push_back({{"node", n.node},
                                  {"forward_s", write(n.forward_s)},
                                  {"backward_s", write(n.backward_s)},
                                  {"loss_s", write(n.loss_s)}});
    for (const auto& l : probe.links)
        value["links"].push_back({{"from", l.from},
                                  {"to", l.to},
                                  {"latency_s", write(l.latency_s)},
                                  {"bandwidth_bytes_per_s", write(l.bandwidth_bytes_per_s)},
                                  {"sweep", l.sweep},
                                  {"cpu_s", l.cpu_s},
                                  {"cpu_s_per_byte", l.cpu_s_per_byte}});
    value["connection"] = {{"peers", probe.connection.peers},
                           {"up_bytes_per_s", write(probe.connection.up_bytes_per_s)},
                           {"down_bytes_per_s", write(probe.connection.down_bytes_per_s)}};
    return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

RankProbe parse_rank_probe(const std::string& text) {
    try {
        const auto value = json::parse(text);
        RankProbe probe{.host = value.at("host"),
                        .cores = value.at("cores"),
                        .step_s = read_measured(value.at("step_s")),
                        .iteration_cpu_s = value.at("iteration_cpu_s"),
                        .reduction_cpu_s_per_byte = value.at("reduction_cpu_s_per_byte"),
                        .handover_s = read_measured(value.at("handover_s")),
                        .copy_bytes_per_s = value.at("copy_bytes_per_s")};
        for (const auto& n : value.at("nodes"))
            probe.nodes.push_back({n.at("node"), read_measured(n.at("forward_s")), read_measured(n.at("backward_s")),
                                   read_measured(n.at("loss_s"))});
        for (const auto& l : value.at("links"))
            probe.links.push_back({l.at("from"), l.at("to"), read_measured(l.at("latency_s")),
                                   read_measured(l.at("bandwidth_bytes_per_s")),
                                   l.at("sweep").get<std::vector<std::pair<std::size_t, double>>>(), l.at("cpu_s"),
                                   l.at("cpu_s_per_byte")});
        const auto& connection = value.at("connection");
        probe.connection = {connection.at("peers").get<std::vector<int>>(),
                            read_measured(connection.at("up_bytes_per_s")),
                            read_measured(connection.at("down_bytes_per_s"))};
        return probe;
    } catch (const json::exception& error) {
        throw InputError("probe", std::string("unreadable measurements: ") + error.what(),
                         "all ranks must run the same build", "Install the same version everywhere");
    }
}

}  // namespace skippipe
