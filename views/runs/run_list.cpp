// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/run_list.h"

#include <algorithm>

#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include "views/runs/resuming.h"
#include "views/theme/below_delegate.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {

constexpr int note_rows = 2;
constexpr int note_pause_ms = 500, removal_ms = 10'000;

}  // namespace

RunList::RunList(RunFeed& feed, QWidget* parent)
    : QWidget(parent),
      feed_(feed),
      view_(new QTableView),
      words_(new QLineEdit),
      tags_(new QLineEdit),
      note_(new QPlainTextEdit),
      pin_(new QPushButton(tr("Baseline"))),
      resume_(new QPushButton(tr("Resume"))),
      watch_(new QPushButton(tr("Watch"))),
      empty_(new QWidget),
      empty_words_(new QLabel) {
    filter_.setSourceModel(&table_);
    view_->setModel(&filter_);
    view_->setObjectName("runs");
    make_plain(*view_, tr("Runs"));
    view_->setSortingEnabled(true);
    view_->sortByColumn(RunTable::number, Qt::DescendingOrder);
    view_->setSelectionBehavior(QAbstractItemView::SelectRows);
    view_->setSelectionMode(QAbstractItemView::ExtendedSelection);
    view_->setWordWrap(false);
    names_ = new BelowDelegate(RunTable::told_role, view_, RunTable::told_colour_role);
    names_->go_across(*view_, RunTable::name);
    view_->setItemDelegate(names_);
    view_->verticalHeader()->setDefaultSectionSize(BelowDelegate::row);
    view_->setIconSize({20, 12});
    view_->horizontalHeader()->setHighlightSections(false);
    view_->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    const int widths[] = {28, 52, 76, 104, 104, 84, 96, 76, 76, 116, 96};
    for (int i = 0; i < RunTable::columns; ++i) view_->setColumnWidth(i, widths[i]);
    view_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    offer_columns();
    words_->setPlaceholderText(tr("Filter by name, planner, state or tag"));
    words_->setToolTip(tr("Archived runs are listed where the filter says \"archived\", or from a run's menu"));
    words_->setClearButtonEnabled(true);
    words_->setObjectName("run_filter");
    words_->setAccessibleName(tr("Filter of runs"));
    tags_->setPlaceholderText(tr("Tags, separated by commas"));
    tags_->setAccessibleName(tr("Tags"));
    tags_->setObjectName("run_tags");
    note_->setPlaceholderText(tr("Note on the selected run"));
    note_->setAccessibleName(tr("Note"));
    note_->setObjectName("run_note");
    note_->setTabChangesFocus(true);
    note_->setFixedHeight(note_rows * note_->fontMetrics().lineSpacing() + 2 * size::gap + size::unit);
    note_pause_.setSingleShot(true);
    note_pause_.setInterval(note_pause_ms);
    removal_.setSingleShot(true);
    removal_.setInterval(removal_ms);
    connect(&removal_, &QTimer::timeout, this, &RunList::remove_now);
    view_->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(view_, &QWidget::customContextMenuRequested, this, &RunList::offer_menu);

    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, size::gap, 0, 0);
    column->setSpacing(size::gap);
    auto* top = new QHBoxLayout;
    top->setContentsMargins(size::gap, 0, size::gap, 0);
    top->addWidget(words_);
    column->addLayout(top);
    column->addWidget(view_, 1);
    column->addWidget(empty_, 1);
    auto* middle = new QVBoxLayout(empty_);
    empty_words_->setAlignment(Qt::AlignCenter);
    empty_words_->setWordWrap(true);
    empty_words_->setProperty("role", "secondary");
    auto* launch = new QPushButton(tr("Launch the experiment"));
    middle->addStretch();
    middle->addWidget(empty_words_);
    middle->addWidget(launch, 0, Qt::AlignHCenter);
    middle->addStretch();
    auto* buttons = new QHBoxLayout;
    buttons->setContentsMargins(size::gap, 0, size::gap, 0);
    buttons->setSpacing(size::gap);
    buttons->addWidget(pin_);
    buttons->addStretch();
    buttons->addWidget(resume_);
    buttons->addWidget(watch_);
    column->addLayout(buttons);
    auto* last = new QVBoxLayout;
    last->setContentsMargins(size::gap, 0, size::gap, size::gap);
    last->setSpacing(size::gap);
    last->addWidget(tags_);
    last->addWidget(note_);
    column->addLayout(last);

    connect(&feed, &RunFeed::runs_changed, this, &RunList::follow);
    connect(&feed, &RunFeed::error_changed, this, &RunList::follow);
    connect(words_, &QLineEdit::textChanged, this, [this](const QString& text) { filter_.set_words(text); });
    connect(view_->selectionModel(), &QItemSelectionModel::selectionChanged, this, &RunList::follow_selection);
    // Once for all that changes at once: a filter takes rows away range by range.
    row_fit_.setSingleShot(true);
    row_fit_.setInterval(0);
    connect(&row_fit_, &QTimer::timeout, this, &RunList::fit_rows);
    for (const auto signal : {&QAbstractItemModel::rowsInserted, &QAbstractItemModel::rowsRemoved})
        connect(&filter_, signal, &row_fit_, qOverload<>(&QTimer::start));
    connect(&filter_, &QAbstractItemModel::modelReset, &row_fit_, qOverload<>(&QTimer::start));
    connect(&filter_, &QAbstractItemModel::dataChanged, &row_fit_, qOverload<>(&QTimer::start));
    connect(tags_, &QLineEdit::editingFinished, this, &RunList::store_words);
    connect(note_, &QPlainTextEdit::textChanged, &note_pause_, qOverload<>(&QTimer::start));
    connect(&note_pause_, &QTimer::timeout, this, &RunList::store_words);
    connect(launch, &QPushButton::clicked, this, &RunList::launch_requested);
    pin_->setCheckable(true);
    for (auto* button : {pin_, resume_, watch_}) button->setProperty("role", "narrow");
    connect(pin_, &QPushButton::clicked, this, [this] {
        RunMarks marks = table_.marks();
        const RunInfo* chosen = feed_.run(to_be_pinned());
        marks.baseline =
            chosen == nullptr || chosen->id == baseline() ? MarkedRun{} : MarkedRun{chosen->id, chosen->started_utc};
        mark(marks);
    });
    view_->viewport()->installEventFilter(this);
    view_->installEventFilter(this);
    connect(watch_, &QPushButton::clicked, this, [this] {
        if (const auto runs = selected(); !runs.empty()) Q_EMIT watch_requested(runs.front());
    });
    resume_->setObjectName("resume_selected");
    connect(resume_, &QPushButton::clicked, this, [this] {
        if (const auto runs = selected(); runs.size() == 1) Q_EMIT resume_requested(runs.front());
    });
    connect(view_, &QTableView::doubleClicked, this,
            [this](const QModelIndex& index) { Q_EMIT watch_requested(index.data(RunTable::run_role).toLongLong()); });
    follow();
}

RunList::~RunList() {
    store_words();
    remove_now();
}

std::vector<RunId> RunList::selected() const {
    std::vector<RunId> runs;
    for (const auto& index : view_->selectionModel()->selectedRows())
        runs.push_back(index.data(RunTable::run_role).toLongLong());
    std::sort(runs.begin(), runs.end());  // wherever runs stand beside each other, by number, whatever the list is by
    const bool is_pinned = std::find(runs.begin(), runs.end(), baseline()) != runs.end();
    const RunId first = is_pinned || runs.empty() ? baseline() : *std::min_element(runs.begin(), runs.end());
    std::stable_partition(runs.begin(), runs.end(), [first](RunId id) { return id == first; });
    return runs;
}

void RunList::select(const std::vector<RunId>& runs) {
    wanted_ = runs;
    QItemSelection rows;
    for (int row = 0; row < filter_.rowCount(); ++row)
        if (const RunId id = filter_.index(row, 0).data(RunTable::run_role).toLongLong();
            std::find(runs.begin(), runs.end(), id) != runs.end())
            rows.select(filter_.index(row, 0), filter_.index(row, filter_.columnCount() - 1));
    if (rows.isEmpty()) return;
    wanted_.clear();
    view_->selectionModel()->select(rows, QItemSelectionModel::ClearAndSelect);
    view_->scrollTo(rows.indexes().front());
}

void RunList::set_marks(const RunMarks& marks) {
    table_.set_marks(feed_.has_looked() && feed_.error().isEmpty() ? still_there(marks, feed_.runs()) : marks);
    follow_selection();
}

void RunList::mark(const RunMarks& marks) {
    set_marks(marks);
    Q_EMIT marks_changed();
}

/// Hides all of them, or shows all where all are hidden.
void RunList::toggle_hidden(const std::vector<RunId>& runs) {
    RunMarks marks = table_.marks();
    const bool show = std::all_of(runs.begin(), runs.end(), [&](RunId id) { return marks.hides(id); });
    for (const RunId id : runs) {
        std::erase_if(marks.hidden, [id](const MarkedRun& one) { return one.id == id; });
        if (const RunInfo* run = feed_.run(id); run != nullptr && !show) marks.hidden.push_back({id, run->started_utc});
    }
    mark(marks);
}

/// A click on an eye shows or hides a run and leaves the selection as it is; H does so for what is selected. Del
/// deletes that.
bool RunList::eventFilter(QObject* watched, QEvent* event) {
    const auto type = event->type();
    if (watched == view_) {
        const auto* key = type == QEvent::KeyPress ? static_cast<QKeyEvent*>(event) : nullptr;
        if (key == nullptr || key->modifiers() != Qt::NoModifier) return false;
        if (key->key() == Qt::Key_H) return toggle_hidden(selected()), true;
        if (key->key() == Qt::Key_Delete) return remove_later(selected()), true;
        return false;
    }
    if (type == QEvent::Resize) fit_columns();
    if (type == QEvent::MouseButtonPress || type == QEvent::MouseButtonDblClick) {
        const auto index = view_->indexAt(static_cast<QMouseEvent*>(event)->position().toPoint());
        if (index.isValid() && index.column() == RunTable::eye) {
            toggle_hidden({index.data(RunTable::run_role).toLongLong()});
            return true;
        }
    }
    return QWidget::eventFilter(watched, event);
}

void RunList::follow() {
    table_.set_runs(feed_.runs());
    if (feed_.has_looked() && feed_.error().isEmpty()) table_.set_marks(still_there(table_.marks(), feed_.runs()));
    const bool none = feed_.runs().empty();
    view_->setVisible(!none);
    empty_->setVisible(none);
    empty_words_->setText(feed_.error().isEmpty()
                              ? tr("Every run is listed here with its state and results\nNone was launched yet")
                              : feed_.error());
    if (!wanted_.empty()) select(wanted_);
    read_parameters();
    follow_selection();
}

/// The one that is selected, of several the newest that the others are not held against; 0: nothing is selected.
RunId RunList::to_be_pinned() const {
    const auto runs = selected();
    return runs.empty() ? 0 : runs.back();
}

void RunList::follow_selection() {
    const auto runs = selected();
    pin_->setEnabled(!runs.empty());
    const RunId pinned = to_be_pinned();
    pin_->setText(runs.size() > 1 ? tr("Run %1 as baseline").arg(pinned) : tr("Baseline"));
    pin_->setToolTip(runs.empty() ? tr("Select a run to hold the others against it")
                                  : tr("Holds the others against run %1, until another is chosen").arg(pinned));
    watch_->setToolTip(runs.size() == 1 ? tr("Opens the run in Watch (a double click does so too)")
                                        : tr("Select one run to watch it"));
    watch_->setEnabled(runs.size() == 1);
    set_resume(*resume_, runs.size() == 1 ? feed_.run(runs.front()) : nullptr, hindrance_);
    pin_->setChecked(pinned != 0 && pinned == baseline());
    table_.set_held_against(runs.size() > 1 ? runs.front() : 0);
    show_words(runs.size() == 1 ? feed_.run(runs.front()) : nullptr);
    Q_EMIT selection_changed();
}

void RunList::set_hindrance(const QString& hindrance) {
    hindrance_ = hindrance;
    const auto runs = selected();
    set_resume(*resume_, runs.size() == 1 ? feed_.run(runs.front()) : nullptr, hindrance_);
}

void RunList::show_words(const RunInfo* run) {
    const RunId id = run != nullptr ? run->id : 0;
    if (id != described_) store_words();  // of the run that was selected before
    const bool same = id == described_;
    described_ = id;
    tags_->setEnabled(run != nullptr);
    note_->setEnabled(run != nullptr);
    note_->setPlaceholderText(run != nullptr || selected().empty() ? tr("Note on the selected run")
                                                                   : tr("Select one run alone to write a note on it"));
    if (!same || !tags_->isModified()) {
        QStringList words;
        if (run != nullptr)
            for (const auto& tag : run->tags) words << QString::fromStdString(tag);
        if (const QString text = words.join(", "); tags_->text() != text) tags_->setText(text);
        tags_->setModified(false);
    }
    if (!same || !note_->document()->isModified()) {
        const QSignalBlocker quiet(note_);
        if (const QString text = run != nullptr ? QString::fromStdString(run->note) : QString{};
            note_->toPlainText() != text)
            note_->setPlainText(text);
        note_->document()->setModified(false);
    }
}

void RunList::store_words() {
    note_pause_.stop();
    if (described_ == 0) return;
    if (tags_->isModified()) {
        tags_->setModified(false);
        std::vector<std::string> tags;
        for (const auto& word : tags_->text().split(','))
            if (!word.trimmed().isEmpty()) tags.push_back(word.trimmed().toStdString());
        feed_.set_tags(described_, tags);
    }
    if (note_->document()->isModified()) {
        note_->document()->setModified(false);
        feed_.set_note(described_, note_->toPlainText().toStdString());
    }
}

}  // namespace skippipe
