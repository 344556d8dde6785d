// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/matrix/matrix_panel.h"

#include <algorithm>
#include <cmath>

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QToolButton>
#include <QVBoxLayout>

#include "views/inspector/field_text.h"
#include "views/matrix/heat_key.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {

constexpr int most_named_outliers = 2;

QString cell_text(double value, MatrixShows shows) {
    const bool rate = shows == MatrixShows::bandwidth || shows == MatrixShows::connection;
    return rate ? quantity(8 * value, "bit/s") : duration(value);
}

/// Grounds of cells, which the style sheet would leave out.
class HeatCells final : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        const auto ground = index.data(Qt::BackgroundRole).value<QColor>();
        if (ground.isValid() && !(option.state & QStyle::State_Selected)) painter->fillRect(option.rect, ground);
        QStyledItemDelegate::paint(painter, option, index);
    }
};

}  // namespace

MatrixModel::MatrixModel(Document& document, QObject* parent) : QAbstractTableModel(parent), document_(document) {
    follow();
}

double MatrixModel::value(int row, int column) const {
    return values_[static_cast<std::size_t>(row) * columns_.size() + static_cast<std::size_t>(column)];
}

void MatrixModel::follow() {
    const Experiment& e = document_.experiment();
    const bool is_hops = !e.topology.hop_matrix_s.empty();
    if (is_hops != (shows_ == MatrixShows::hop)) shows_ = is_hops ? MatrixShows::hop : MatrixShows::latency;
    auto rows = matrix_rows(e, shows_), columns = matrix_columns(e, shows_);
    const bool same = rows == rows_ && columns == columns_;
    if (!same) beginResetModel();
    rows_ = std::move(rows);
    columns_ = std::move(columns);
    values_ = matrix_values(e, rows_, columns_, shows_);
    // What a region has within is another thing than what leads out of it.
    std::vector<double> between = values_;
    for (std::size_t i = 0; i < between.size(); ++i)
        if (is_within(static_cast<int>(i / columns_.size()), static_cast<int>(i % columns_.size()))) between[i] = -1;
    outliers_.clear();
    if (!same) endResetModel();
    for (const auto cell : ::skippipe::outliers(between)) {
        outliers_.push_back(index(static_cast<int>(cell / columns_.size()), static_cast<int>(cell % columns_.size())));
        between[cell] = -1;
    }
    least_ = most_ = 0;
    for (const double v : between)
        if (v > 0) least_ = least_ == 0 ? v : std::min(least_, v), most_ = std::max(most_, v);
    if (same && !values_.empty()) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, columnCount() - 1));
}

QString MatrixModel::pair(int row, int column) const {
    const QString from = QString::fromStdString(row_end(row).id), to = QString::fromStdString(column_end(column).id);
    return shows_ == MatrixShows::connection ? tr("%1, %2").arg(from, to.toLower()) : tr("%1 to %2").arg(from, to);
}

std::pair<QString, QString> MatrixModel::heat_ends() const {
    if (most_ <= least_) return {};
    const QString least = cell_text(least_, shows_), most = cell_text(most_, shows_);
    return is_rate() ? std::pair{most, least} : std::pair{least, most};
}

QString MatrixModel::tip(int row, int column) const {
    const double v = value(row, column);
    if (is_within(row, column))
        return v < 0 ? QString{} : tr("Between nodes of %1").arg(QString::fromStdString(row_end(row).id));
    if (v < 0)
        return (shows_ == MatrixShows::connection ? tr("%1: no limit; a value is what all it carries passes")
                                                  : tr("%1: not linked; a value links them"))
            .arg(pair(row, column));
    const bool far = std::find(outliers_.begin(), outliers_.end(), index(row, column)) != outliers_.end();
    return tr("%1: %2").arg(pair(row, column), cell_text(v, shows_)) +
           (far ? tr("\nFar from all the others: a mistaken unit?") : QString{});
}

QVariant MatrixModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const double v = value(index.row(), index.column());
    const bool far = std::find(outliers_.begin(), outliers_.end(), index) != outliers_.end();
    switch (role) {
        case Qt::DisplayRole:
            return v >= 0                                   ? cell_text(v, shows_)
                   : is_within(index.row(), index.column()) ? QString{}
                                                            : QStringLiteral("–");
        case Qt::EditRole: return v >= 0 ? to_field(v, matrix_info(shows_)) : QString{};
        case Qt::TextAlignmentRole: return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
        case Qt::ToolTipRole: return tip(index.row(), index.column());
        case Qt::ForegroundRole: return far ? theme().text_on(theme().warning) : QVariant{};
        case Qt::BackgroundRole: break;
        default: return {};
    }
    if (far) return theme().warning;
    if (v <= 0 || most_ <= least_ || is_within(index.row(), index.column())) return {};
    const double share = std::log(v / least_) / std::log(most_ / least_);
    return heat_colour(is_rate() ? 1 - share : share);
}

QVariant MatrixModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (role != Qt::DisplayRole) return {};
    return QString::fromStdString((orientation == Qt::Vertical ? row_end(section) : column_end(section)).id);
}

Qt::ItemFlags MatrixModel::flags(const QModelIndex& index) const {
    const bool to_itself = is_within(index.row(), index.column()) && !row_end(index.row()).is_region;
    return QAbstractTableModel::flags(index) | (to_itself ? Qt::NoItemFlags : Qt::ItemIsEditable);
}

bool MatrixModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (role != Qt::EditRole || !index.isValid()) return false;
    const QString text = value.toString().trimmed();
    if (text == data(index, Qt::EditRole).toString()) return false;
    put_text(text.isEmpty() ? QStringLiteral("–") : text, index);
    return true;
}

QString MatrixModel::text_of(const QModelIndexList& cells) const {
    if (cells.isEmpty()) return {};
    int top = rowCount(), left = columnCount(), bottom = -1, right = -1;
    for (const auto& cell : cells) {
        top = std::min(top, cell.row()), bottom = std::max(bottom, cell.row());
        left = std::min(left, cell.column()), right = std::max(right, cell.column());
    }
    QStringList lines;
    for (int row = top; row <= bottom; ++row) {
        QStringList line;
        for (int column = left; column <= right; ++column) {
            // Plain numbers in base units: what every program reads.
            const double v = value(row, column);
            line << (v >= 0 && cells.contains(index(row, column)) ? to_field(v) : QString{});
        }
        lines << line.join('\t');
    }
    return lines.join('\n');
}

void MatrixModel::put_text(const QString& text, const QModelIndex& first) {
    if (!first.isValid()) return Q_EMIT refused(tr("Choose the cell where the values begin"));
    const Info info = matrix_info(shows_);
    Experiment changed = document_.experiment();
    QString lines = text;
    while (lines.endsWith('\n') || lines.endsWith('\r')) lines.chop(1);
    const QStringList rows = lines.split('\n');
    for (qsizetype r = 0; r < rows.size(); ++r) {
        // Spreadsheets copy tabs; files have commas or semicolons.
        const QChar mark = rows[r].contains('\t') ? '\t' : rows[r].contains(';') ? ';' : ',';
        const QStringList cells = rows[r].split(mark);
        for (qsizetype c = 0; c < cells.size(); ++c) {
            const int row = first.row() + static_cast<int>(r), column = first.column() + static_cast<int>(c);
            const QString cell = cells[c].trimmed();
            if (cell.isEmpty() || (is_within(row, column) && !row_end(std::min(row, rowCount() - 1)).is_region))
                continue;
            const QString place = tr("Row %1, column %2: ").arg(r + 1).arg(c + 1);
            if (row >= rowCount() || column >= columnCount())
                return Q_EMIT refused(place + tr("there is no such pair; nothing was put in"));
            std::optional<double> value;
            if (cell != QStringLiteral("–") && cell != QStringLiteral("-")) {
                const auto read = read_field(cell, info, static_cast<double*>(nullptr));
                if (!read.value) return Q_EMIT refused(place + read.fault + tr("; nothing was put in"));
                value = *read.value;
            }
            if (const QString why = set_matrix_value(changed, row_end(row), column_end(column), shows_, value);
                !why.isEmpty())
                return Q_EMIT refused(place + why + tr("; nothing was put in"));
        }
    }
    document_.edit(tr("Matrix"), [&](Experiment& e) { e = changed; });
}

void MatrixModel::clear_cells(const QModelIndexList& cells) {
    if (shows_ == MatrixShows::hop) return Q_EMIT refused(tr("A matrix of hops has a value for each pair"));
    document_.edit(shows_ == MatrixShows::connection ? tr("Remove limits") : tr("Remove links"), [&](Experiment& e) {
        for (const auto& cell : cells)
            set_matrix_value(e, row_end(cell.row()), column_end(cell.column()), shows_, std::nullopt);
    });
}

MatrixPanel::MatrixPanel(Document& document, SelectionModel& selection, QWidget* parent)
    : QWidget(parent),
      document_(document),
      selection_(selection),
      model_(new MatrixModel(document, this)),
      table_(new QTableView),
      shows_(new QComboBox),
      words_(new QLabel),
      heat_(new HeatKey) {
    make_plain(*table_, tr("Matrix of links"));
    table_->setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed |
                            QAbstractItemView::AnyKeyPressed);
    table_->setSelectionBehavior(QAbstractItemView::SelectItems);
    table_->setSelectionMode(QAbstractItemView::ExtendedSelection);
    table_->verticalHeader()->show();
    table_->horizontalHeader()->setDefaultSectionSize(84);
    table_->setModel(model_);
    auto* cells = new HeatCells(table_);
    table_->setItemDelegate(cells);
    shows_->setObjectName("matrix_shows");
    shows_->setAccessibleName(tr("What the matrix shows"));
    shows_->addItem(tr("Latency"), static_cast<int>(MatrixShows::latency));
    shows_->addItem(tr("Bandwidth"), static_cast<int>(MatrixShows::bandwidth));
    shows_->addItem(tr("Uplink and downlink"), static_cast<int>(MatrixShows::connection));
    words_->setProperty("role", "small");
    words_->setWordWrap(true);
    auto* row = head_row();
    row->addWidget(shows_);
    row->addWidget(heat_);
    row->addStretch();
    row->addWidget(files_button());
    words_->setContentsMargins(size::wide_gap, 0, size::wide_gap, size::unit);
    auto* column = seamless_column(this);
    column->addLayout(row);
    column->addWidget(words_);  // whole, however narrow it is
    column->addWidget(table_, 1);
    const auto add = [this](const QString& text, const QKeySequence& keys, auto run) {
        auto* action = new QAction(text, table_);
        action->setShortcut(keys);
        action->setShortcutContext(Qt::WidgetShortcut);
        connect(action, &QAction::triggered, this, run);
        table_->addAction(action);
    };
    add(tr("Copy"), QKeySequence::Copy, [this] { copy(); });
    add(tr("Paste"), QKeySequence::Paste, [this] { paste(); });
    add(tr("Remove links"), QKeySequence(Qt::Key_Delete),
        [this] { model_->clear_cells(table_->selectionModel()->selectedIndexes()); });
    table_->setContextMenuPolicy(Qt::ActionsContextMenu);
    // As in a spreadsheet: Enter goes on to the cell below.
    connect(cells, &QAbstractItemDelegate::closeEditor, this,
            [this](QWidget*, QAbstractItemDelegate::EndEditHint hint) {
                if (hint != QAbstractItemDelegate::SubmitModelCache) return;
                const QModelIndex now = table_->currentIndex();
                if (const QModelIndex below = now.siblingAtRow(now.row() + 1); below.isValid())
                    table_->setCurrentIndex(below);
            });
    connect(shows_, &QComboBox::activated, this, [this] {
        model_->choose(static_cast<MatrixShows>(shows_->currentData().toInt()));
        follow();
    });
    connect(model_, &MatrixModel::refused, this, &MatrixPanel::told);
    connect(&document, &Document::changed, this, [this] {
        // Every pair of a large network is much to work out for who looks elsewhere.
        if (isVisible()) follow();
    });
    connect(table_->selectionModel(), &QItemSelectionModel::currentChanged, this, [this](const QModelIndex& now) {
        if (!now.isValid() || !isVisible()) return;
        const std::string &a = model_->row_end(now.row()).id, &b = model_->column_end(now.column()).id;
        if (model_->shows() == MatrixShows::connection) return selection_.select({.nodes = {a}});
        for (const auto& link : document_.experiment().topology.links)
            if ((link.from == a && link.to == b) || (link.both_ways && link.from == b && link.to == a))
                selection_.select({.links = {{link.from, link.to}}});
    });
    follow();
}

void MatrixPanel::copy() {
    QGuiApplication::clipboard()->setText(model_->text_of(table_->selectionModel()->selectedIndexes()));
}

void MatrixPanel::paste() {
    QModelIndex first;
    for (const auto& cell : table_->selectionModel()->selectedIndexes())
        if (!first.isValid() || cell.row() < first.row() ||
            (cell.row() == first.row() && cell.column() < first.column()))
            first = cell;
    model_->put_text(QGuiApplication::clipboard()->text(), first);
}

void MatrixPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    follow();
}

void MatrixPanel::follow() {
    model_->follow();
    const auto [quickest, slowest] = model_->heat_ends();
    heat_->show_ends(quickest, slowest);
    const bool hops = model_->shows() == MatrixShows::hop;
    shows_->setVisible(!hops);
    shows_->setCurrentIndex(std::max(0, shows_->findData(static_cast<int>(model_->shows()))));
    const auto& far = model_->outliers();
    QStringList named;
    for (const auto& cell : far) {
        if (named.size() == most_named_outliers) break;
        named << tr("%1 %2").arg(model_->pair(cell.row(), cell.column()), cell.data().toString());
    }
    QString text = model_->rowCount() == 0 ? tr("Latency and bandwidth of every pair appear here once there are nodes")
                   : hops ? tr("Seconds of a hop, as the experiment gives them: they replace the links")
                   : model_->shows() == MatrixShows::connection
                       ? tr("What all that a node sends, or receives, passes at most; an empty cell is no limit")
                       : tr("Type or paste what links have; an empty cell links nothing");
    if (!far.empty())
        text += QStringLiteral(". ") +
                (far.size() == 1 ? tr("1 value is far from all others: %1").arg(named.front())
                                 : tr("%1 values are far from all others: %2%3")
                                       .arg(far.size())
                                       .arg(named.join(", "),
                                            far.size() > most_named_outliers ? QStringLiteral(", …") : QString{}));
    words_->setText(text);
}

}  // namespace skippipe
