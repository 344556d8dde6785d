// SPDX-License-Identifier: GPL-3.0-or-later
// The network as a matrix: latency or bandwidth of every pair, or every node's own connection, read from the experiment
// and put back into it. No widget.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include <QString>

#include "core/experiment/describe.h"

namespace skippipe {

/// What the cells are: of links; of a node's uplink and downlink; or seconds of a hop where the experiment gives a
/// matrix of them.
enum class MatrixShows { latency, bandwidth, hop, connection };

/// A row or a column: what links join.
struct MatrixEnd {
    std::string id;
    bool is_region = false;
    std::string region = {};  ///< that a node stands in
    bool operator==(const MatrixEnd&) const = default;
};

/// Regions where they are linked, and nodes that stand in none or have links of their own, sorted by region; else all
/// nodes. With a matrix of hops: its nodes, sorted by region.
std::vector<MatrixEnd> matrix_ends(const Experiment& experiment);
/// The ends, or, of connections, all nodes by region.
std::vector<MatrixEnd> matrix_rows(const Experiment& experiment, MatrixShows shows);
/// The ends, or, of connections, the uplink and the downlink.
std::vector<MatrixEnd> matrix_columns(const Experiment& experiment, MatrixShows shows);
/// Of `matrix_rows` and `matrix_columns`, row by row: latency in s, bandwidth in B/s, or hop in s; negative where the
/// two are not linked. Between a region's own nodes: its own link, else the common switch. Of connections B/s; negative
/// where there is no limit.
std::vector<double> matrix_values(const Experiment& experiment, const std::vector<MatrixEnd>& rows,
                                  const std::vector<MatrixEnd>& columns, MatrixShows shows);
/// Of the same cells: what pairs of nodes without a link of their own have from their regions, the link between these
/// or what lies inside one; negative elsewhere.
std::vector<double> inherited_values(const Experiment& experiment, const std::vector<MatrixEnd>& rows,
                                     const std::vector<MatrixEnd>& columns, MatrixShows shows);
/// Unit and limits of a cell.
Info matrix_info(MatrixShows shows);
/// The same of a node's field, by its key.
Info node_info(const char* key);
/// Puts a value in, with a link where there is none; nothing: removes the link, or the connection's limit. Returns why
/// it cannot be, or nothing.
QString set_matrix_value(Experiment& experiment, const MatrixEnd& from, const MatrixEnd& to, MatrixShows shows,
                         std::optional<double> value);

/// What is far from the rest, as a mistaken unit is: at least 16 times the median or a sixteenth, and 8 times as far
/// from it, in logarithms, as half of the values are. `values` that are not positive count for nothing.
std::vector<std::size_t> outliers(const std::vector<double>& values);

}  // namespace skippipe
