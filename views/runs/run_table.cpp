// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/run_table.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>
#include <numeric>
#include <utility>

#include <QDateTime>
#include <QIcon>
#include <QPixmap>
#include <QRegularExpression>

#include "views/runs/parameters.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/words.h"

namespace skippipe {
namespace {

QColor state_colour(const RunInfo& run) {
    if (run.state == RunState::running && run.paused) return theme().warning;
    switch (run.state) {
        case RunState::running: return theme().accent;
        case RunState::finished: return theme().text_2;  // as nearly all are
        case RunState::stopped: return theme().warning;
        default: return theme().bad;
    }
}

QIcon swatch(RunId run, bool hidden) {
    const QPixmap picture = run_swatch(run, hidden);
    QIcon icon;
    for (const auto mode : {QIcon::Normal, QIcon::Selected}) icon.addPixmap(picture, mode);  // no tint
    return icon;
}

QString joined(const std::vector<std::string>& words) {
    QStringList list;
    for (const auto& word : words) list << QString::fromStdString(word);
    return list.join(", ");
}

QString local_time(const std::string& utc) {
    const auto time = QDateTime::fromString(QString::fromStdString(utc), Qt::ISODateWithMs);
    if (!time.isValid()) return QString::fromStdString(utc);
    const QDateTime local = time.toLocalTime();
    return QLocale::c().toString(local,
                                 local.date().year() == QDate::currentDate().year() ? "MMM d HH:mm" : "yyyy MMM d");
}

bool is_figure(int column) {
    return column == RunTable::number || (column >= RunTable::iterations && column <= RunTable::speed);
}

constexpr std::size_t settings_told = 3;

/// What tells runs of one name apart, what differs most often first; empty: it has none.
std::array<QString, settings_told> told_settings(const RunInfo& run) {
    return {run.skip_ratio ? QObject::tr("skip %1").arg(*run.skip_ratio, 0, 'g', 3) : QString{},
            QObject::tr("seed %1").arg(run.seed), QString::fromStdString(run.planner)};
}

/// Which of those come first in all rows: those in which runs of one name differ.
std::array<std::size_t, settings_told> order_of_settings(const std::vector<RunInfo>& runs) {
    std::map<std::string, std::array<QString, settings_told>> first_of;
    std::array<bool, settings_told> differs{};
    for (const auto& run : runs) {
        const auto own = told_settings(run);
        const auto& first = first_of.try_emplace(run.name, own).first->second;
        for (std::size_t k = 0; k < settings_told; ++k) differs[k] = differs[k] || own[k] != first[k];
    }
    std::array<std::size_t, settings_told> order{};
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_partition(order.begin(), order.end(), [&](std::size_t k) { return differs[k]; });
    return order;
}

const QString note_mark = QString::fromUtf8("✎");

/// A star stands before the name.
QStringList told_tags(const RunInfo& run) {
    QStringList words;
    for (const auto& tag : run.tags)
        if (tag != star_tag) words << QString::fromStdString(tag);
    return words;
}

QStringList chips_of(const RunInfo& run) {
    return (run.note.empty() ? QStringList{} : QStringList{note_mark}) + told_tags(run);
}

}  // namespace

bool has_tag(const RunInfo& run, const std::string& tag) {
    return std::find(run.tags.begin(), run.tags.end(), tag) != run.tags.end();
}

std::vector<std::string> own_tags(const RunInfo& run) {
    auto tags = run.tags;
    std::erase_if(tags, [](const std::string& tag) { return tag == star_tag || tag == archive_tag; });
    return tags;
}

QString state_words(const RunInfo& run) {
    const std::string_view name = state_name(run);
    return capitalised(QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size())));
}

QString did_nothing_words(const RunInfo& run) {
    return QObject::tr("Run %1 failed before its first iteration").arg(run.id);
}

QString did_nothing_words(const std::vector<const RunData*>& runs) {
    std::vector<const RunInfo*> failed;
    for (const auto* run : runs)
        if (did_nothing(run->info)) failed.push_back(&run->info);
    if (failed.empty()) return {};
    if (failed.size() == 1) return did_nothing_words(*failed.front());
    std::vector<RunId> numbers(failed.size());
    std::transform(failed.begin(), failed.end(), numbers.begin(), [](const RunInfo* run) { return run->id; });
    return capitalised(QObject::tr("%1 failed before their first iteration").arg(run_numbers(numbers)));
}

QString error_words(const RunInfo& run) {
    // What stands above in a terminal is in the log here.
    QString error =
        QString::fromStdString(run.error).replace(QStringLiteral("its messages above"), QObject::tr("its log"));
    const auto end = error.indexOf(QStringLiteral(": "));
    if (!error.startsWith('/') || end < 0) return error;
    return place_words(error.left(end).toStdString()) + error.mid(end);
}

QString bad_end_words(const RunInfo& run) {
    QString why = error_words(run)
                      .replace(QStringLiteral("Look at its log; if"), QStringLiteral("If"))
                      .remove(QStringLiteral(" Look at its log"));
    static const QRegularExpression killed(QStringLiteral("was killed by signal (\\d+)[^.]*\\.?"));
    const auto found = why.startsWith(QStringLiteral("worker:")) ? killed.match(why) : QRegularExpressionMatch{};
    if (!found.hasMatch()) return QObject::tr("Run %1 %2: %3").arg(run.id).arg(state_words(run).toLower(), why);
    const QString when = run.iterations_done > 0 ? QObject::tr(" after iteration %1").arg(run.iterations_done)
                                                 : QObject::tr(" before its first iteration ended");
    const QString rest = why.mid(found.capturedEnd()).trimmed();
    return QObject::tr("Run %1 was killed (signal %2)%3").arg(QString::number(run.id), found.captured(1), when) +
           (rest.isEmpty() ? QString{} : QStringLiteral(". ") + rest);
}

QString run_title(const RunInfo& run) {
    return QObject::tr("Run %1, %2, %3, %4")
        .arg(run.id)
        .arg(QString::fromStdString(run.name), QString::fromStdString(run.planner), state_words(run).toLower());
}

std::vector<QString> runs_told(const std::vector<RunInfo>& runs) {
    const auto order = order_of_settings(runs);
    std::vector<QString> told;
    for (const auto& run : runs) {
        QStringList parts;
        if (run.state != RunState::finished) parts << state_words(run).toLower();
        if (goes_on(run)) parts << QObject::tr("%1 of %2").arg(run.iterations_done).arg(run.iterations);
        const auto settings = told_settings(run);
        for (const std::size_t k : order)
            if (!settings[k].isEmpty()) parts << settings[k];
        told.push_back(parts.join(QStringLiteral(", ")));
    }
    return told;
}

std::vector<RunId> worth_comparing(const std::vector<RunInfo>& runs, RunId pinned) {
    constexpr std::size_t most = 4, least = 2;
    std::map<std::string, std::vector<RunId>> by_name;
    for (const auto& run : runs)
        if (run.iterations_done > 0) by_name[run.name].push_back(run.id);
    std::vector<RunId> chosen;
    for (const auto& run : runs) {
        const auto& alike = by_name[run.name];
        if (alike.size() >= least) {
            chosen = {alike.begin(),
                      std::next(alike.begin(), static_cast<std::ptrdiff_t>(std::min(alike.size(), most)))};
            break;
        }
        if (chosen.size() < least) chosen.push_back(run.id);
    }
    const bool there = std::any_of(runs.begin(), runs.end(), [&](const RunInfo& run) { return run.id == pinned; });
    if (there && std::find(chosen.begin(), chosen.end(), pinned) == chosen.end()) {
        if (chosen.size() == most) chosen.pop_back();
        chosen.push_back(pinned);
    }
    return chosen;
}

QString preselected_words(const std::vector<RunInfo>& runs, const std::vector<RunId>& chosen, RunId pinned) {
    const auto name_of = [&](RunId id) {
        const auto found = std::find_if(runs.begin(), runs.end(), [id](const RunInfo& run) { return run.id == id; });
        return found != runs.end() ? QString::fromStdString(found->name) : QString{};
    };
    // The pinned one was put last where it is none of the newest.
    const auto unpinned = worth_comparing(runs);
    const bool has_pinned = !chosen.empty() && chosen.back() == pinned &&
                            std::find(unpinned.begin(), unpinned.end(), pinned) == unpinned.end();
    const auto newest = chosen.size() - (has_pinned ? 1 : 0);
    const bool one_name =
        newest > 0 && std::all_of(chosen.begin(), std::next(chosen.begin(), static_cast<std::ptrdiff_t>(newest)),
                                  [&](RunId id) { return name_of(id) == name_of(chosen.front()); });
    QString words = QObject::tr("%1 runs compared: the newest").arg(chosen.size());
    if (one_name) words += QObject::tr(" of %1").arg(name_of(chosen.front()));
    return has_pinned ? words + QObject::tr(" and the baseline") : words;
}

void RunTable::set_runs(const std::vector<RunInfo>& runs) {
    const bool same = std::equal(runs.begin(), runs.end(), runs_.begin(), runs_.end(),
                                 [](const auto& a, const auto& b) { return a.id == b.id; });
    if (same) return take_changes(runs);
    // New runs come first and leave the others where they are.
    const auto known =
        runs_.empty() ? runs.end()
                      : std::find_if(runs.begin(), runs.end(), [&](const auto& r) { return r.id == runs_.front().id; });
    const bool only_new = known != runs.end() && std::equal(known, runs.end(), runs_.begin(), runs_.end(),
                                                            [](const auto& a, const auto& b) { return a.id == b.id; });
    if (only_new) {
        beginInsertRows({}, 0, static_cast<int>(known - runs.begin()) - 1);
        runs_.insert(runs_.begin(), runs.begin(), known);
        told_ = runs_told(runs_);
        endInsertRows();
        take_changes(runs);
        Q_EMIT dataChanged(index(0, name), index(rowCount() - 1, name));
    } else {
        beginResetModel();
        runs_ = runs;
        told_ = runs_told(runs_);
        endResetModel();
    }
}

/// The same runs: rows that say something else now are told, and no others; of a thousand runs one goes on.
void RunTable::take_changes(const std::vector<RunInfo>& runs) {
    std::vector<int> changed;
    for (int row = 0; row < rowCount(); ++row)
        if (auto& own = runs_[static_cast<std::size_t>(row)]; !(own == runs[static_cast<std::size_t>(row)])) {
            own = runs[static_cast<std::size_t>(row)];
            changed.push_back(row);
        }
    if (changed.empty()) return;
    const auto before = std::exchange(told_, runs_told(runs_));
    for (const int row : changed) Q_EMIT dataChanged(index(row, 0), index(row, columnCount() - 1));
    if (told_ != before)  // of others what is the same of all may have changed
        Q_EMIT dataChanged(index(0, name), index(rowCount() - 1, name));
}

void RunTable::set_parameters(std::vector<Parameter> parameters) {
    const auto same_columns = std::equal(parameters.begin(), parameters.end(), parameters_.begin(), parameters_.end(),
                                         [](const auto& a, const auto& b) { return a.pointer == b.pointer; });
    if (!same_columns) {
        if (!parameters_.empty()) {
            beginRemoveColumns({}, columns, columnCount() - 1);
            parameters_.clear();
            endRemoveColumns();
        }
        if (!parameters.empty()) {
            beginInsertColumns({}, columns, columns + static_cast<int>(parameters.size()) - 1);
            parameters_ = std::move(parameters);
            endInsertColumns();
        }
        return;
    }
    if (parameters == parameters_) return;
    parameters_ = std::move(parameters);
    if (!runs_.empty()) Q_EMIT dataChanged(index(0, columns), index(rowCount() - 1, columnCount() - 1));
}

void RunTable::set_marks(const RunMarks& marks) {
    if (marks == marks_) return;
    marks_ = marks;
    if (!runs_.empty()) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
}

void RunTable::set_held_against(RunId run) {
    if (run == held_against_) return;
    held_against_ = run;
    if (!runs_.empty()) Q_EMIT dataChanged(index(0, number), index(rowCount() - 1, number));
}

/// A filled one of the pinned run; a hollow one of what others are held against in its stead, as it is not among them.
QString RunTable::baseline_mark(const RunInfo& run) const {
    if (run.id == marks_.baseline.id) return QString::fromUtf8("◆ ");
    return run.id == held_against_ ? QString::fromUtf8("◇ ") : QString{};
}

QString RunTable::text(const RunInfo& run, int column) const {
    switch (column) {
        case number: return baseline_mark(run) + QString::number(run.id);
        case state: return state_words(run);
        case name:
            return (has_tag(run, star_tag) ? QString::fromUtf8("★ ") : QString{}) + QString::fromStdString(run.name);
        case planner: return QString::fromStdString(run.planner);
        case iterations: return tr("%1 of %2").arg(run.iterations_done).arg(run.iterations);
        case iteration_time: return run.iteration_s ? duration(*run.iteration_s) : QString{};
        case validation_loss: return run.last_validation_loss ? three_digits(*run.last_validation_loss) : QString{};
        case speed: return run.tokens_per_second ? quantity(*run.tokens_per_second, {}) : QString{};
        case started: return local_time(run.started_utc);
        case tags: return told_tags(run).join(", ");
        default: return {};
    }
}

/// A name's says what its cell may have no room for.
QString RunTable::tip(int row, int column) const {
    const RunInfo& run = runs_[static_cast<std::size_t>(row)];
    auto told = QString::fromStdString(!run.error.empty() ? run.error : !run.warning.empty() ? run.warning : run.note);
    if (column == number && run.id == marks_.baseline.id)
        return held_against_ == 0 || held_against_ == run.id
                   ? tr("The baseline: the others are held against it")
                   : tr("Pinned as the baseline: the others are held against it as soon as it is selected too");
    if (column == number && run.id == held_against_)
        return tr("The others are held against it, as long as no baseline is among them");
    if (column != name) return told;
    QString apart = told_[static_cast<std::size_t>(row)];
    if (const QString state = state_words(run).toLower(); apart.startsWith(state + QStringLiteral(", ")))
        apart.remove(0, state.size() + 2);  // the title says it
    QStringList lines{run_title(run), apart};
    if (const QStringList own = told_tags(run); !own.isEmpty()) lines << tr("Tags: %1").arg(own.join(", "));
    if (!told.isEmpty()) lines << told;
    return lines.join('\n');
}

QVariant RunTable::sort_key(const RunInfo& run, int column) {
    switch (column) {
        case eye:
        case number: return static_cast<qlonglong>(run.id);
        case state: return static_cast<int>(run.state);
        case name: return QString::fromStdString(run.name);
        case planner: return QString::fromStdString(run.planner);
        case iterations: return run.iterations_done;
        case iteration_time: return run.iteration_s.value_or(1e300);
        case validation_loss: return run.last_validation_loss.value_or(1e300);
        case speed: return run.tokens_per_second.value_or(-1);
        case started: return QString::fromStdString(run.started_utc);
        default: return joined(run.tags);
    }
}

QVariant RunTable::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || index.row() >= rowCount()) return {};
    const RunInfo& run = runs_[static_cast<std::size_t>(index.row())];
    const int column = index.column();
    if (column >= columns) {
        const auto& values = parameters_[static_cast<std::size_t>(column - columns)].values;
        const auto found = values.find(run.id);
        const QString text = found == values.end() ? QString{} : found->second;
        bool is_number = false;
        const double number = text.toDouble(&is_number);
        if (role == Qt::DisplayRole || role == Qt::ToolTipRole) return text;
        if (role == Qt::TextAlignmentRole && is_number) return int(Qt::AlignRight | Qt::AlignVCenter);
        if (role == sort_role) return is_number ? QVariant(number) : QVariant(text);
        return role == run_role ? QVariant(static_cast<qlonglong>(run.id)) : QVariant{};
    }
    switch (role) {
        case Qt::DisplayRole: return text(run, column);
        case Qt::ForegroundRole: return column == state ? QVariant(state_colour(run)) : QVariant{};
        case Qt::DecorationRole: return column == eye ? QVariant(swatch(run.id, marks_.hides(run.id))) : QVariant{};
        case Qt::AccessibleTextRole:
            return column == eye ? QVariant(marks_.hides(run.id) ? tr("Hidden in curves") : tr("Shown in curves"))
                                 : QVariant{};
        case Qt::ToolTipRole:
            if (column == eye)
                return marks_.hides(run.id) ? tr("Hidden in curves; a click shows it (H)")
                                            : tr("Its colour in curves; a click hides it there (H)");
            return tip(index.row(), column);
        case Qt::TextAlignmentRole:
            return is_figure(column) ? QVariant(int(Qt::AlignRight | Qt::AlignVCenter)) : QVariant{};
        case sort_role: return sort_key(run, column);
        case run_role: return static_cast<qlonglong>(run.id);
        case told_colour_role:
            return column == name && state_colour(run) == theme().bad &&
                           told_[static_cast<std::size_t>(index.row())].startsWith(state_words(run).toLower())
                       ? QVariant(theme().bad)
                       : QVariant{};
        case chips_role: return column == name ? QVariant(chips_of(run)) : QVariant{};
        case told_role: return column == name ? QVariant(told_[static_cast<std::size_t>(index.row())]) : QVariant{};
        default: return {};
    }
}

QVariant RunTable::headerData(int section, Qt::Orientation orientation, int role) const {
    static const char* names[] = {"",          "Run",        "State",    "Experiment", "Planner", "Iterations",
                                  "Iteration", "Validation", "Tokens/s", "Started",    "Tags"};
    static const char* tips[] = {"Whether curves show it",
                                 "",
                                 "",
                                 "",
                                 "",
                                 "Done of planned",
                                 "Mean time of an iteration: of the network, under the wall clock here",
                                 "Last validation loss, nats a token",
                                 "Of this machine",
                                 "",
                                 ""};
    if (orientation != Qt::Horizontal || section >= columnCount()) return {};
    if (section >= columns) {
        const auto pointer = QString::fromStdString(parameters_[static_cast<std::size_t>(section - columns)].pointer);
        if (role == Qt::ToolTipRole) return pointer.mid(1).replace('/', ", ").replace('_', ' ');
        return role == Qt::DisplayRole ? QVariant(pointer.section('/', -1).replace('_', ' ')) : QVariant{};
    }
    if (role == Qt::ToolTipRole) return tr(tips[section]);
    if (role == Qt::TextAlignmentRole && is_figure(section)) return int(Qt::AlignRight | Qt::AlignVCenter);
    return role == Qt::DisplayRole ? QVariant(tr(names[section])) : QVariant{};
}

RunFilter::RunFilter(QObject* parent) : QSortFilterProxyModel(parent) {
    setSortRole(RunTable::sort_role);
    setDynamicSortFilter(true);
}

void RunFilter::set_words(const QString& words) {
    asks_for_archived_ = false;
    words_.clear();
    static const QRegularExpression number("^\\d+([.]\\d*)?$"), whole_number("^\\d+$");
    for (const QString& phrase : words.split(',')) {  // rows have commas between their words
        const QStringList parts = phrase.simplified().split(' ', Qt::SkipEmptyParts);
        asks_for_archived_ =
            asks_for_archived_ || parts.contains(QString::fromStdString(archive_tag), Qt::CaseInsensitive);
        for (qsizetype i = 0; i < parts.size(); ++i) {
            // "skip 0" is what a row says: not a skip of 0.33, nor some other 0.
            QString word =
                (number.match(parts[i]).hasMatch() ? "(?<![\\d.])" : "") + QRegularExpression::escape(parts[i]);
            while (i + 1 < parts.size() && number.match(parts[i + 1]).hasMatch())
                word += ' ' + QRegularExpression::escape(parts[++i]);
            if (whole_number.match(parts[i]).hasMatch()) word += "(?![.]?\\d)";
            words_ << QRegularExpression(word, QRegularExpression::CaseInsensitiveOption);
        }
    }
    invalidateFilter();
}

void RunFilter::set_shows_archived(bool on) {
    shows_archived_ = on;
    invalidateFilter();
}

void RunFilter::set_gone(std::set<RunId> runs) {
    gone_ = std::move(runs);
    invalidateFilter();
}

bool RunFilter::filterAcceptsRow(int row, const QModelIndex&) const {
    const auto& run = static_cast<const RunTable*>(sourceModel())->runs()[static_cast<std::size_t>(row)];
    if (gone_.contains(run.id)) return false;
    if (!shows_archived_ && !asks_for_archived_ && has_tag(run, archive_tag)) return false;
    const auto settings = told_settings(run);
    const QString all = QStringList{QObject::tr("Run %1").arg(run.id),
                                    QString::fromStdString(run.name),
                                    QStringList(settings.begin(), settings.end()).join(' '),
                                    state_words(run),
                                    joined(run.tags),
                                    QString::fromStdString(run.note)}
                            .join(' ');
    return std::all_of(words_.begin(), words_.end(),
                       [&](const QRegularExpression& word) { return all.contains(word); });
}

}  // namespace skippipe
