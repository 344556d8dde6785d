// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/main_window.h"

#include <utility>

#include <QStatusBar>
#include <QToolButton>
#include <QVBoxLayout>

#include "views/theme/icons.h"
#include "views/theme/theme.h"

namespace skippipe {
namespace {
constexpr int planning_tick_ms = 250;
}

MainWindow::MainWindow(const PlannerRegistry& planners, std::filesystem::path record, QWidget* parent)
    : QMainWindow(parent),
      plans_(document_, planners),
      feed_(record),
      recovery_(document_, files_, record.parent_path() / "recovery"),
      launcher_(files_, record, record.parent_path() / "launched"),
      prober_(files_, record.parent_path() / "launched"),
      sweeper_(files_, record, record.parent_path() / "launched"),
      bar_(new TopBar(document_, planners)),
      banner_(new Banner),
      pages_(new QStackedWidget),
      design_(new DesignPage(document_, selection_, plans_)),
      watch_(new WatchPage(feed_, selection_)),
      compare_(new ComparePage(feed_, selection_, document_, planners, sweeper_)),
      rail_(new QButtonGroup(this)),
      status_(new QLabel),
      times_(new QLabel),
      progress_(new QProgressBar) {
    setWindowTitle(tr("SkipPipe Studio"));
    resize(1280, 800);
    setAcceptDrops(true);
    auto* central = new QWidget;
    auto* row = new QHBoxLayout(central);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(0);
    make_rail(*row);
    auto* column = new QVBoxLayout;
    column->setSpacing(0);
    column->addWidget(bar_);
    column->addWidget(pages_, 1);
    row->addLayout(column, 1);
    for (QWidget* page :
         {static_cast<QWidget*>(design_), static_cast<QWidget*>(watch_), static_cast<QWidget*>(compare_)})
        pages_->addWidget(page);
    setCentralWidget(central);
    banner_->lie_over(*bar_);
    statusBar()->setSizeGripEnabled(false);
    status_->setContentsMargins(size::gap, 0, 0, 0);
    times_->setContentsMargins(0, 0, size::gap, 0);
    progress_->setTextVisible(false);
    progress_->setFixedWidth(120);
    progress_->hide();
    statusBar()->addWidget(status_);
    statusBar()->addWidget(progress_);
    statusBar()->addPermanentWidget(times_);
    make_actions();
    gather_keys();

    connect(&document_, &Document::replacing, &selection_, &SelectionModel::clear);
    connect(&document_, &Document::replaced, this, [this] {
        document_reader_.forget();
        opening_.clear();
        follow_runs();
    });
    connect(bar_, &TopBar::launch_requested, this, &MainWindow::launch);
    connect(bar_, &TopBar::setting_wanted, design_, &DesignPage::show_setting);
    connect(watch_, &WatchPage::launch_requested, this, &MainWindow::launch);
    connect(watch_, &WatchPage::stop_requested, &bar_->stop_button(), &QPushButton::click);
    planning_tick_.setSingleShot(true);
    planning_tick_.setInterval(planning_tick_ms);
    connect(&planning_tick_, &QTimer::timeout, this, &MainWindow::follow_runs);
    connect(watch_, &WatchPage::run_changed, this, &MainWindow::follow_runs);
    connect(&watch_->zoom(), &TimeZoom::changed, this, [this] { share_time(false); });
    connect(&compare_->list(), &RunList::selection_changed, this, [this] { share_time(false); });
    connect(&compare_->list(), &RunList::selection_changed, this, &MainWindow::follow_subject);
    connect(compare_, &ComparePage::time_moved, this, [this] { share_time(true); });
    connect(&compare_->list(), &RunList::launch_requested, this, &MainWindow::launch);
    connect(bar_, &TopBar::stop_requested, this, [this] {
        if (std::exchange(launch_when_planned_, false)) {
            acts_before_run_.reset();
            return follow_runs();
        }
        if (launcher_.is_starting()) return launcher_.cancel();
        if (prober_.is_measuring()) return prober_.cancel();
        if (const auto* run = feed_.running()) feed_.send(run->id, "stop");
    });
    connect(bar_, &TopBar::pause_requested, this, [this] { ask_pause(true); });
    connect(bar_, &TopBar::resume_requested, this,
            [this] { feed_.running() != nullptr ? ask_pause(false) : resume_run(watch_->run()); });
    connect(bar_, &TopBar::extend_requested, this, [this] {
        if (const auto* run = feed_.running()) ask_extension(run->id);
    });
    connect(design_, &DesignPage::template_requested, this, [this](const QString& name) {
        if (may_lose_document(name.isEmpty() ? tr("an empty canvas is shown")
                                             : tr("opening %1").arg(Palette::words_of(name))))
            open_template(name);
        design_->canvas().setFocus();  // where its keys count
    });
    connect(design_, &DesignPage::shape_requested, this, [this](Shape shape, int nodes, quint64 seed) {
        if (may_lose_document(tr("a new network is drawn"))) document_.start_new(make_shape(shape, nodes, seed));
        design_->canvas().setFocus();
    });
    connect(&compare_->list(), &RunList::watch_requested, this, [this](qint64 run) {
        watch_->show_run(run);
        show_workspace(watch);
    });
    connect(watch_, &WatchPage::told, this, [this](const QString& what) { statusBar()->showMessage(what, 8000); });
    connect(&compare_->list(), &RunList::resume_requested, this, &MainWindow::resume_run);
    connect(&compare_->list(), &RunList::extend_requested, this, &MainWindow::ask_extension);
    connect(&compare_->list(), &RunList::fork_requested, this, &MainWindow::ask_checkpoint);
    connect(&compare_->list(), &RunList::removed, this, [this](const QString& words) {
        banner_->tell(words, {{tr("Undo"), [this] { compare_->list().undo_removal(); }}},
                      [this] { compare_->list().remove_now(); });
    });
    connect(&compare_->list(), &RunList::restored, banner_, &Banner::dismiss);
    connect(&compare_->list(), &RunList::report_requested, this, &MainWindow::ask_report);
    connect(&compare_->worth(), &WorthPanel::prices_requested, this, [this] {
        show_workspace(design);
        selection_.clear();
        design_->inspector().show_field("/prices/node_hour");
    });
    connect(compare_, &ComparePage::report_requested, this, &MainWindow::ask_report);
    connect(&launcher_, &Launcher::started, this, [this](qint64 run) {
        feed_.poll();
        show_begun(run);
    });
    connect(&launcher_, &Launcher::failed, this, [this](const QString& why) {
        acts_before_run_.reset();
        banner_->show_message(tr("The run did not start: %1").arg(why));
    });
    connect(&launcher_, &Launcher::starting_changed, this, [this] {
        if (launcher_.is_starting() && !acts_before_run_) acts_before_run_ = input_.acts();
        follow_runs();
    });
    connect(&design_->failures(), &FailureEditor::told, banner_,
            [this](const QString& what) { banner_->show_message(what); });
    connect(design_, &DesignPage::told, this, [this](const QString& what) { statusBar()->showMessage(what, 8000); });
    connect(design_, &DesignPage::measure_requested, this, &MainWindow::measure);
    connect(design_, &DesignPage::launch_requested, this, &MainWindow::launch);
    connect(design_, &DesignPage::open_again_wanted, this, [this] {
        if (!may_lose_document(tr("the file is opened again"))) return;
        banner_->dismiss();  // it spoke of the file as it was
        open(document_.file());
    });
    connect(&prober_, &Prober::measured, this, &MainWindow::take_measured_values);
    connect(&prober_, &Prober::failed, this,
            [this](const QString& why) { banner_->show_message(tr("Nothing was measured: %1").arg(why)); });
    connect(&prober_, &Prober::measuring_changed, this, [this] {
        design_->set_measuring(prober_.is_measuring());
        follow_runs();
    });
    connect(&sweeper_, &Sweeper::running_changed, this, &MainWindow::follow_runs);
    connect(&compare_->sweep(), &SweepPanel::progressed, this, &MainWindow::follow_runs, Qt::QueuedConnection);
    connect(&feed_, &RunFeed::runs_changed, this, &MainWindow::follow_runs);
    connect(&feed_, &RunFeed::run_grew, this, &MainWindow::follow_runs);
    connect(&feed_, &RunFeed::error_changed, this, [this] {
        if (!feed_.error().isEmpty()) banner_->show_message(tr("The record cannot be read: %1").arg(feed_.error()));
    });
    connect(&feed_, &RunFeed::refused, this, [this](const QString& why) {
        pause_asked_.reset();
        banner_->show_message(why);
        follow_runs();
    });
    connect(&recovery_, &DocumentRecovery::failed, this, [this](const QString& why) {
        banner_->show_message(tr("Unsaved work cannot be kept for the case of a crash: %1").arg(why));
    });
    connect(&document_, &Document::changed, this, &MainWindow::follow_launch);
    connect(&document_, &Document::faults_changed, this, &MainWindow::follow_launch);
    connect(&document_, &Document::file_changed, this, &MainWindow::follow_document);
    connect(&plans_, &PlanService::planned, this, &MainWindow::follow_plan);
    show_workspace(design);
    follow_document();
    follow_launch();
    follow_runs();
}

MainWindow::~MainWindow() {
    delete takeCentralWidget();  // the pages use the members that go next
}

void MainWindow::make_rail(QHBoxLayout& row) {
    auto* rail = new QWidget;
    rail->setObjectName("rail");
    rail->setAttribute(Qt::WA_StyledBackground);
    rail->setFixedWidth(size::rail);
    auto* column = new QVBoxLayout(rail);
    column->setContentsMargins(0, size::gap, 1, 0);
    column->setSpacing(size::unit);
    const std::pair<QString, Icon> entries[] = {
        {tr("Design"), Icon::design}, {tr("Watch"), Icon::watch}, {tr("Compare"), Icon::compare}};
    int id = 0;
    for (const auto& [words, which] : entries) {
        auto* button = new QToolButton;
        button->setText(words);
        button->setIcon(icon(which));
        button->setIconSize(QSize(20, 20));
        button->setToolButtonStyle(Qt::ToolButtonTextUnderIcon);
        button->setCheckable(true);
        button->setToolTip(tr("%1 (Ctrl+%2)").arg(words).arg(id + 1));
        rail_->addButton(button, id++);
        column->addWidget(button);
    }
    column->addStretch();
    connect(rail_, &QButtonGroup::idClicked, this, [this](int page) { show_workspace(static_cast<Workspace>(page)); });
    row.addWidget(rail);
}

void MainWindow::show_workspace(Workspace workspace) {
    if (workspace == watch && watch_->run() == 0 && !feed_.runs().empty())
        watch_->show_run(feed_.running() != nullptr ? feed_.running()->id : feed_.runs().front().id);
    if (workspace == compare && compare_->list().selected().empty() && !feed_.runs().empty()) {
        preselected_ = worth_comparing(feed_.runs(), compare_->list().baseline());
        compare_->list().select(preselected_);
    }
    pages_->setCurrentIndex(workspace);
    rail_->button(workspace)->setChecked(true);
    bar_->set_is_in_sight(workspace == design);
    follow_subject();
    follow_pause(feed_.running());
    // Keys go to what the workspace is about.
    QWidget* main_views[] = {&design_->canvas(), &watch_->timeline(), &compare_->list().view()};
    main_views[workspace]->setFocus();
}

void MainWindow::follow_document() {
    const auto file = document_.file().filename();
    setWindowTitle(tr("%1[*] – SkipPipe Studio")
                       .arg(file.empty() ? QString::fromStdString(document_.experiment().name)
                                         : QString::fromStdString(file.string())));
    setWindowModified(document_.is_modified());
    remember_document();
    follow_launch();
}

}  // namespace skippipe
