// SPDX-License-Identifier: GPL-3.0-or-later
// What a machine sends to, and receives from, several others at once.
#include <algorithm>
#include <exception>
#include <fstream>
#include <functional>
#include <map>
#include <thread>

#include <sys/stat.h>

#include "core/engine/delay_queue.h"
#include "core/engine/probe.h"

namespace skippipe {

namespace {

constexpr int cold_runs = 2, runs = 7;
constexpr std::size_t most_peers = 8;

/// A number of this machine and of the network that this process sees.
double this_connection() {
    std::string boot;
    std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
    struct stat network {};
    if (::stat("/proc/self/ns/net", &network) == 0) boot += "/" + std::to_string(network.st_ino);
    return static_cast<double>(std::hash<std::string>{}(boot) >> 11);
}

/// `work` with each of them at once; throws what the first of them threw.
void at_once(const std::vector<int>& peers, const std::function<void(int peer)>& work) {
    std::vector<std::exception_ptr> errors(peers.size());
    {
        std::vector<std::jthread> threads;
        for (std::size_t i = 0; i < peers.size(); ++i)
            threads.emplace_back([&, i] {
                try {
                    work(peers[i]);
                } catch (...) {
                    errors[i] = std::current_exception();
                }
            });
    }
    for (const auto& error : errors)
        if (error) std::rethrow_exception(error);
}

/// A message one way and a byte the other: who gets the message answers, or who wants it asks for it.
void pass(RankTransport& transport, int peer, bool sends, bool begins, std::size_t bytes) {
    std::vector<std::byte> message(bytes, std::byte{1});
    std::byte signal{};
    const auto say = [&] { transport.send_to(peer, std::span(&signal, 1)); };
    const auto hear = [&] { transport.receive_from(peer, std::span(&signal, 1)); };
    if (sends) {
        if (!begins) hear();
        transport.send_to(peer, message);
        if (begins) hear();
    } else {
        if (begins) say();
        transport.receive_from(peer, message);
        if (!begins) say();
    }
}

/// By the machine whose connection it is.
Measured rate_of(RankTransport& transport, const std::vector<int>& peers, bool up, std::size_t bytes_each,
                 double latency_s) {
    std::vector<double> rates;
    for (int i = 0; i < cold_runs + runs; ++i) {
        const double start_s = steady_s();
        at_once(peers, [&](int peer) { pass(transport, peer, up, true, bytes_each); });
        const double took_s = steady_s() - start_s;
        if (i >= cold_runs)
            rates.push_back(static_cast<double>(bytes_each * peers.size()) /
                            std::max(took_s - 2 * latency_s, took_s / 2));
    }
    return summarize(std::move(rates));
}

}  // namespace

std::vector<int> connections_of(RankTransport& transport) {
    std::vector<int> connection_of;
    std::map<double, int> known;
    for (const auto& own : transport.all_gather({this_connection()}))
        connection_of.push_back(known.emplace(own.front(), static_cast<int>(known.size())).first->second);
    return connection_of;
}

Connection measure_connection(RankTransport& transport, const std::vector<int>& connection_of,
                              const std::vector<LinkSpeed>& links, std::size_t bytes) {
    const int me = transport.rank();
    std::map<int, int> first_of;  // rank of each connection
    for (std::size_t rank = 0; rank < connection_of.size(); ++rank)
        first_of.emplace(connection_of[rank], static_cast<int>(rank));
    if (first_of.size() < 3) return {};
    std::vector<int> firsts;
    for (const auto& [connection, rank] : first_of) firsts.push_back(rank);
    Connection mine;
    for (std::size_t i = 0; i < firsts.size(); ++i) {
        std::vector<int> peers;
        for (std::size_t k = 1; k < std::min(firsts.size(), most_peers + 1); ++k)
            peers.push_back(firsts[(i + k) % firsts.size()]);
        const std::size_t bytes_each = std::max<std::size_t>(bytes / peers.size(), 1);
        double latency_s = 0;
        for (const auto& link : links)
            if (std::find(peers.begin(), peers.end(), link.to) != peers.end())
                latency_s = std::max(latency_s, link.latency_s.median);
        Measured rates[2];
        for (const bool up : {true, false}) {
            if (firsts[i] == me) rates[up ? 0 : 1] = rate_of(transport, peers, up, bytes_each, latency_s);
            if (std::find(peers.begin(), peers.end(), me) != peers.end())
                for (int run = 0; run < cold_runs + runs; ++run) pass(transport, firsts[i], !up, false, bytes_each);
            transport.all_gather({0});  // the others wait, so that nothing else is on the line
        }
        const auto found = transport.all_gather({rates[0].median, rates[0].spread, rates[1].median, rates[1].spread});
        if (first_of.at(connection_of[static_cast<std::size_t>(me)]) != firsts[i]) continue;
        const auto& values = found[static_cast<std::size_t>(firsts[i])];
        mine = {peers, {values.at(0), values.at(1)}, {values.at(2), values.at(3)}};
    }
    return mine;
}

}  // namespace skippipe
