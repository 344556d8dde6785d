// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/theme/words.h"

#include <map>
#include <string_view>

#include <QObject>
#include <QRegularExpression>
#include <QStringList>

namespace skippipe {
namespace {

/// Units are said beside the label; "seconds_per_sample_per_block" needs no "s" in its name.
QString without_unit(QString key) {
    for (const char* tail : {"_bytes_per_s", "_seconds", "_s"})
        if (key.endsWith(QLatin1String(tail))) return key.chopped(static_cast<qsizetype>(qstrlen(tail)));
    return key;
}

}  // namespace

QString capitalised(QString words) {
    if (!words.isEmpty()) words[0] = words[0].toUpper();
    return words;
}

QString label_of(const char* key) {
    // Where the key says it in the wrong order.
    static const std::map<std::string_view, const char*> words{
        {"plan_blocks", "Planner chooses blocks"},
        {"microbatch_samples", "Samples per microbatch"},
        {"microbatch_sizes", "Samples, microbatch by microbatch"},
        {"memory_microbatches", "Microbatches in memory"},
        {"memory_bytes", "Memory"},
        {"device", "Runs here on"},
        {"node_hour", "A node for an hour"},
        {"gigabyte", "A gigabyte sent"},
        {"seconds_per_sample_per_block", "Time per sample per block"},
        {"up_bytes_per_s", "Uplink"},
        {"down_bytes_per_s", "Downlink"},
        {"seeds", "Number of seeds"},
        {"at_s", "Network time"},
        {"at_iteration", "Iteration, from 0"},
        {"probability_per_iteration", "Chance an iteration"},
        {"rejoin_after_s", "Lasts for"},
    };
    if (const auto known = words.find(key); known != words.end()) return QObject::tr(known->second);
    return capitalised(without_unit(QString::fromUtf8(key)).replace('_', ' '));
}

QString without_keys(QString words) {
    static const QRegularExpression key(QStringLiteral(" \\([a-z]+(_[a-z]+)+\\)"));
    return words.remove(key);
}

QString place_words(const std::string& pointer) {
    QStringList words;
    bool is_named = false;  // an element that is called by its own name
    for (QString part : QString::fromStdString(pointer).split('/', Qt::SkipEmptyParts)) {
        bool is_number = false;
        const int number = part.toInt(&is_number);
        if (is_number && !words.isEmpty())
            words.last() += QStringLiteral(" %1").arg(number + 1);
        else if (is_named)
            words.last() = part.replace("~1", "/").replace("~0", "~");
        else
            words << label_of(part.toUtf8().constData());
        is_named = part == "nodes" || part == "links" || part == "regions";
    }
    if (words.size() > 1 && !words.front().contains(' ')) words.removeFirst();  // the part of the document it is in
    for (qsizetype i = 1; i < words.size(); ++i) words[i] = words[i].toLower();
    return words.join(", ");
}

}  // namespace skippipe
