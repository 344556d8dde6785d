// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <vector>

#include <QDialog>
#include <QLineEdit>
#include <QListWidget>

namespace skippipe {

/// What can be found by its words, and done.
struct PaletteEntry {
    QString where, words, keys;
    std::function<void()> run;
    int likely = 0;  ///< its place before anything is typed: those with less stand first
};

/// Places in `entries` of those that have every word of `text`, in any order and case: where the entry's own words
/// begin with the text first, then where they have it, then the others, each in their order. Words may be written as
/// one: "layout". Without a text the likely ones first.
std::vector<std::size_t> find_entries(const std::vector<PaletteEntry>& entries, const QString& text);

/// A line to type into (`hint` while it is empty) and what it finds: Up and Down choose, Enter does it, Esc or a click
/// beside it leaves.
class CommandPalette : public QDialog {
    Q_OBJECT
public:
    CommandPalette(std::vector<PaletteEntry> entries, const QString& hint, QWidget* parent = nullptr);
    QLineEdit& line() { return *line_; }
    QListWidget& list() { return *list_; }

protected:
    bool eventFilter(QObject* object, QEvent* event) override;
    void paintEvent(QPaintEvent*) override;

private:
    void show_found();
    void run();

    std::vector<PaletteEntry> entries_;
    QLineEdit* line_;
    QListWidget* list_;
};

}  // namespace skippipe
