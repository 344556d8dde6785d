// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/document/recovery.h"

#include <algorithm>
#include <utility>

#include <QCoreApplication>
#include <QUuid>

#include "core/experiment/io.h"
#include "views/document/document.h"
#include "views/document/file_worker.h"

namespace skippipe {
namespace {

constexpr int delay_ms = 1000;

QString lock_name(const std::filesystem::path& file) { return QString::fromStdString(file.string() + ".lock"); }

/// Locks the work unless the window that wrote it still lives.
std::unique_ptr<QLockFile> lock(const std::filesystem::path& file) {
    auto lock = std::make_unique<QLockFile>(lock_name(file));
    lock->setStaleLockTime(0);  // stale only when its process is gone, never by age
    return lock->tryLock(0) ? std::move(lock) : nullptr;
}

}  // namespace

/// The file of this window's work, touched on the worker's thread alone.
struct DocumentRecovery::Copy {
    std::filesystem::path file;
    std::unique_ptr<QLockFile> lock;

    void write(const std::filesystem::path& document_file, const Experiment& experiment, const std::string& schema) {
        std::error_code told_when_it_is_written;
        std::filesystem::create_directories(file.parent_path(), told_when_it_is_written);
        if (!lock) lock = skippipe::lock(file);
        nlohmann::ordered_json json;
        json["file"] = document_file.string();
        json["written"] = QDateTime::currentDateTime().toString(Qt::ISODate).toStdString();
        json["experiment"] = to_json(experiment);
        if (!schema.empty()) json["experiment"]["$schema"] = schema;
        write_file_atomically(file, json.dump(1));
    }
    void remove() {
        std::error_code gone_already;
        std::filesystem::remove(file, gone_already);
        lock.reset();
    }
};

DocumentRecovery::DocumentRecovery(Document& document, FileWorker& files, std::filesystem::path folder, QObject* parent)
    : QObject(parent), document_(document), files_(files), folder_(std::move(folder)) {
    timer_.setSingleShot(true);
    timer_.setInterval(delay_ms);
    connect(&timer_, &QTimer::timeout, this, &DocumentRecovery::write);
    connect(&document, &Document::changed, this, &DocumentRecovery::schedule);
    connect(&document, &Document::file_changed, this, &DocumentRecovery::schedule);
}

DocumentRecovery::~DocumentRecovery() {
    if (timer_.isActive()) write();
}

void DocumentRecovery::schedule() {
    if (!document_.is_modified())
        discard();
    else if (!timer_.isActive())
        timer_.start();
}

void DocumentRecovery::write() {
    timer_.stop();
    if (!document_.is_modified()) return;
    if (!copy_)
        copy_ = std::make_shared<Copy>(
            Copy{folder_ / (QUuid::createUuid().toString(QUuid::WithoutBraces).toStdString() + ".json"), nullptr});
    files_.ask(
        copy_->file.string(),
        [copy = copy_, file = document_.file(), experiment = document_.experiment(), schema = document_.schema()] {
            copy->write(file, experiment, schema);
        },
        this, [this](const QString& fault) { follow(fault); });
}

/// A full or read-only disk: the document itself is unharmed, and the next edit tries again.
void DocumentRecovery::follow(const QString& fault) {
    const bool failed_before = std::exchange(fails_, !fault.isEmpty());
    if (fails_ && !failed_before) Q_EMIT failed(fault);
}

void DocumentRecovery::discard() {
    timer_.stop();
    if (!copy_) return;
    files_.ask(copy_->file.string(), [copy = copy_] { copy->remove(); });
    copy_.reset();
}

std::vector<FoundWork> DocumentRecovery::find(const std::filesystem::path& folder) {
    std::vector<FoundWork> found;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
        if (entry.path().extension() != ".json") continue;
        if (!lock(entry.path())) continue;
        Faults faults;
        const auto json = parse_json(read_file(entry.path(), faults), faults);
        if (has_errors(faults) || !json.is_object() || !json.contains("experiment")) continue;
        FoundWork work;
        work.recovery_file = entry.path();
        if (const auto file = json.find("file"); file != json.end() && file->is_string())
            work.document_file = file->get<std::string>();
        if (const auto written = json.find("written"); written != json.end() && written->is_string())
            work.written = QDateTime::fromString(QString::fromStdString(written->get<std::string>()), Qt::ISODate);
        const auto& experiment = json.at("experiment");
        work.experiment = parse_experiment(experiment).experiment;
        if (experiment.is_object() && experiment.contains("$schema") && experiment["$schema"].is_string())
            work.schema = experiment["$schema"].get<std::string>();
        found.push_back(std::move(work));
    }
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.written > b.written; });
    return found;
}

void DocumentRecovery::remove(const FoundWork& work) {
    std::error_code error;
    std::filesystem::remove(work.recovery_file, error);
}

}  // namespace skippipe
