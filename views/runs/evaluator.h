// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <optional>
#include <vector>

#include <QElapsedTimer>
#include <QObject>
#include <QProcess>

#include "core/record/record.h"

namespace skippipe {

/// How far the run at work is.
struct EvaluatorWork {
    RunId run = 0;
    QString what;             ///< "reading the data"; empty: it begins
    double share = 0;         ///< of that, 0 to 1
    std::vector<RunId> next;  ///< that wait
    /// "Run 1: validating, 40 %, 12 s left; then run 2".
    QString words(std::optional<double> left_s) const;
};

/// Runs `skippipe evaluate` on one run after the other: its validation with stages left out, which the record keeps.
/// It ends with the window.
class Evaluator : public QObject {
    Q_OBJECT
public:
    explicit Evaluator(std::filesystem::path record, QObject* parent = nullptr);
    ~Evaluator() override;

    /// Those that are at work or wait already stay where they are.
    void evaluate(const std::vector<RunId>& runs);
    /// Ends the run at work, of which nothing is recorded, and forgets those that wait.
    void cancel();
    /// Nothing: it has nothing to do.
    const std::optional<EvaluatorWork>& work() const { return work_; }
    QString words() const;

Q_SIGNALS:
    void changed();                               ///< what it does, or how far it is
    void failed(qint64 run, const QString& why);  ///< never of what was cancelled

private:
    void begin();
    void hear();
    void end(int exit_code, QProcess::ExitStatus how);
    void fail(const QString& why);
    void go_on();

    std::filesystem::path record_;
    QProcess process_;
    std::optional<EvaluatorWork> work_;
    QElapsedTimer since_;  ///< what it does began
    bool cancelled_ = false;
};

}  // namespace skippipe
