// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>

#include <QObject>
#include <QProcess>

#include "core/experiment/document.h"

namespace skippipe {

class Document;

/// Runs `skippipe probe` on the document: how fast its stages and links are on this machine's ranks.
class Prober : public QObject {
    Q_OBJECT
public:
    /// `folder` takes the experiment as it was and as it was measured.
    explicit Prober(std::filesystem::path folder, QObject* parent = nullptr);
    ~Prober() override;

    /// False with `failed` told where it cannot.
    bool measure(const Document& document);
    void cancel();
    bool is_measuring() const { return process_.state() != QProcess::NotRunning; }
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
    void take(int exit_code);

    std::filesystem::path folder_, result_;
    QProcess process_;
    Experiment before_;
    bool cancelled_ = false;
};

/// Puts measured speeds, links and cost factors into an experiment, which keeps all else.
void take_measured(Experiment& experiment, const Experiment& measured);

}  // namespace skippipe
