// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <array>
#include <filesystem>
#include <optional>
#include <set>

#include <QButtonGroup>
#include <QLabel>
#include <QMainWindow>
#include <QProgressBar>
#include <QTimer>
#include <QStackedWidget>

#include "views/compare/compare_page.h"
#include "views/document/document.h"
#include "views/document/file_reader.h"
#include "views/document/file_worker.h"
#include "views/document/recovery.h"
#include "views/document/selection_model.h"
#include "views/plan/plan_service.h"
#include "views/runs/launcher.h"
#include "views/runs/prober.h"
#include "views/runs/run_feed.h"
#include "views/runs/sweeper.h"
#include "views/window/banner.h"
#include "views/window/command_palette.h"
#include "views/window/design_page.h"
#include "views/window/input_watch.h"
#include "views/window/key_bindings.h"
#include "views/window/view_keys.h"
#include "views/window/top_bar.h"
#include "views/window/watch_page.h"

namespace skippipe {

enum class ThemeChoice { system, light, dark };
/// Of "system", "light", "dark"; anything else is the system's.
ThemeChoice theme_choice(const QString& name);
bool is_dark(ThemeChoice choice);

/// The window: three workspaces on one document, one selection and one record.
class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    enum Workspace { design, watch, compare };
    enum class ExportFormat { spans_csv, metrics_csv, chrome_trace, svg };

    /// `record` is the file that runs write to; unsaved work and launched experiments are kept beside it.
    MainWindow(const PlannerRegistry& planners, std::filesystem::path record, QWidget* parent = nullptr);
    ~MainWindow() override;

    Document& document() { return document_; }
    SelectionModel& selection() { return selection_; }
    PlanService& plans() { return plans_; }
    RunFeed& feed() { return feed_; }
    DesignPage& design_page() { return *design_; }
    WatchPage& watch_page() { return *watch_; }
    ComparePage& compare_page() { return *compare_; }
    TopBar& bar() { return *bar_; }
    KeyBindings& keys() { return keys_; }
    Banner& banner() { return *banner_; }

    void show_workspace(Workspace workspace);
    /// Opens a file once it is read; says so in the banner where that fails. The last that was asked for counts.
    void open(const std::filesystem::path& file);
    /// Opens the document that was worked on last, or Quick start where it cannot be read; false where there was none.
    bool open_last();
    bool is_opening() const { return !opening_.empty(); }
    /// Opens a copy of a bundled experiment ("quick-start"); empty: an empty canvas.
    void open_template(const QString& name);
    bool save();
    bool save_as();
    void launch();
    /// Measures what the experiment's nodes and links are here, as one edit that can be undone.
    void measure();
    Prober& prober() { return prober_; }
    Sweeper& sweeper() { return sweeper_; }
    /// Why Launch is off; empty: it is on.
    QString why_not_launch() const;
    /// Why no run can start now, whatever it is.
    QString what_is_under_way() const;
    void resume_run(qint64 run);
    /// Trains it for so many iterations in all: one that goes on is told, any other goes on from its newest checkpoint.
    void extend_run(RunId run, int iterations);
    /// Another run begins at that checkpoint, with the settings of the open document.
    void fork_run(RunId run, int iterations_done);
    /// The run that exports take: the first selected where runs are compared, else the one that is watched; 0: none.
    RunId run_in_sight() const;
    /// Writes a run into a file, away from the window's thread; the banner says when it is there, or why not.
    void export_run(RunId id, ExportFormat format, const std::filesystem::path& file);
    /// The same for a picture of the workspace as it is now.
    void export_picture(const QString& file);
    /// Writes these runs, the baseline first, as one page that stands alone: PDF where the file's name ends
    /// so, else HTML; `exported` says so.
    void export_report(const std::vector<RunId>& runs, const QString& question, const std::filesystem::path& file);
    /// Copies another record's runs into this one, away from the window's thread; `imported_runs` and the banner say
    /// so.
    void import_record(const std::filesystem::path& other);
    /// And for the charts of curves.
    void export_curves(const CurvePanel& curves, CurveFormat format, const QString& file);
    void set_theme(ThemeChoice choice);
    ThemeChoice theme_choice_now() const { return theme_; }
    /// Of a window that nobody has sized yet, on a screen with so much room: what is its own, its frame left out.
    static QSize first_size(QSize room);
    /// Takes theme, place and panes from this file and keeps them there; without it nothing is remembered. A given
    /// theme goes before the file's.
    void remember_in(const QString& file, std::optional<ThemeChoice> theme = {});
    /// What ends the next runs by themselves: names of `--stop-on`.
    QStringList stop_rules() const;
    /// Offers unsaved work of windows that are gone.
    void offer_recovery();

Q_SIGNALS:
    void opened(bool shown);  ///< else the banner says why not
    void exported(const QString& file, bool written);
    void imported_runs(int added);
    void noted(const QString& words);  ///< the desktop was told, as the window is not in front

protected:
    void closeEvent(QCloseEvent*) override;
    void dragEnterEvent(QDragEnterEvent*) override;
    void dropEvent(QDropEvent*) override;

private:
    void make_rail(QHBoxLayout& row);
    void make_actions();
    void make_export_menu(QMenu& file);
    void ask_curve_file(const CurvePanel& curves, CurveFormat format);
    void write_picture(const QString& file, std::function<QByteArray()> make);
    void add_canvas_actions(QMenu& edit);
    void make_still_entry(QMenu& view);
    void make_theme_menu(QMenu& view);
    void make_recent_menu(QMenu& file);
    void remember_file(const std::filesystem::path& file);
    void remember_document() const;
    QStringList recent_files() const;
    /// Charts that are drawn again after a restart, by the name they are kept under.
    std::array<std::pair<const char*, CurvePanel*>, 2> curve_panels() const;
    bool may_leave_run();
    void store_layout() const;
    QAction* add_action(QMenu& menu, const QString& text, const QKeySequence& keys, const std::function<void()>& run);
    enum class Finds { everything, places };
    std::vector<PaletteEntry> possible_actions();
    void add_reachable(std::vector<PaletteEntry>& entries);
    void show_command_palette(Finds finds);
    void show_cheat_sheet();
    void gather_keys();
    void ask_report();
    void tell_written(const QString& words, const QString& file);
    void follow_runs();
    void follow_subject();
    void tell_changes();
    void tell_bad_end(const QString& words, RunId run);
    void note(const QString& words, const RunInfo& run);
    void make_stop_menu(QMenu& run);
    void set_stop_rules(const QStringList& names);
    void recall_stop_rules();
    void follow_pause(const RunInfo* run);
    void ask_pause(bool pause);
    void ask_extension(RunId run);
    void add_run_changes(QMenu& menu);
    QString why_no_checkpoint(const RunInfo& run) const;
    QString why_not_extend(RunId id) const;
    QString why_not_fork(RunId id) const;
    /// The one that goes on, else the one in sight.
    RunId run_to_extend() const { return feed_.running() != nullptr ? feed_.running()->id : run_in_sight(); }
    void ask_checkpoint(RunId run);
    void follow_launch();
    void follow_start();
    bool is_starting() const;
    QString planning_words() const;
    void show_begun(RunId run);
    void take_measured_values(const Experiment& measured);
    void follow_plan();
    void share_time(bool from_compare);
    void follow_document();
    bool may_lose_document(const QString& before);
    static QString opening(const std::filesystem::path& file);
    void take(const std::filesystem::path& dropped);
    bool show_opened(DocumentFile file, const Experiment& before);
    bool write_to(const std::filesystem::path& file);
    void offer(const FoundWork& work);

    Document document_;
    SelectionModel selection_;
    PlanService plans_;
    RunFeed feed_;
    FileReader document_reader_, recent_reader_, drop_reader_;
    std::filesystem::path opening_;  ///< is being read; empty: none
    FileWorker files_;               ///< those of the window itself, beside the record
    DocumentRecovery recovery_;
    Launcher launcher_;
    Prober prober_;
    Sweeper sweeper_;
    TopBar* bar_;
    Banner* banner_;
    QStackedWidget* pages_;
    DesignPage* design_;
    WatchPage* watch_;
    ComparePage* compare_;
    QButtonGroup* rail_;
    QLabel *status_, *times_;
    QProgressBar* progress_;
    std::map<RunId, RunState> known_;
    std::map<RunId, std::string> warned_;
    std::set<RunId> silent_;  ///< that gave no sign of life and were told of
    bool shares_time_ = false;
    std::vector<RunId> preselected_;  ///< runs compared because nobody had chosen any; empty: somebody has
    std::optional<std::pair<RunId, bool>> pause_asked_;  ///< a run was told to pause, or to resume
    bool launch_when_planned_ = false;
    QTimer planning_tick_;  ///< while a run waits for its plan
    InputWatch input_;
    std::optional<int> acts_before_run_;  ///< what had been done when a run was asked for; none is: nothing
    QString settings_file_;
    KeyBindings keys_;
    QStringList used_entries_;  ///< of the palette, the last one first
    std::unique_ptr<ViewKeys> view_keys_;
    ThemeChoice theme_ = ThemeChoice::system;
    std::array<QAction*, 3> theme_actions_{};
    QAction* still_ = nullptr;
    std::array<QAction*, 3> stop_actions_{};
};

/// What runs and how long it still takes: the status bar's words. What computes nothing is a simulation.
QString run_words(const RunInfo& run, bool is_simulated = false);

/// What the banner says of a run that began while somebody did something else.
QString begun_words(RunId run);

}  // namespace skippipe
