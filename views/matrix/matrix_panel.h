// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>

#include <QAbstractTableModel>
#include <QComboBox>
#include <QLabel>
#include <QPersistentModelIndex>
#include <QPushButton>
#include <QTableView>

#include "views/document/document.h"
#include "views/document/selection_model.h"
#include "views/document/file_reader.h"
#include "views/document/file_worker.h"
#include "views/matrix/matrix_values.h"
#include "views/matrix/network_files.h"

class QToolButton;

namespace skippipe {

class HeatKey;

/// In what the figures of a matrix are, said once for all of them.
struct MatrixUnit {
    double size = 1;  ///< of the document's base unit
    QString name;
};

/// The cells: values of the document, coloured from quick to slow; what is entered is an edit of it.
class MatrixModel : public QAbstractTableModel {
    Q_OBJECT
public:
    explicit MatrixModel(Document& document, QObject* parent = nullptr);
    int rowCount(const QModelIndex& = {}) const override { return static_cast<int>(rows_.size()); }
    int columnCount(const QModelIndex& = {}) const override { return static_cast<int>(columns_.size()); }
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation, int role) const override;
    Qt::ItemFlags flags(const QModelIndex& index) const override;
    bool setData(const QModelIndex& index, const QVariant& value, int role) override;

    /// What it shows from the next `follow` on.
    void choose(MatrixShows shows) { shows_ = shows; }
    MatrixShows shows() const { return shows_; }
    /// Takes the document's values as they are now.
    void follow();
    const MatrixEnd& row_end(int row) const { return rows_[static_cast<std::size_t>(row)]; }
    const MatrixEnd& column_end(int column) const { return columns_[static_cast<std::size_t>(column)]; }
    /// What a cell is of, in words.
    QString pair(int row, int column) const;
    const MatrixUnit& unit() const { return unit_; }
    /// A cell's value with its unit.
    QString words(const QModelIndex& cell) const;
    /// The quickest and the slowest value that colours tell apart, as figures; empty where they are the same.
    std::pair<QString, QString> heat_ends() const;
    /// Marks the heads of what is selected: nodes with their regions, regions, and both ends of links.
    void mark(const Selection& selected);
    /// Whether a cell's figure is its regions', not its own.
    bool is_inherited(const QModelIndex& cell) const { return inherited(cell.row(), cell.column()) >= 0; }
    bool has_inherited() const { return has_inherited_; }
    /// A model's role: why what was entered there was refused; empty where nothing was.
    static constexpr int refusal = Qt::UserRole;
    /// What was refused is over.
    void forget_refusal() { refuse({}, {}); }
    /// Cells far from the rest, row by row, in each from left to right.
    const std::vector<QModelIndex>& outliers() const { return outliers_; }
    bool is_far(const QModelIndex& cell) const { return std::binary_search(outliers_.begin(), outliers_.end(), cell); }
    /// Rows of cells with tabs between, as spreadsheets take them: figures in the unit that is shown, or in files' own
    /// with its name.
    QString text_of(const QModelIndexList& cells, bool names_unit = false) const;
    /// Puts such a text in, its first cell at `first`; all of it or nothing, as one edit. Figures without a unit are in
    /// the one that is shown.
    void put_text(const QString& text, const QModelIndex& first);
    /// Removes the links of these cells.
    void clear_cells(const QModelIndexList& cells);

Q_SIGNALS:
    /// Empty: it is over.
    void refused(const QString& why);

private:
    double value(int row, int column) const;
    double inherited(int row, int column) const;
    /// Where nothing can be: a link joins two nodes or two regions, and no node with itself.
    bool is_closed(int row, int column) const;
    QString inherited_from(int row, int column) const;
    void refuse(const QModelIndex& cell, const QString& why);
    QString fault_of(const QString& entered, const QString& fault) const;
    /// What is joined with itself.
    bool is_within(int row, int column) const { return shows_ != MatrixShows::connection && row == column; }
    /// More is quicker.
    bool is_rate() const { return shows_ == MatrixShows::bandwidth || shows_ == MatrixShows::connection; }
    QString figure(double value) const;
    QString tip(int row, int column) const;
    QString head(const std::vector<MatrixEnd>& ends, int place, const QString& between) const;

    Document& document_;
    MatrixShows shows_ = MatrixShows::latency;
    std::vector<MatrixEnd> rows_, columns_;
    std::vector<double> values_;     ///< row by row; negative: no link, no limit
    std::vector<double> inherited_;  ///< of pairs that have none, from their regions; negative: nothing
    bool has_inherited_ = false;
    QPersistentModelIndex refused_;
    QString refused_why_;
    std::vector<QModelIndex> outliers_;
    double least_ = 0, most_ = 0;
    MatrixUnit unit_;
    std::set<std::string> marked_;  ///< ids of ends
};

/// Latency, bandwidth or hop times of every pair, or nodes' own connections, to read, edit, copy and paste. It follows
/// the document while it is seen.
class MatrixPanel : public QWidget {
    Q_OBJECT
public:
    MatrixPanel(Document& document, SelectionModel& selection, QWidget* parent = nullptr);
    MatrixModel& model() { return *model_; }
    QTableView& table() { return *table_; }
    QLabel& words() { return *words_; }
    /// Says in what the figures are.
    QLabel& unit() { return *unit_; }
    const HeatKey& heat_key() const { return *heat_; }
    /// Leads from one of what is far from all others to the next; hidden where nothing is.
    QPushButton& far_button() { return *far_; }
    void copy();
    void paste();
    /// Adds what a file of another program holds, once it is read, as one edit; `told` says what came of it.
    void import_network(const std::filesystem::path& file);
    /// Writes the links; `told` says so.
    void export_network(const std::filesystem::path& file, NetworkFormat format);

Q_SIGNALS:
    /// Empty: what was told last is over.
    void told(const QString& what);

protected:
    void showEvent(QShowEvent*) override;
    void hideEvent(QHideEvent*) override;
    bool eventFilter(QObject* watched, QEvent* event) override;

private:
    void reveal_selected();
    void follow();
    void show_next_far();
    void fit_columns();
    QString words_on_cells() const;
    void take(const QString& name, const NetworkFile& file);
    QToolButton* files_button();

    Document& document_;
    SelectionModel& selection_;
    FileReader reader_;
    FileWorker writer_;
    MatrixModel* model_;
    QTableView* table_;
    QComboBox* shows_;
    QLabel *unit_, *words_;
    HeatKey* heat_;
    QPushButton* far_;
    std::map<std::string, int> drawn_widths_;  ///< of columns whose edge was drawn by hand, by their ends' names
    bool is_fitting_ = false;
};

}  // namespace skippipe
