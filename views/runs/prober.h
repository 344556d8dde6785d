// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>

#include <QObject>
#include <QProcess>

#include "core/experiment/document.h"

namespace skippipe {

class Document;
class FileWorker;

/// Runs `skippipe probe` on the document: how fast its stages and links are on this machine's ranks.
class Prober : public QObject {
    Q_OBJECT
public:
    /// `folder` takes the experiment as it was and as it was measured; `files`, which outlives this, writes and reads
    /// there.
    Prober(FileWorker& files, std::filesystem::path folder, QObject* parent = nullptr);
    ~Prober() override;

    void measure(const Document& document);
    void cancel();
    bool is_measuring() const { return measuring_; }
    /// Whether the links of what is drawn are the truth, so that only the nodes' speeds are measured: simulated or
    /// shaped.
    static bool keeps_links(const Experiment& experiment);
    /// What was measured, as it was before.
    const Experiment& before() const { return before_; }

Q_SIGNALS:
    void measured(const skippipe::Experiment& experiment);
    void failed(const QString& why);
    void measuring_changed();

private:
    void start(const std::filesystem::path& file);
    void read_result(int exit_code);
    void end();
    void fail(const QString& why);

    FileWorker& files_;
    std::filesystem::path folder_, result_;
    QProcess process_;
    Experiment before_;
    bool measuring_ = false, cancelled_ = false;
};

/// Puts measured speeds, links and cost factors into an experiment, which keeps all else.
void take_measured(Experiment& experiment, const Experiment& measured);

}  // namespace skippipe
