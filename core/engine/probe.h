// SPDX-License-Identifier: GPL-3.0-or-later
// Measuring what a topology says: links over the very transport that trains, and what handing over inside a rank costs.
#pragma once
#include <cstddef>
#include <string>
#include <vector>

#include "core/engine/transport.h"

namespace skippipe {

/// Median and spread (half the distance between the 16th and 84th percentile) of repeated measurements.
struct Measured {
    double median = 0, spread = 0;
};
Measured summarize(std::vector<double> values);

/// What cores have worked for this process.
double process_cpu_s();

/// From one rank to another.
struct LinkSpeed {
    int from = 0, to = 0;
    Measured latency_s;                                 ///< half a round trip of the smallest message
    Measured bandwidth_bytes_per_s;                     ///< of the largest, the latency left out
    std::vector<std::pair<std::size_t, double>> sweep;  ///< bytes, median seconds one way
    double cpu_s = 0, cpu_s_per_byte = 0;               ///< work of a core for a message, both ends together
};

/// One node's work, in seconds of its thread while its rank's other workers compute as well.
struct NodeSpeed {
    int node = 0;
    Measured forward_s, backward_s, loss_s;  ///< loss: data nodes only
};

/// A machine's connection: what goes over it where several others are sent to, or send, at once. In bytes per second.
struct Connection {
    std::vector<int> peers;  ///< ranks on as many other machines; fewer than two: nothing was measured
    Measured up_bytes_per_s, down_bytes_per_s;
};

/// What one rank found.
struct RankProbe {
    std::string host;
    int cores = 1;
    std::vector<NodeSpeed> nodes;
    Measured step_s;  ///< AdamW on all nodes of this rank, while the other ranks do the same
    std::vector<LinkSpeed> links;
    Connection connection;       ///< of this rank's machine
    double iteration_cpu_s = 0;  ///< work of this rank's cores for an iteration beyond its arithmetic (rehearse)
    double reduction_cpu_s_per_byte = 0;  ///< work of a core for a byte of a part or sum, both ends; 0: none is planned
    Measured handover_s;  ///< from the end of an operation to the start of the next one it lets go, on this rank
    double copy_bytes_per_s = 0;  ///< memory, one thread; the GPU's where all nodes of the rank are on it
};

/// Every pair of ranks once, in rounds: pairs of one round share no host (`host_of` each rank), so that they share
/// neither cores nor a network card. One rank a host: as many rounds as ranks, at most.
std::vector<std::vector<std::pair<int, int>>> probe_rounds(const std::vector<int>& host_of);

/// Every ordered pair of ranks, round by round; each rank returns the links from itself, by rank. All ranks at once.
/// What pairs of one round share beyond their hosts, such as a region's way out, they share while they are measured.
std::vector<LinkSpeed> measure_links(RankTransport& transport);
/// Of each rank the number of its machine's connection to the others: containers with a network of their own count as
/// machines of their own. All ranks at once.
std::vector<int> connections_of(RankTransport& transport);
/// One connection after the other: `bytes` to up to eight others at once, shared out among them, then as much from
/// them. `links`: what measure_links returned here. All ranks at once; each returns its machine's. Nothing is measured
/// where there are fewer than three connections: with one other, the connection is the link.
Connection measure_connection(RankTransport& transport, const std::vector<int>& connection_of,
                              const std::vector<LinkSpeed>& links, std::size_t bytes = std::size_t{4} << 20);
Measured measure_handover();
/// Iterations of the schedule as under the wall clock, with every message and thread, but with operations that only
/// sleep for a moment: seconds of a core that this rank's process works for one of them. All ranks at once; the
/// schedule's transfers must be free of deadlock.
double rehearse(const Problem& problem, const RankSchedule& schedule, RankTransport& transport, int workers);
/// Of the host's memory, by one thread.
double measure_copy_bytes_per_s();

std::string to_json_text(const RankProbe& probe);
/// Throws InputError where the text is not of a RankProbe.
RankProbe parse_rank_probe(const std::string& text);

}  // namespace skippipe
