// SPDX-License-Identifier: GPL-3.0-or-later
// Where files are asked for. As Qt's own dialogs, and the desktop's that run in this process, would have it, the head
// of every file of a folder is read to choose its icon: closing the record's would give up the locks that SQLite holds
// on it (fcntl's rule), and the next program to leave would take its log away. These go by names alone.
#pragma once
#include <QString>

class QWidget;

namespace skippipe {

/// The chosen file; empty where none was. `filter` as QFileDialog has it: "Records (*.sqlite);;All files (*)".
QString ask_for_file(QWidget* parent, const QString& title, const QString& start, const QString& filter = {});
/// Where to write: `start` is offered, a name without an ending gets the filter's, and a file that is there is asked
/// for.
QString ask_where_to_save(QWidget* parent, const QString& title, const QString& start, const QString& filter);
QString ask_for_folder(QWidget* parent, const QString& title, const QString& start);

}  // namespace skippipe
