// SPDX-License-Identifier: GPL-3.0-or-later
// Widgets as the whole window has them.
#pragma once
#include <QString>

class QLabel;
class QTableView;

namespace skippipe {

/// What all tables look like: rows of one height without a grid or numbers, and nothing edited in place. `name` is what
/// a screen reader says.
void make_plain(QTableView& table, const QString& name);

/// A plain table of words and figures that are only read: no header, nothing to select.
void make_figures(QTableView& table, const QString& name);

/// Words that wrap; `role` as the style sheet knows it: "heading", "secondary", "small".
QLabel* words_label(const QString& text, const char* role);

}  // namespace skippipe
