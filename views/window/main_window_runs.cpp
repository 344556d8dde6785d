// SPDX-License-Identifier: GPL-3.0-or-later
// The main window's runs: launched, told what to do, followed; and this machine measured.
#include <algorithm>
#include <memory>
#include <utility>

#include <QInputDialog>
#include <QJsonDocument>
#include <QJsonObject>
#include <QScopedValueRollback>
#include <QStatusBar>

#include "core/record/checkpoints.h"
#include "core/record/import.h"
#include "views/runs/resuming.h"
#include "views/runs/run_list.h"
#include "views/theme/numbers.h"
#include "views/window/main_window.h"

namespace skippipe {
namespace {

std::string first_reason(const std::vector<ImportedRun>& runs) {
    for (const auto& run : runs)
        if (run.here == 0) return run.why;
    return {};
}

/// "4 runs compared, 3 of them hidden by the filter"
QString compared_words(const RunList& list) {
    const auto all = list.selected().size(), hidden = list.selected_out_of_sight();
    const QString words = QObject::tr("%1 runs compared").arg(all);
    if (hidden == 0) return words;
    return words + (hidden == all ? QObject::tr(", all hidden by the filter")
                                  : QObject::tr(", %1 of them hidden by the filter").arg(hidden));
}

}  // namespace

QString run_words(const RunInfo& run, bool is_simulated) {
    QString words = (is_simulated ? QObject::tr("Simulation %1, %2: iteration %3 of %4")
                                  : QObject::tr("Run %1, %2: iteration %3 of %4"))
                        .arg(run.id)
                        .arg(QString::fromStdString(run.planner))
                        .arg(run.iterations_done)
                        .arg(run.iterations);
    if (run.paused) return words + QObject::tr(", paused");
    if (run.iterations_done > 0 && run.machine_s > 0)
        words += QObject::tr(", about %1 left")
                     .arg(duration(run.machine_s / run.iterations_done * (run.iterations - run.iterations_done)));
    return words;
}

QString begun_words(RunId run) { return QObject::tr("Run %1 has begun").arg(run); }

void MainWindow::follow_pause(const RunInfo* run) {
    if (pause_asked_ && (run == nullptr || run->id != pause_asked_->first || run->paused == pause_asked_->second))
        pause_asked_.reset();
    // A run that ended before its time goes on by the same button as one that is held.
    const RunInfo* ended = run == nullptr && pages_->currentIndex() == watch ? feed_.run(watch_->run()) : nullptr;
    const bool can_resume = ended != nullptr && is_interrupted(*ended);
    bar_->set_pause(can_resume       ? TopBar::Pause::resume
                    : run == nullptr ? TopBar::Pause::impossible
                    : run->paused    ? TopBar::Pause::resume
                                     : TopBar::Pause::pause,
                    !can_resume && pause_asked_.has_value());
    if (can_resume) set_resume(bar_->pause_button(), ended, what_is_under_way());
}

void MainWindow::ask_pause(bool pause) {
    const RunInfo* run = feed_.running();
    if (run == nullptr) return;
    pause_asked_ = {run->id, pause};
    feed_.send(run->id, pause ? "pause" : "resume");
    follow_pause(run);
}

void MainWindow::follow_runs() {
    tell_changes();
    follow_subject();
    const RunInfo* run = feed_.running();
    follow_pause(run);
    progress_->setVisible(run != nullptr || prober_.is_measuring() || sweeper_.is_running());
    bar_->set_extend(run != nullptr);
    bar_->set_stop(run != nullptr || launch_when_planned_ || launcher_.is_starting() || prober_.is_measuring());
    if (run != nullptr) {
        progress_->setMaximum(std::max(run->iterations, 1));
        progress_->setValue(run->iterations_done);
        const auto known = feed_.data(run->id);
        status_->setText(run_words(*run, known != nullptr && is_simulation(*known)));
    } else if (prober_.is_measuring()) {
        progress_->setMaximum(0);
        status_->setText(tr("Measuring what this machine makes of the experiment: plans, then some seconds of work"));
    } else if (sweeper_.is_running()) {
        progress_->setMaximum(0);
        const QString planning = compare_->sweep().planning_words();
        status_->setText(tr("Sweep: %1").arg(planning.isEmpty() ? tr("the next run starts…") : planning));
    } else if (is_opening()) {
        status_->setText(tr("Reading %1…").arg(QString::fromStdString(opening_.filename().string())));
    } else if (launcher_.is_starting()) {
        status_->setText(tr("Starting the run…"));
    } else if (launch_when_planned_) {
        status_->setText(tr("%1; the run starts after it, unless you stop it").arg(planning_words()));
    } else {
        status_->setText(feed_.runs().empty()
                             ? tr("Nothing runs")
                             : tr("Nothing runs; the last run %1").arg(state_words(feed_.runs().front()).toLower()));
    }
    const RunId shown = run != nullptr ? run->id : watch_->run();
    const auto data = feed_.data(shown);
    const bool wall = data != nullptr && data->experiment.execution.clock == Clock::wall;
    times_->setText(
        data == nullptr ? QString{}
        : wall
            ? tr("Machine time %1").arg(duration(data->info.machine_s))
            : tr("Network time %1    Machine time %2").arg(duration(data->network_s), duration(data->info.machine_s)));
    if (run != nullptr && watch_->run() == 0) watch_->show_run(run->id);
    follow_launch();
}

/// A run that is watched and compared is looked at in one stretch of time, wherever somebody moves it.
void MainWindow::share_time(bool from_compare) {
    if (shares_time_) return;
    const QScopedValueRollback shares(shares_time_, true);
    const auto compared = compare_->list().selected();
    const bool both = std::find(compared.begin(), compared.end(), watch_->run()) != compared.end();
    auto& watched = watch_->zoom();
    if (!from_compare)
        return compare_->set_time(both && !watched.follows() ? std::optional(std::pair(watched.begin(), watched.end()))
                                                             : std::nullopt);
    if (!both) return;
    watched.set_follows(false);
    watched.show(compare_->zoom().begin(), compare_->zoom().end());
}

QString MainWindow::what_is_under_way() const {
    if (launcher_.is_starting()) return tr("A run is being started");
    if (prober_.is_measuring()) return tr("This machine is being measured; a run would disturb it");
    if (launch_when_planned_) return tr("The run starts when its plan is found");
    if (sweeper_.is_running()) return tr("A sweep goes on; cancel it first");
    if (const auto* run = feed_.running()) return tr("Run %1 goes on; stop it first").arg(run->id);
    return {};
}

QString MainWindow::why_not_launch() const {
    if (QString other = what_is_under_way(); !other.isEmpty()) return other;
    if (const auto refused = document_.refusals(); !refused.empty())
        return tr("A field is refused. %1").arg(QString::fromStdString(refused.front().what));
    for (const auto& fault : document_.faults())
        if (fault.severity == Fault::Severity::error)
            return tr("Cannot run: %1").arg(QString::fromStdString(fault.what));
    if (const auto outcome = plans_.outcome();
        outcome && !outcome->has_plan && !plans_.is_busy() && !outcome->faults.empty())
        return tr("Cannot run: %1").arg(QString::fromStdString(outcome->faults.front().what));
    return {};
}

void MainWindow::follow_plan() {
    if (launch_when_planned_ && !plans_.is_busy()) {
        launch_when_planned_ = false;
        launch();
        follow_runs();
    }
    follow_launch();
}

/// The run that is watched, or those that are compared.
void MainWindow::follow_subject() {
    const auto chosen =
        pages_->currentIndex() == compare ? compare_->list().selected() : std::vector<RunId>{watch_->run()};
    const RunInfo* run = chosen.size() == 1 ? feed_.run(chosen.front()) : nullptr;
    const auto& list = compare_->list();
    // Unasked runs are those worth comparing, as long as no newer run or other baseline says otherwise.
    auto compared = list.selected(), worth = worth_comparing(feed_.runs(), list.baseline());
    std::sort(compared.begin(), compared.end());
    std::sort(worth.begin(), worth.end());
    if (compared != worth || list.selected_out_of_sight() > 0) preselected_.clear();
    bar_->set_subject(chosen.size() > 1      ? preselected_.empty()
                                                   ? compared_words(list)
                                                   : preselected_words(feed_.runs(), preselected_, list.baseline())
                           : run != nullptr ? run_title(*run)
                      : feed_.runs().empty() ? (is_starting() ? tr("First run") : tr("No run yet"))
                                             : tr("No run selected"));
}

bool MainWindow::is_starting() const { return launch_when_planned_ || launcher_.is_starting(); }

QString MainWindow::planning_words() const {
    return plans_.progress() > 0 ? tr("Searching for the plan, %1").arg(whole_percent(plans_.progress()))
                                 : tr("Searching for the plan");
}

/// What the first run waits for stands where it will be seen.
void MainWindow::follow_start() {
    std::optional<WatchPage::Start> start;
    if (launcher_.is_starting())
        start = WatchPage::Start{tr("Starting the run…")};
    else if (launch_when_planned_)
        start = WatchPage::Start{planning_words(), plans_.progress() > 0 ? plans_.progress() : -1};
    watch_->show_start(start, why_not_launch());
    if (launch_when_planned_)
        planning_tick_.start();
    else
        planning_tick_.stop();
}

void MainWindow::follow_launch() {
    follow_start();
    bar_->set_launch(why_not_launch(), launcher_.is_starting() ? TopBar::Launching::starts
                                       : launch_when_planned_  ? TopBar::Launching::searches
                                                               : TopBar::Launching::no);
    design_->canvas().set_can_launch(why_not_launch().isEmpty());
    compare_->list().set_hindrance(what_is_under_way());
    compare_->sweep().set_hindrance(what_is_under_way());
}

void MainWindow::resume_run(qint64 run) {
    if (const QString why = what_is_under_way(); !why.isEmpty()) return banner_->show_message(why);
    launcher_.resume(run);
}

void MainWindow::extend_run(RunId id, int iterations) {
    const RunInfo* run = feed_.run(id);
    if (run == nullptr) return;
    if (iterations <= run->iterations)
        return banner_->show_message(tr("Run %1 has %2 iterations already").arg(id).arg(run->iterations));
    if (run->state == RunState::running) {
        feed_.send(id, "extend",
                   QJsonDocument(QJsonObject{{"iterations", iterations}}).toJson(QJsonDocument::Compact).toStdString());
        return statusBar()->showMessage(tr("Run %1 was told to go on to %2 iterations").arg(id).arg(iterations), 8000);
    }
    if (const QString why = what_is_under_way(); !why.isEmpty()) return banner_->show_message(why);
    launcher_.extend(id, iterations);
}

namespace {

/// A run that goes on may write its first one yet.
QString no_checkpoint_words(RunId run, const RunData* data) {
    const int every = data != nullptr ? data->experiment.training.checkpoint_every : 0;
    if (every > 0 && data->info.state == RunState::running && data->info.iterations_done < every)
        return MainWindow::tr("Run %1 has no checkpoint yet: it writes the first after %2 iterations")
            .arg(run)
            .arg(every);
    return MainWindow::tr("Run %1 has no checkpoint: it wrote none (Training, Checkpoint every)").arg(run);
}

}  // namespace

/// A finished run's checkpoints are looked for on the disk when they are wanted; that it writes none is known before.
QString MainWindow::why_no_checkpoint(const RunInfo& run) const {
    const auto data = feed_.data(run.id);
    if (is_interrupted(run) && run.checkpoint == 0) return no_checkpoint_words(run.id, data.get());
    if (data == nullptr) return {};
    const int every = data->experiment.training.checkpoint_every;
    const bool writes_first_yet = run.state == RunState::running && run.iterations_done < every;
    return every <= 0 || writes_first_yet ? no_checkpoint_words(run.id, data.get()) : QString{};
}

QString MainWindow::why_not_extend(RunId id) const {
    const RunInfo* run = feed_.run(id);
    if (run == nullptr) return tr("There is no run to extend: launch one first");
    if (run->state == RunState::running) return {};
    const QString why = why_no_checkpoint(*run);
    return why.isEmpty() ? what_is_under_way() : why;
}

QString MainWindow::why_not_fork(RunId id) const {
    const RunInfo* run = feed_.run(id);
    if (run == nullptr) return tr("There is no run to fork: launch one first");
    const QString why = why_no_checkpoint(*run);
    return why.isEmpty() ? why_not_launch() : why;
}

void MainWindow::ask_extension(RunId id) {
    const RunInfo* run = feed_.run(id);
    if (run == nullptr) return banner_->show_message(why_not_extend(0));
    constexpr int least_width = 380;  // its title is whole
    QInputDialog dialog(this);
    dialog.setWindowTitle(tr("Extend run %1").arg(id));
    dialog.setLabelText(
        run->state == RunState::running
            ? tr("Iterations in all; it has %1").arg(run->iterations)
            : tr("Iterations in all; it has %1 and goes on from its newest checkpoint").arg(run->iterations));
    dialog.setInputMode(QInputDialog::IntInput);
    dialog.setIntRange(run->iterations + 1, 1'000'000'000);
    dialog.setIntValue(run->iterations + std::max(run->iterations / 2, 1));
    dialog.setMinimumWidth(least_width);
    if (dialog.exec() == QDialog::Accepted) extend_run(id, dialog.intValue());
}

void MainWindow::fork_run(RunId run, int iterations_done) {
    if (const QString why = why_not_launch(); !why.isEmpty()) return banner_->show_message(why);
    launcher_.fork(run, iterations_done, document_);
}

/// Which ones there are lies on the disk.
void MainWindow::ask_checkpoint(RunId run) {
    const auto found = std::make_shared<std::vector<CheckpointFolder>>();
    feed_.ask([found, run, record = feed_.file()](Reader&) { *found = list_checkpoints(record, run); },
              [this, found, run](const QString& fault) {
                  if (!fault.isEmpty()) return banner_->show_message(fault);
                  if (found->empty()) return banner_->show_message(no_checkpoint_words(run, feed_.data(run).get()));
                  QStringList choices;
                  for (const auto& one : *found) choices << tr("After %1 iterations").arg(one.iterations_done);
                  bool wanted = false;
                  const QString chosen = QInputDialog::getItem(
                      this, tr("Fork run %1").arg(run),
                      tr("Another run begins at this checkpoint, with the settings of the open experiment"), choices, 0,
                      false, &wanted);
                  if (wanted)
                      fork_run(run, (*found)[static_cast<std::size_t>(choices.indexOf(chosen))].iterations_done);
              });
}

void MainWindow::launch() {
    if (const QString why = why_not_launch(); !why.isEmpty()) {
        banner_->show_message(why);
        return;
    }
    // What is seen is what is launched: a search that goes on is waited for.
    launch_when_planned_ = plans_.is_busy();
    if (launch_when_planned_) {
        acts_before_run_ = input_.acts();
        follow_runs();
        return;
    }
    recovery_.write();
    launcher_.launch(document_, plans_.ready());
}

/// Who did something else since the run was asked for is not taken from it.
void MainWindow::show_begun(RunId run) {
    const bool waits = std::exchange(acts_before_run_, std::nullopt).value_or(input_.acts()) == input_.acts();
    watch_->show_run(run);
    watch_->show_selection();
    design_->canvas().end_first_steps();
    if (waits) return show_workspace(watch);
    if (pages_->currentIndex() != watch)
        banner_->show_message(begun_words(run), {{tr("Watch it"), [this] { show_workspace(watch); }}});
    tell_changes();  // a short one may be over by now
}

void MainWindow::measure() {
    if (const QString why = why_not_launch(); !why.isEmpty()) {
        banner_->show_message(why);
        return;
    }
    prober_.measure(document_);
}

void MainWindow::take_measured_values(const Experiment& measured) {
    const auto again = Banner::Action{tr("Measure again"), [this] { measure(); }};
    if (document_.experiment() != prober_.before()) {
        banner_->show_message(tr("The experiment was edited while it was measured; it was left as it is"), {again});
        return;
    }
    document_.edit(tr("Measure"), [&](Experiment& e) { take_measured(e, measured); });
    banner_->show_message(Prober::keeps_links(prober_.before())
                              ? tr("The nodes have the speeds measured on this machine now; links are as drawn, as "
                                   "this experiment simulates them")
                              : tr("Nodes and links have the values measured on this machine now"),
                          {{tr("Undo"), [this] { document_.undo_stack().undo(); }}});
}

void MainWindow::import_record(const std::filesystem::path& other) {
    const auto name = QString::fromStdString(other.filename().string());
    const auto imported = std::make_shared<std::vector<ImportedRun>>();
    banner_->show_message(tr("Importing runs of %1…").arg(name));
    files_.ask(
        {}, [other, imported, record = feed_.file()] { *imported = import_runs(other, record); }, this,
        [this, imported, name](const QString& fault) {
            const auto added =
                std::count_if(imported->begin(), imported->end(), [](const auto& run) { return run.here != 0; });
            const auto left_out = static_cast<std::ptrdiff_t>(imported->size()) - added;
            banner_->show_message(!fault.isEmpty() ? tr("Nothing was imported: %1").arg(fault)
                                  : left_out == 0  ? tr("%1 runs of %2 were imported").arg(added).arg(name)
                                                  : tr("%1 runs of %2 were imported, %3 left out: the first because %4")
                                                        .arg(added)
                                                        .arg(name)
                                                        .arg(left_out)
                                                        .arg(QString::fromStdString(first_reason(*imported))));
            Q_EMIT imported_runs(static_cast<int>(added));
        });
}

}  // namespace skippipe
