// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <functional>
#include <memory>

#include <QObject>
#include <QStringList>
#include <QTimer>

#include "core/experiment/document.h"
#include "core/record/record.h"

namespace skippipe {

class Document;
class FileWorker;
struct PlanOutcome;

/// An experiment, the document `of` (empty: never saved), as a file of its own in `folder`, with the plan if there is
/// one: a saved experiment may change while a program reads it. Relative paths of a saved document are made absolute.
/// Any thread may call it. Throws InputError.
std::filesystem::path freeze(const Experiment& experiment, const std::filesystem::path& of, const PlanOutcome* planned,
                             const std::filesystem::path& folder);

/// Starts `skippipe run`, `resume`, `extend` or `fork` as a process of its own that outlives the window, and finds out
/// which run it became. `files` does what touches the disk.
class Launcher : public QObject {
    Q_OBJECT
public:
    /// `folder` takes the experiment as it was launched and what the process said. `files` outlives it.
    Launcher(FileWorker& files, std::filesystem::path record, std::filesystem::path folder, QObject* parent = nullptr);

    /// The command line program beside this one; empty: not there.
    static QString program();
    /// Launches the document as it stands, with the plan that was made of it; null: the command line plans.
    void launch(const Document& document, std::shared_ptr<const PlanOutcome> planned);
    /// Goes on with a run from its newest checkpoint.
    void resume(RunId run);
    /// The same until so many iterations in all are done.
    void extend(RunId run, int iterations);
    /// Another run begins at a checkpoint of that run, with the document's settings.
    void fork(RunId run, int iterations_done, const Document& document);
    /// Ends what is being started; `failed` says so. Once it has begun, it is stopped as a run is.
    void cancel();
    bool is_starting() const { return starting_; }
    /// What ends the next runs by themselves: names of `--stop-on`.
    void set_stop_on(QStringList names) { stop_on_ = std::move(names); }

Q_SIGNALS:
    void started(qint64 run);
    void failed(const QString& why);
    void starting_changed();

private:
    struct Job;
    struct Said;
    void prepare(std::function<Job()> work);
    void go_on(RunId run, QStringList arguments);
    void start(const Job& job);
    void look();
    void take(const Said& said);
    void set_starting(bool starting);
    void fail(const QString& why);

    FileWorker& files_;
    std::filesystem::path record_, folder_, log_;
    QStringList stop_on_;
    qint64 pid_ = 0;
    bool starting_ = false, cancelled_ = false;
    QTimer timer_;
};

}  // namespace skippipe
