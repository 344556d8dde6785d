// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/run_list.h"

#include <algorithm>

#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QHelpEvent>
#include <QKeyEvent>
#include <QMouseEvent>
#include <QSignalBlocker>
#include <QVBoxLayout>

#include "views/runs/resuming.h"
#include "views/theme/below_delegate.h"
#include "views/theme/row_hover.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {

constexpr int note_rows = 2;
constexpr int note_pause_ms = 500;

}  // namespace

RunList::RunList(RunFeed& feed, QWidget* parent)
    : QWidget(parent),
      feed_(feed),
      view_(new QTableView),
      words_(new QLineEdit),
      tags_(new QLineEdit),
      note_(new QPlainTextEdit),
      stand_in_(words_label({}, "small")),
      pin_(new QPushButton(tr("Baseline"))),
      resume_(new QPushButton(tr("Resume"))),
      watch_(new QPushButton(tr("Watch"))),
      empty_(new QWidget),
      empty_words_(new QLabel),
      launch_(new QPushButton(tr("Launch the experiment"))),
      clear_(new QPushButton(tr("Clear the filter"))) {
    filter_.setSourceModel(&table_);
    view_->setModel(&filter_);
    view_->setObjectName("runs");
    make_plain(*view_, tr("Runs"));
    follow_hover(*view_);
    view_->setSortingEnabled(true);
    view_->sortByColumn(RunTable::number, Qt::DescendingOrder);
    view_->setSelectionBehavior(QAbstractItemView::SelectRows);
    view_->setSelectionMode(QAbstractItemView::ExtendedSelection);
    view_->setWordWrap(false);
    names_ = new BelowDelegate(RunTable::told_role, view_, RunTable::told_colour_role);
    names_->go_across(*view_, RunTable::name);
    names_->set_chips(RunTable::chips_role);
    view_->setItemDelegate(names_);
    view_->verticalHeader()->setDefaultSectionSize(BelowDelegate::row);
    view_->setIconSize({20, 12});
    view_->horizontalHeader()->setHighlightSections(false);
    view_->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
    const int widths[] = {28, 52, 76, 104, 104, 84, 96, 76, 76, 116, 96};
    for (int i = 0; i < RunTable::columns; ++i) view_->setColumnWidth(i, widths[i]);
    view_->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    offer_columns();
    words_->setPlaceholderText(tr("Filter by what rows say, tag or note"));
    words_->setToolTip(tr(
        "Finds runs by number, name, state, skip ratio (\"skip 0.33\"), seed, planner, tag and note. What is selected "
        "stays so. Archived runs are listed where the filter says \"archived\", or from a run's menu"));
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
    stand_in_->setObjectName("baseline_stand_in");
    stand_in_->setContentsMargins(size::gap, 0, size::gap, 0);
    stand_in_->hide();
    column->addWidget(stand_in_);
    auto* middle = new QVBoxLayout(empty_);
    empty_words_->setAlignment(Qt::AlignCenter);
    empty_words_->setWordWrap(true);
    empty_words_->setProperty("role", "secondary");
    clear_->setObjectName("clear_filter");
    middle->addStretch();
    middle->addWidget(empty_words_);
    for (auto* button : {launch_, clear_}) middle->addWidget(button, 0, Qt::AlignHCenter);
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
    connect(words_, &QLineEdit::textChanged, this, &RunList::filter_by);
    connect(clear_, &QPushButton::clicked, words_, &QLineEdit::clear);
    connect(view_->selectionModel(), &QItemSelectionModel::selectionChanged, this, [this] {
        if (changes_rows_) return;
        // Who adds to what is selected adds to what is out of sight as well.
        if (!QGuiApplication::keyboardModifiers().testAnyFlags(Qt::ControlModifier | Qt::ShiftModifier))
            out_of_sight_.clear();
        follow_selection();
    });
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
    connect(launch_, &QPushButton::clicked, this, &RunList::launch_requested);
    words_->installEventFilter(this);
    pin_->setCheckable(true);
    for (auto* button : {pin_, resume_, watch_}) button->setProperty("role", "narrow");
    connect(pin_, &QPushButton::clicked, this, [this] { pin(to_be_pinned()); });
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

std::vector<RunId> RunList::chosen_in_sight() const {
    std::vector<RunId> runs;
    for (const auto& index : view_->selectionModel()->selectedRows())
        runs.push_back(index.data(RunTable::run_role).toLongLong());
    std::sort(runs.begin(), runs.end());
    return runs;
}

std::vector<RunId> RunList::selected() const {
    auto runs = chosen_in_sight();
    runs.insert(runs.end(), out_of_sight_.begin(), out_of_sight_.end());
    std::sort(runs.begin(), runs.end());  // wherever runs stand beside each other, by number, whatever the list is by
    const bool is_pinned = std::find(runs.begin(), runs.end(), baseline()) != runs.end();
    const RunId first = is_pinned || runs.empty() ? baseline() : *std::min_element(runs.begin(), runs.end());
    std::stable_partition(runs.begin(), runs.end(), [first](RunId id) { return id == first; });
    return runs;
}

QItemSelection RunList::rows_of(const std::vector<RunId>& runs) const {
    QItemSelection rows;
    for (int row = 0; row < filter_.rowCount() && !runs.empty(); ++row)
        if (const RunId id = filter_.index(row, 0).data(RunTable::run_role).toLongLong();
            std::find(runs.begin(), runs.end(), id) != runs.end())
            rows.select(filter_.index(row, 0), filter_.index(row, filter_.columnCount() - 1));
    return rows;
}

void RunList::select(const std::vector<RunId>& runs) {
    wanted_ = runs;
    const auto rows = rows_of(runs);
    if (rows.isEmpty()) return;
    wanted_.clear();
    out_of_sight_.clear();
    view_->selectionModel()->select(rows, QItemSelectionModel::ClearAndSelect);
    view_->scrollTo(rows.indexes().front());
}

/// Who looks for one run does not put away those that are compared.
void RunList::filter_by(const QString& words) {
    const auto chosen = selected();
    changes_rows_ = true;
    filter_.set_words(words);
    view_->selectionModel()->select(rows_of(chosen), QItemSelectionModel::ClearAndSelect);
    changes_rows_ = false;
    out_of_sight_ = chosen;
    for (const RunId id : chosen_in_sight()) std::erase(out_of_sight_, id);
    show_emptiness();
    follow_selection();
}

/// No run at all, or none that the filter lets through.
void RunList::show_emptiness() {
    const bool none = feed_.runs().empty();
    const QString words = words_->text().trimmed();
    const bool filtered = !none && filter_.rowCount() == 0 && !words.isEmpty();
    view_->setVisible(!none && !filtered);
    empty_->setVisible(none || filtered);
    launch_->setVisible(none);
    clear_->setVisible(filtered);
    empty_words_->setText(filtered ? tr("No run matches “%1”").arg(words)
                          : feed_.error().isEmpty()
                              ? tr("Every run is listed here with its state and results\nNone was "
                                   "launched yet")
                              : feed_.error());
}

void RunList::set_marks(const RunMarks& marks) {
    table_.set_marks(feed_.has_looked() && feed_.error().isEmpty() ? still_there(marks, feed_.runs()) : marks);
    follow_selection();
}

void RunList::mark(const RunMarks& marks) {
    set_marks(marks);
    Q_EMIT marks_changed();
}

void RunList::pin(RunId run) {
    RunMarks marks = table_.marks();
    const RunInfo* chosen = feed_.run(run);
    marks.baseline = chosen == nullptr || run == baseline() ? MarkedRun{} : MarkedRun{run, chosen->started_utc};
    mark(marks);
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

/// H hides what is selected, Del deletes it, Ctrl+Z brings that back.
bool RunList::take_key(const QKeyEvent& key) {
    if (key.matches(QKeySequence::Undo)) return undo_removal(), true;
    if (key.modifiers() != Qt::NoModifier) return false;
    if (key.key() == Qt::Key_H) return toggle_hidden(selected()), true;
    if (key.key() == Qt::Key_Delete) return remove_later(chosen_in_sight()), true;
    return false;
}

/// Escape empties the filter, which else would go on hiding runs; an empty one leaves it to others.
bool RunList::take_filter_key(QEvent& event) {
    const bool is_key = event.type() == QEvent::KeyPress || event.type() == QEvent::ShortcutOverride;
    if (!is_key || static_cast<QKeyEvent&>(event).key() != Qt::Key_Escape || words_->text().isEmpty()) return false;
    if (event.type() == QEvent::KeyPress) words_->clear();
    return event.accept(), true;
}

/// Whether a run's tip would only repeat its row.
bool RunList::is_seen_whole(const QModelIndex& index) const {
    const RunInfo* run = index.isValid() && index.column() == RunTable::name
                             ? feed_.run(index.data(RunTable::run_role).toLongLong())
                             : nullptr;
    if (run == nullptr || !run->error.empty() || !run->warning.empty() || !run->note.empty() || !run->tags.empty())
        return false;
    const int room = view_->columnWidth(RunTable::name) - 2 * size::gap;
    return view_->fontMetrics().horizontalAdvance(index.data().toString()) <= room &&
           QFontMetrics(small_font()).horizontalAdvance(index.data(RunTable::told_role).toString()) <=
               names_->room_across();
}

/// A click on an eye shows or hides a run and leaves the selection as it is.
bool RunList::eventFilter(QObject* watched, QEvent* event) {
    const auto type = event->type();
    if (watched == words_) return take_filter_key(*event);
    if (watched == view_) {
        if (type == QEvent::KeyPress) return take_key(*static_cast<QKeyEvent*>(event));
        // Whoever has deleted runs here means them, not what was last done to the experiment.
        const bool of_runs = !removed_.empty() || !deleted_.empty();
        if (type != QEvent::ShortcutOverride || !of_runs) return false;
        if (!static_cast<QKeyEvent*>(event)->matches(QKeySequence::Undo)) return false;
        return event->accept(), true;
    }
    if (type == QEvent::Resize) {
        fit_columns();
        name_pin();
    }
    if (type == QEvent::ToolTip && is_seen_whole(view_->indexAt(static_cast<QHelpEvent*>(event)->pos()))) return true;
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
    const auto chosen = selected();
    changes_rows_ = true;
    table_.set_runs(feed_.runs());
    // Where a run went, all rows are new: those that stay are selected as before.
    if (selected() != chosen) view_->selectionModel()->select(rows_of(chosen), QItemSelectionModel::ClearAndSelect);
    changes_rows_ = false;
    const auto seen = chosen_in_sight();
    std::erase_if(out_of_sight_, [&](RunId id) {
        return feed_.run(id) == nullptr || std::find(seen.begin(), seen.end(), id) != seen.end();
    });
    // One that was gone on with meanwhile is not deleted: it comes back.
    const auto runs_on = [this](RunId id) {
        return feed_.run(id) != nullptr && feed_.run(id)->state == RunState::running;
    };
    if (std::erase_if(removed_, runs_on) > 0) {
        hide_removed();
        if (removed_.empty()) Q_EMIT restored();
    }
    if (feed_.has_looked() && feed_.error().isEmpty()) table_.set_marks(still_there(table_.marks(), feed_.runs()));
    show_emptiness();
    if (!wanted_.empty()) select(wanted_);
    read_parameters();
    follow_selection();
}

/// The one that is selected, of several the newest that the others are not held against; 0: nothing is selected. Of the
/// same runs it stays the same: a press does not put another run under the mouse.
RunId RunList::to_be_pinned() {
    const auto runs = selected();
    auto sorted = runs;
    std::sort(sorted.begin(), sorted.end());
    if (sorted == offered_among_) return offered_;
    offered_among_ = std::move(sorted);
    return offered_ = runs.empty() ? 0 : runs.back();
}

void RunList::follow_selection() {
    const auto runs = selected();
    pin_->setEnabled(!runs.empty());
    const RunId pinned = to_be_pinned();
    const bool is_pinned = pinned != 0 && pinned == baseline();
    pin_->setToolTip(runs.empty() ? tr("Select a run to hold the others against it")
                     : is_pinned  ? tr("Lets the oldest of the runs compared be the baseline again")
                                  : tr("Holds the others against run %1, until another is chosen").arg(pinned));
    watch_->setToolTip(runs.size() == 1 ? tr("Opens the run in Watch (a double click does so too)")
                                        : tr("Select one run to watch it"));
    watch_->setEnabled(runs.size() == 1);
    set_resume(*resume_, runs.size() == 1 ? feed_.run(runs.front()) : nullptr, hindrance_);
    pin_->setChecked(is_pinned);
    name_pin();
    const bool stands_in = baseline() != 0 && runs.size() > 1 && runs.front() != baseline();
    stand_in_->setText(
        stands_in ? tr("Run %1, the baseline, is not selected: compared with run %2").arg(baseline()).arg(runs.front())
                  : QString{});
    stand_in_->setVisible(stands_in);
    table_.set_held_against(runs.size() > 1 ? runs.front() : 0);
    show_words(runs.size() == 1 ? feed_.run(runs.front()) : nullptr);
    Q_EMIT selection_changed();
}

/// A narrow list has room for a word: whether it is pressed says the rest.
void RunList::name_pin() {
    constexpr int least = 300;
    pin_->setText(offered_ == 0 || width() < least ? tr("Baseline")
                  : pin_->isChecked()              ? tr("Run %1 is baseline").arg(offered_)
                                                   : tr("Run %1 as baseline").arg(offered_));
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
            for (const auto& tag : own_tags(*run)) words << QString::fromStdString(tag);
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
        const RunInfo* run = feed_.run(described_);
        for (const auto& tag : {star_tag, archive_tag})  // which the field does not show
            if (run != nullptr && has_tag(*run, tag) && std::find(tags.begin(), tags.end(), tag) == tags.end())
                tags.push_back(tag);
        feed_.set_tags(described_, tags);
    }
    if (note_->document()->isModified()) {
        note_->document()->setModified(false);
        feed_.set_note(described_, note_->toPlainText().toStdString());
    }
}

}  // namespace skippipe
