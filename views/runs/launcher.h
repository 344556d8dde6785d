// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>

#include <QObject>
#include <QTimer>

#include "core/experiment/document.h"
#include "core/record/record.h"

namespace skippipe {

class Document;
struct PlanOutcome;

/// The document as a file of its own in `folder`, with the plan if there is one: a saved experiment may change while a
/// program reads it. Relative paths of a saved document are made absolute. Throws InputError.
std::filesystem::path freeze(const Document& document, const PlanOutcome* planned, const std::filesystem::path& folder);

/// Starts `skippipe run` or `skippipe resume` as a process of its own that outlives the window, and finds out which run
/// it became.
class Launcher : public QObject {
    Q_OBJECT
public:
    /// `folder` takes the experiment as it was launched and what the process said.
    Launcher(std::filesystem::path record, std::filesystem::path folder, QObject* parent = nullptr);

    /// The command line program beside this one; empty: not there.
    static QString program();
    /// Launches the document as it stands, with the plan that was made of it; null: the command line plans. False with
    /// `failed` told where it cannot.
    bool launch(const Document& document, const PlanOutcome* planned);
    /// Goes on with a run from its newest checkpoint.
    bool resume(RunId run);
    bool is_starting() const { return !log_.empty(); }

Q_SIGNALS:
    void started(qint64 run);
    void failed(const QString& why);
    void starting_changed();

private:
    bool start(const QStringList& arguments, std::filesystem::path log);
    void look();
    void end_with(const QString& why);

    std::filesystem::path record_, folder_, log_;
    qint64 pid_ = 0;
    QTimer timer_;
};

}  // namespace skippipe
