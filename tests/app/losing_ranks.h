// SPDX-License-Identifier: GPL-3.0-or-later
// An experiment whose ranks can be lost, their processes, and what a run tells of them, for tests that kill them.
#pragma once
#include "core/record/checkpoints.h"
#include "tests/app/launched.h"

namespace launched {

constexpr int patient_ms = 180'000, ranks = 4, stages = 3;

/// How gradients are summed, and what each node's own connection carries: with one, transfers are held to the drawn
/// network.
struct Reductions {
    const char* all_reduce = "charged";
    QJsonObject connection = {};  ///< up_bytes_per_s, down_bytes_per_s
};

/// An experiment by the wall clock; `ranks_of` says of each stage which ranks have a node of it, named r1s2.
inline QString laid_out(const Scene& scene, const std::vector<std::vector<int>>& ranks_of, int iterations,
                        const QJsonObject& recovery = {}, const Reductions& reductions = {}) {
    QJsonArray nodes, placement;
    int last_rank = 0;
    for (std::size_t stage = 0; stage < ranks_of.size(); ++stage) {
        QJsonArray ring;
        for (const int rank : ranks_of[stage]) {
            const auto id = QString("r%1s%2").arg(rank).arg(stage);
            auto node = reductions.connection;
            node["id"] = id;
            node["rank"] = rank;
            node["seconds_per_sample_per_block"] = 0.01;
            nodes.append(node);
            ring.append(id);
            last_rank = std::max(last_rank, rank);
        }
        placement.append(ring);
    }
    const int stages_there = static_cast<int>(ranks_of.size());
    QJsonArray links;
    for (qsizetype i = 0; i < nodes.size(); ++i)
        for (qsizetype k = 0; k < i; ++k)
            links.append(QJsonObject{{"from", nodes[i].toObject()["id"]},
                                     {"to", nodes[k].toObject()["id"]},
                                     {"latency_s", 0.001},
                                     {"bandwidth_bytes_per_s", 1e9}});
    const QJsonObject document{
        {"format", 1},
        {"name", "Everywhere"},
        {"seed", 5},
        {"topology", QJsonObject{{"nodes", nodes}, {"links", links}}},
        {"model", QJsonObject{{"blocks", stages_there}, {"width", 32}, {"heads", 2}, {"sequence", 32}}},
        {"pipeline", QJsonObject{{"stages", stages_there},
                                 {"placement", placement},
                                 {"microbatches", 8},
                                 {"microbatch_samples", 1},
                                 {"skip_ratio", 0.33},
                                 {"memory_microbatches", 8},
                                 {"planner", "skippipe"},
                                 {"plan_steps", 200}}},
        {"costs", QJsonObject{{"all_reduce", reductions.all_reduce}}},
        {"data", QJsonObject{{"source", "text"}, {"path", "corpus.txt"}, {"validation_samples", 4}}},
        {"training", QJsonObject{{"iterations", iterations}, {"validate_every", 40}, {"checkpoint_every", 15}}},
        {"recovery", recovery},
        {"execution", QJsonObject{{"clock", "wall"},
                                  {"transport", "gloo"},
                                  {"ranks", last_rank + 1},
                                  {"threads", 1},
                                  {"shape_links", !reductions.connection.isEmpty()}}}};
    return scene.write("laid-out.json", QJsonDocument(document).toJson());
}

/// Every rank but one may be lost: each has a node of each stage.
inline QString everywhere(const Scene& scene, int iterations, const QJsonObject& recovery = {},
                          const Reductions& reductions = {}) {
    std::vector<int> all;
    for (int rank = 0; rank < ranks; ++rank) all.push_back(rank);
    return laid_out(scene, std::vector(stages, all), iterations, recovery, reductions);
}

/// Of a rank.
inline std::vector<qint64> workers_of(const Scene& scene, int rank) {
    std::vector<qint64> found;
    for (const auto pid : scene.alive("RANK=" + QByteArray::number(rank)))
        if (QFile::symLinkTarget(QStringLiteral("/proc/%1/exe").arg(pid)).endsWith("skippipe-worker"))
            found.push_back(pid);
    return found;
}

/// Kills a rank's worker once there is one, other than those of before.
inline bool kill_rank(const Scene& scene, int rank, const std::vector<qint64>& but = {}) {
    std::vector<qint64> there;
    if (!wait_until([&] { return (there = workers_of(scene, rank)).size() == 1 && there != but; }, patient_ms))
        return false;
    return ::kill(static_cast<pid_t>(there[0]), SIGKILL) == 0;
}

/// Until the newest run has a checkpoint and has done so many iterations; not the run `after`.
inline bool has_checkpoint(const Scene& scene, skippipe::RunId after, int iterations) {
    return wait_until(
        [&] {
            const auto run = scene.last_run();
            if (!run || run->id == after) return false;
            const auto all = skippipe::list_checkpoints(scene.record().toStdString(), run->id);
            return !all.empty() && run->iterations_done >= iterations;
        },
        patient_ms);
}

/// Of a metric.
inline double total(const Scene& scene, skippipe::RunId run, const std::string& name) {
    double sum = 0;
    for (const auto& metric : skippipe::Reader(scene.record().toStdString()).metrics(run))
        if (metric.name == name) sum += metric.value;
    return sum;
}

inline Process start(const Scene& scene, const QStringList& arguments) {
    return scene.start(program, arguments + QStringList{"--db", scene.record()});
}

}  // namespace launched
