// SPDX-License-Identifier: GPL-3.0-or-later
// An experiment whose ranks can be lost, their processes, and what a run tells of them, for tests that kill them.
#pragma once
#include "tests/app/launched.h"

namespace launched {

constexpr int patient_ms = 180'000, ranks = 4, stages = 3;

/// Every rank but one may be lost: each has a node of each stage.
inline QString everywhere(const Scene& scene, int iterations, const QJsonObject& recovery = {},
                          const char* all_reduce = "charged") {
    QJsonArray nodes, placement;
    for (int stage = 0; stage < stages; ++stage) {
        QJsonArray ring;
        for (int rank = 0; rank < ranks; ++rank) {
            const auto id = QString("r%1s%2").arg(rank).arg(stage);
            nodes.append(QJsonObject{{"id", id}, {"rank", rank}, {"seconds_per_sample_per_block", 0.01}});
            ring.append(id);
        }
        placement.append(ring);
    }
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
        {"model", QJsonObject{{"blocks", 3}, {"width", 32}, {"heads", 2}, {"sequence", 32}}},
        {"pipeline", QJsonObject{{"stages", stages},
                                 {"placement", placement},
                                 {"microbatches", 8},
                                 {"microbatch_samples", 1},
                                 {"skip_ratio", 0.33},
                                 {"memory_microbatches", 8},
                                 {"planner", "skippipe"},
                                 {"plan_steps", 200}}},
        {"costs", QJsonObject{{"all_reduce", all_reduce}}},
        {"data", QJsonObject{{"source", "text"}, {"path", "corpus.txt"}, {"validation_samples", 4}}},
        {"training", QJsonObject{{"iterations", iterations}, {"validate_every", 40}, {"checkpoint_every", 15}}},
        {"recovery", recovery},
        {"execution", QJsonObject{{"clock", "wall"}, {"transport", "gloo"}, {"ranks", ranks}, {"threads", 1}}}};
    return scene.write("everywhere.json", QJsonDocument(document).toJson());
}

/// Of a rank.
inline std::vector<qint64> workers_of(const Scene& scene, int rank) {
    std::vector<qint64> found;
    for (const auto pid : scene.alive("RANK=" + QByteArray::number(rank)))
        if (QFile::symLinkTarget(QStringLiteral("/proc/%1/exe").arg(pid)).endsWith("skippipe-worker"))
            found.push_back(pid);
    return found;
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
