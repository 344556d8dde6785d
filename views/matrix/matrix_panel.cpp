// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/matrix/matrix_panel.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <QAction>
#include <QClipboard>
#include <QGuiApplication>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QMimeData>
#include <QPainter>
#include <QStyledItemDelegate>
#include <QToolButton>
#include <QVBoxLayout>

#include "views/inspector/field_text.h"
#include "views/matrix/heat_key.h"
#include "views/matrix/marked_header.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"

namespace skippipe {
namespace {

constexpr int most_named_outliers = 2;
constexpr const char* cells_mime = "application/x-skippipe-cells";
constexpr int least_cell = 40, most_cell = 120;  ///< pixels across

QString cell_text(double value, MatrixShows shows) {
    const bool rate = shows == MatrixShows::bandwidth || shows == MatrixShows::connection;
    return rate ? quantity(8 * value, "bit/s") : duration(value);
}

/// That in which most of these values have few digits; values that are not positive count for nothing.
MatrixUnit unit_of(std::vector<double> values, bool is_rate) {
    values.erase(std::remove_if(values.begin(), values.end(), [](double value) { return value <= 0; }), values.end());
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    if (!values.empty()) std::nth_element(values.begin(), middle, values.end());
    const double typical = values.empty() ? 0 : *middle;
    const std::vector<MatrixUnit> units =
        is_rate ? std::vector<MatrixUnit>{{1.25e8, QStringLiteral("Gbit/s")},
                                          {1.25e5, QStringLiteral("Mbit/s")},
                                          {125, QStringLiteral("kbit/s")},
                                          {0.125, QStringLiteral("bit/s")}}
                : std::vector<MatrixUnit>{
                      {1, QStringLiteral("s")}, {1e-3, QStringLiteral("ms")}, {1e-6, QStringLiteral("µs")}};
    if (typical <= 0) return units[1];
    const auto fits = std::find_if(units.begin(), units.end(), [&](const auto& unit) { return typical >= unit.size; });
    return fits == units.end() ? units.back() : *fits;
}

/// Pixels of a cell in which its figure is whole.
int width_of(const QTableView& table, const QModelIndex& cell) {
    QStyleOptionViewItem option;
    option.initFrom(&table);
    option.widget = &table;
    option.font = table.font();
    return table.itemDelegate()->sizeHint(option, cell).width();
}

/// Grounds of cells, which the style sheet would leave out; a ring round the one at hand, which among cells of the same
/// hue would hardly be told.
class HeatCells final : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        const auto ground = index.data(Qt::BackgroundRole).value<QBrush>();
        if (ground.style() != Qt::NoBrush && !(option.state & QStyle::State_Selected)) {
            if (ground.style() != Qt::SolidPattern) painter->fillRect(option.rect, theme().surface_2);
            painter->fillRect(option.rect, ground);
        }
        QStyledItemDelegate::paint(painter, option, index);
        const auto* table = qobject_cast<const QTableView*>(parent());
        const bool is_refused = !index.data(MatrixModel::refusal).toString().isEmpty();
        const bool is_at_hand =
            option.state & QStyle::State_Selected && table != nullptr && index == table->currentIndex();
        if (!is_refused && !is_at_hand) return;
        painter->save();
        painter->setPen(QPen(is_refused ? theme().bad : theme().accent, 2));
        painter->drawRect(option.rect.adjusted(1, 1, -1, -1));
        painter->restore();
    }
};

}  // namespace

MatrixModel::MatrixModel(Document& document, QObject* parent) : QAbstractTableModel(parent), document_(document) {
    follow();
}

double MatrixModel::value(int row, int column) const {
    return values_[static_cast<std::size_t>(row) * columns_.size() + static_cast<std::size_t>(column)];
}

double MatrixModel::inherited(int row, int column) const {
    return inherited_[static_cast<std::size_t>(row) * columns_.size() + static_cast<std::size_t>(column)];
}

bool MatrixModel::is_closed(int row, int column) const {
    if (shows_ == MatrixShows::connection) return false;
    const bool is_region = row_end(row).is_region;
    return is_region != column_end(column).is_region || (row == column && !is_region);
}

/// "inside east", "from east to west": whose link it is.
QString MatrixModel::inherited_from(int row, int column) const {
    const QString from = QString::fromStdString(row_end(row).region),
                  to = QString::fromStdString(column_end(column).region);
    return from == to ? tr("as between all nodes of %1").arg(from) : tr("by the link of %1 to %2").arg(from, to);
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
    inherited_ = inherited_values(e, rows_, columns_, shows_);
    has_inherited_ = std::any_of(inherited_.begin(), inherited_.end(), [](double v) { return v >= 0; });
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
    unit_ = unit_of(between, is_rate());
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
    const QString least = figure(least_), most = figure(most_);
    return is_rate() ? std::pair{most, least} : std::pair{least, most};
}

QString MatrixModel::figure(double value) const { return three_digits(value / unit_.size); }

QString MatrixModel::words(const QModelIndex& cell) const {
    const double v = value(cell.row(), cell.column());
    if (is_inherited(cell))
        return tr("%1, %2").arg(cell_text(inherited(cell.row(), cell.column()), shows_),
                                inherited_from(cell.row(), cell.column()));
    return v < 0 ? QString{} : cell_text(v, shows_);
}

QString MatrixModel::tip(int row, int column) const {
    const double v = value(row, column);
    if (is_within(row, column))
        return v < 0 ? QString{} : tr("Between nodes of %1").arg(QString::fromStdString(row_end(row).id));
    if (is_closed(row, column)) return tr("A link joins two nodes or two regions");
    if (is_inherited(index(row, column)))
        return tr("%1: %2. A value here makes a link of their own").arg(pair(row, column), words(index(row, column)));
    if (v < 0)
        return (shows_ == MatrixShows::connection ? tr("%1: no limit; a value is what all it carries passes")
                                                  : tr("%1: not linked; a value links them"))
            .arg(pair(row, column));
    const bool far = is_far(index(row, column));
    return tr("%1: %2").arg(pair(row, column), cell_text(v, shows_)) +
           (far ? tr("\nFar from all the others: a mistaken unit?") : QString{});
}

QVariant MatrixModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const double own = value(index.row(), index.column());
    const double v = is_inherited(index) ? inherited(index.row(), index.column()) : own;
    const bool far = is_far(index);
    const bool has_none = is_within(index.row(), index.column()) || is_closed(index.row(), index.column());
    const QString why = refused_ == index ? refused_why_ : QString{};
    switch (role) {
        case Qt::DisplayRole: return v >= 0 ? figure(v) : has_none ? QString{} : QStringLiteral("–");
        case Qt::AccessibleTextRole: return words(index);
        case Qt::EditRole: return v >= 0 ? to_field(v, matrix_info(shows_)) : QString{};
        case refusal: return why;
        case Qt::TextAlignmentRole: return static_cast<int>(Qt::AlignRight | Qt::AlignVCenter);
        case Qt::ToolTipRole: return why.isEmpty() ? tip(index.row(), index.column()) : why;
        case Qt::FontRole: {
            if (!is_inherited(index)) return {};
            QFont font = body_font();  // slanted: paleness alone may not be seen
            font.setItalic(true);
            return font;
        }
        case Qt::ForegroundRole:
            return far ? theme().text_on(theme().warning) : is_inherited(index) ? theme().text_2 : QVariant{};
        case Qt::BackgroundRole: break;
        default: return {};
    }
    if (far) return theme().warning;
    // What is joined with itself is on no scale.
    if (has_none) return QBrush(theme().line, Qt::BDiagPattern);
    if (own <= 0 || most_ <= least_) return {};
    const double share = std::log(own / least_) / std::log(most_ / least_);
    return heat_colour(is_rate() ? 1 - share : share);
}

QVariant MatrixModel::headerData(int section, Qt::Orientation orientation, int role) const {
    const auto& ends = orientation == Qt::Vertical ? rows_ : columns_;
    const MatrixEnd& end = ends[static_cast<std::size_t>(section)];
    switch (role) {
        case Qt::DisplayRole:
            return head(ends, section, orientation == Qt::Vertical ? QStringLiteral("  ") : QStringLiteral("\n"));
        case Qt::ToolTipRole: return QString::fromStdString(end.region.empty() ? end.id : end.id + ", " + end.region);
        case MarkedHeader::marked: return marked_.contains(end.id);
        case Qt::TextAlignmentRole:
            return static_cast<int>(orientation == Qt::Vertical ? Qt::AlignRight | Qt::AlignVCenter : Qt::AlignCenter);
        default: return {};
    }
}

/// Nodes stand by region, whose name the first of them has before its own.
QString MatrixModel::head(const std::vector<MatrixEnd>& ends, int place, const QString& between) const {
    const auto& end = ends[static_cast<std::size_t>(place)];
    QString id = QString::fromStdString(end.id);
    const bool has_regions = std::any_of(ends.begin(), ends.end(), [](const auto& one) { return !one.region.empty(); });
    if (!has_regions) return id;
    const bool is_first = place == 0 || ends[static_cast<std::size_t>(place) - 1].region != end.region;
    if (is_first) return QString::fromStdString(end.region) + between + id;
    return between == QStringLiteral("\n") ? between + id : id;
}

void MatrixModel::mark(const Selection& selected) {
    std::set<std::string> ids = selected.nodes;
    ids.insert(selected.regions.begin(), selected.regions.end());
    for (const auto& link : selected.links) ids.insert({link.from, link.to});
    for (const auto& node : document_.experiment().topology.nodes)
        if (selected.nodes.contains(node.id) && !node.region.empty()) ids.insert(node.region);
    if (ids == marked_) return;
    marked_ = std::move(ids);
    if (!rows_.empty()) Q_EMIT headerDataChanged(Qt::Vertical, 0, rowCount() - 1);
    if (!columns_.empty()) Q_EMIT headerDataChanged(Qt::Horizontal, 0, columnCount() - 1);
}

Qt::ItemFlags MatrixModel::flags(const QModelIndex& index) const {
    return QAbstractTableModel::flags(index) |
           (is_closed(index.row(), index.column()) ? Qt::NoItemFlags : Qt::ItemIsEditable);
}

bool MatrixModel::setData(const QModelIndex& index, const QVariant& value, int role) {
    if (role != Qt::EditRole || !index.isValid()) return false;
    const QString text = value.toString().trimmed();
    if (text == data(index, Qt::EditRole).toString()) return false;
    put_text(text.isEmpty() ? QStringLiteral("–") : text, index);
    return true;
}

QString MatrixModel::text_of(const QModelIndexList& cells, bool names_unit) const {
    constexpr int exact = 15;  // digits, of which a product by the unit's size keeps all
    const auto figure_of = [&](double v) {
        return names_unit ? to_field(v) + ' ' + QString::fromUtf8(matrix_info(shows_).unit)
                          : QString::number(v / unit_.size, 'g', exact);
    };
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
            // What regions give is copied for other programs alone: here it would make links.
            const bool is_lent = !names_unit && is_inherited(index(row, column));
            const double v = is_lent ? inherited(row, column) : value(row, column);
            line << (v >= 0 && cells.contains(index(row, column)) ? figure_of(v) : QString{});
        }
        lines << line.join('\t');
    }
    return lines.join('\n');
}

void MatrixModel::put_text(const QString& text, const QModelIndex& first) {
    if (!first.isValid()) return refuse({}, tr("Choose the cell where the values begin"));
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
            if (cell.isEmpty()) continue;
            const QModelIndex there = index(row, column);
            if (is_within(row, column) && !row_end(std::min(row, rowCount() - 1)).is_region) continue;
            if (!there.isValid())
                return refuse({},
                              tr("Row %1, column %2: there is no such pair; nothing was put in").arg(r + 1).arg(c + 1));
            std::optional<double> value;
            if (cell != QStringLiteral("–") && cell != QStringLiteral("-")) {
                bool is_bare = false;
                cell.toDouble(&is_bare);
                const auto read =
                    read_field(is_bare ? cell + ' ' + unit_.name : cell, info, static_cast<double*>(nullptr));
                if (!read.value) return refuse(there, fault_of(cell, read.fault));
                value = *read.value;
            }
            if (const QString why = set_matrix_value(changed, row_end(row), column_end(column), shows_, value);
                !why.isEmpty())
                return refuse(there, why + tr("; nothing was put in"));
        }
    }
    forget_refusal();
    document_.edit(tr("Matrix"), [&](Experiment& e) { e = changed; });
}

/// In the unit that is shown.
QString MatrixModel::fault_of(const QString& entered, const QString& fault) const {
    const bool is_number = read_number(entered, matrix_info(shows_).unit).has_value();
    const QString why = is_number ? fault : tr("\"%1\" is no number of %2").arg(entered, unit_.name);
    return why + tr("; nothing was put in");
}

/// Marks the cell and says why, with the pair that it is of.
void MatrixModel::refuse(const QModelIndex& cell, const QString& why) {
    if (refused_why_.isEmpty() && why.isEmpty()) return;
    const QModelIndex before = refused_;
    refused_ = cell;
    refused_why_ = why;
    for (const QModelIndex& changed : {before, cell})
        if (changed.isValid()) Q_EMIT dataChanged(changed, changed);
    Q_EMIT refused(cell.isValid() ? tr("%1: %2").arg(pair(cell.row(), cell.column()), why) : why);
}

void MatrixModel::clear_cells(const QModelIndexList& cells) {
    if (shows_ == MatrixShows::hop) return refuse({}, tr("A matrix of hops has a value for each pair"));
    forget_refusal();
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
      unit_(new QLabel),
      words_(new QLabel),
      heat_(new HeatKey),
      far_(new QPushButton) {
    table_->setHorizontalHeader(new MarkedHeader(Qt::Horizontal));
    table_->setVerticalHeader(new MarkedHeader(Qt::Vertical));
    make_plain(*table_, tr("Matrix of links"));
    table_->setProperty("role", "narrow");  // as many columns as can be are seen
    table_->setEditTriggers(QAbstractItemView::DoubleClicked | QAbstractItemView::EditKeyPressed |
                            QAbstractItemView::AnyKeyPressed);
    table_->setSelectionBehavior(QAbstractItemView::SelectItems);
    table_->setSelectionMode(QAbstractItemView::ExtendedSelection);
    table_->verticalHeader()->show();
    far_->setObjectName("show_far");
    far_->setProperty("role", "link");
    far_->setToolTip(tr("Goes to the next value that is far from all others"));
    far_->hide();
    connect(far_, &QPushButton::clicked, this, &MatrixPanel::show_next_far);
    connect(&selection, &SelectionModel::changed, this, [this] {
        model_->mark(selection_.now());
        reveal_selected();
    });
    table_->setModel(model_);
    table_->viewport()->installEventFilter(this);
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
    unit_->setProperty("role", "secondary");
    row->addWidget(unit_);
    row->addWidget(heat_);
    row->addWidget(far_);
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
        model_->forget_refusal();
        model_->choose(static_cast<MatrixShows>(shows_->currentData().toInt()));
        follow();
    });
    connect(table_->horizontalHeader(), &QHeaderView::sectionResized, this, [this](int column, int, int wide) {
        if (!is_fitting_) drawn_widths_[model_->column_end(column).id] = wide;
    });
    connect(&document, &Document::replacing, this, [this] { drawn_widths_.clear(); });  // of other things
    connect(model_, &MatrixModel::refused, this, &MatrixPanel::told);
    connect(&document, &Document::changed, this, [this] {
        model_->forget_refusal();  // which changed nothing: this is something else
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
    // For other programs plain numbers; here, where another unit may be shown by then, each with its own.
    const auto cells = table_->selectionModel()->selectedIndexes();
    auto* copied = new QMimeData;
    copied->setText(model_->text_of(cells));
    copied->setData(cells_mime, model_->text_of(cells, true).toUtf8());
    QGuiApplication::clipboard()->setMimeData(copied);
}

void MatrixPanel::paste() {
    QModelIndex first;
    for (const auto& cell : table_->selectionModel()->selectedIndexes())
        if (!first.isValid() || cell.row() < first.row() ||
            (cell.row() == first.row() && cell.column() < first.column()))
            first = cell;
    const auto* copied = QGuiApplication::clipboard()->mimeData();
    const bool is_ours = copied != nullptr && copied->hasFormat(cells_mime);
    model_->put_text(is_ours ? QString::fromUtf8(copied->data(cells_mime)) : QGuiApplication::clipboard()->text(),
                     first);
}

void MatrixPanel::showEvent(QShowEvent* event) {
    QWidget::showEvent(event);
    follow();
    QMetaObject::invokeMethod(this, &MatrixPanel::reveal_selected, Qt::QueuedConnection);  // once it has its size
}

/// What was refused is told here and nowhere else.
void MatrixPanel::hideEvent(QHideEvent* event) {
    QWidget::hideEvent(event);
    model_->forget_refusal();
}

/// One thing that is selected elsewhere: its own cell, or a link's.
void MatrixPanel::reveal_selected() {
    const Selection& s = selection_.now();
    if (!isVisible() || table_->hasFocus() || s.nodes.size() + s.regions.size() + s.links.size() != 1) return;
    const auto is_marked = [&](int section, Qt::Orientation way) {
        return model_->headerData(section, way, MarkedHeader::marked).toBool();
    };
    int row = 0, column = model_->columnCount() - 1;
    while (row < model_->rowCount() && !is_marked(row, Qt::Vertical)) ++row;
    while (column >= 0 && !is_marked(column, Qt::Horizontal)) --column;
    if (row < model_->rowCount()) table_->scrollTo(model_->index(row, std::max(0, column)));
}

void MatrixPanel::follow() {
    is_fitting_ = true;  // a model that begins anew sizes its columns
    model_->follow();
    fit_columns();
    is_fitting_ = false;
    const auto [quickest, slowest] = model_->heat_ends();
    heat_->show_ends(quickest, slowest, model_->unit().name);
    const bool hops = model_->shows() == MatrixShows::hop;
    shows_->setVisible(!hops);
    shows_->setCurrentIndex(std::max(0, shows_->findData(static_cast<int>(model_->shows()))));
    unit_->setText((hops ? tr("Time of a hop in %1") : tr("in %1")).arg(model_->unit().name));
    unit_->setVisible(model_->rowCount() > 0);
    model_->mark(selection_.now());
    far_->setText(tr("Show %1 far off").arg(model_->outliers().size()));
    far_->setVisible(!model_->outliers().empty());
    words_->setText(words_on_cells());
}

/// How cells are filled, and which are far from all others.
QString MatrixPanel::words_on_cells() const {
    if (model_->rowCount() == 0) return tr("Latency and bandwidth of every pair appear here once there are nodes");
    const QString filled =
        tr("Figures, typed or pasted, are %1 unless they name another unit").arg(model_->unit().name);
    QString text =
        model_->shows() == MatrixShows::hop ? tr("Hop times replace the links. %1").arg(filled)
        : model_->shows() == MatrixShows::connection
            ? tr("What all that a node sends, or receives, passes at most; an empty cell is no limit. %1").arg(filled)
        : model_->has_inherited() ? tr("Pale figures are the regions', – is no link. %1").arg(filled)
                                  : tr("An empty cell links nothing. %1").arg(filled);
    const auto& far = model_->outliers();
    if (far.empty()) return text;
    QStringList named;
    for (const auto& cell : far) {
        if (named.size() == most_named_outliers) break;
        named << tr("%1 %2").arg(model_->pair(cell.row(), cell.column()), unbroken(model_->words(cell)));
    }
    return text + QStringLiteral(". ") +
           (far.size() == 1
                ? tr("1 value is far from all others: %1").arg(named.front())
                : tr("%1 values are far from all others: %2%3")
                      .arg(far.size())
                      .arg(named.join(", "), far.size() > most_named_outliers ? QStringLiteral(", …") : QString{}));
}

void MatrixPanel::show_next_far() {
    const auto& far = model_->outliers();
    if (far.empty()) return;
    const auto now = std::find(far.begin(), far.end(), table_->currentIndex());
    const QModelIndex next = now == far.end() || std::next(now) == far.end() ? far.front() : *std::next(now);
    table_->setCurrentIndex(next);
    table_->scrollTo(next, QAbstractItemView::PositionAtCenter);
    table_->setFocus();
}

/// As wide as heads and values need, unless drawn by hand; narrower, with heads that stand upright, where all columns
/// have room so; else a little wider, so that none is cut at the edge. What is far off may be cut, its tip has it.
void MatrixPanel::fit_columns() {
    const QFontMetrics font(table_->font()), of_heads(small_font());
    int widest = -1, heads = 0;
    QModelIndex longest;
    for (int row = 0; row < std::min(model_->rowCount(), 64); ++row)
        for (int column = 0; column < std::min(model_->columnCount(), 64); ++column)
            if (const QModelIndex cell = model_->index(row, column); !model_->is_far(cell))
                if (const int wide = font.horizontalAdvance(cell.data().toString()); wide > widest)
                    widest = wide, longest = cell;
    const int figures = std::max(least_cell, longest.isValid() ? width_of(*table_, longest) : 0);
    for (int column = 0; column < std::min(model_->columnCount(), 64); ++column)
        for (const auto& line : model_->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString().split('\n'))
            heads = std::max(heads, of_heads.horizontalAdvance(line) + 2 * size::gap);
    const int need = std::min(std::max(figures, heads), most_cell), room = table_->viewport()->width();
    const int columns = std::max(1, model_->columnCount()), whole = std::max(1, room / std::max(1, need));
    const bool all_fit = columns * figures <= room, is_narrow = all_fit && columns * need > room;
    auto& head = static_cast<MarkedHeader&>(*table_->horizontalHeader());
    head.setMinimumSectionSize(std::min(least_cell, figures));
    // Of more than there is room for none is cut at the edge.
    head.setDefaultSectionSize(is_narrow                ? room / columns
                               : columns * need <= room ? need
                                                        : std::max(need, room / whole));
    head.set_upright(is_narrow);
    if (drawn_widths_.empty()) return;
    for (int column = 0; column < model_->columnCount(); ++column)
        if (const auto drawn = drawn_widths_.find(model_->column_end(column).id); drawn != drawn_widths_.end())
            head.resizeSection(column, drawn->second);
}

/// Columns follow the room that cells have.
bool MatrixPanel::eventFilter(QObject* watched, QEvent* event) {
    if (watched == table_->viewport() && event->type() == QEvent::Resize && !std::exchange(is_fitting_, true)) {
        fit_columns();
        is_fitting_ = false;
    }
    return QWidget::eventFilter(watched, event);
}

}  // namespace skippipe
