// SPDX-License-Identifier: GPL-3.0-or-later
// Widgets as the whole window has them.
#pragma once
#include <QString>

class QHBoxLayout;
class QLabel;
class QMenu;
class QTableView;
class QVBoxLayout;
class QWidget;

namespace skippipe {

/// A splitter's property: its page divides it until somebody draws its edge; settings keep that.
inline constexpr const char* fits_by_itself = "fits_by_itself";

/// What all tables look like: rows of one height without a grid or numbers, and nothing edited in place. `name` is what
/// a screen reader says.
void make_plain(QTableView& table, const QString& name);

/// A plain table of words and figures that are only read: no header, nothing to select.
void make_figures(QTableView& table, const QString& name);

/// Rows as high as their words need, wrapped in their columns, and no lower than others.
void wrap_rows(QTableView& table);

/// Words that wrap; `role` as the style sheet knows it: "heading", "secondary", "small".
QLabel* words_label(const QString& text, const char* role);

/// A heading above a menu's next entries: where a style sheet is set, styles draw no title of a section.
void add_heading(QMenu* menu, const QString& words);

/// Entries that are ticked leave it open: several are ticked one after the other.
void stay_open(QMenu& menu);

/// A column of `parent` whose parts touch each other and its edges.
QVBoxLayout* seamless_column(QWidget* parent);

/// The row above a panel's table: what is chosen there, and words.
QHBoxLayout* head_row();

}  // namespace skippipe
