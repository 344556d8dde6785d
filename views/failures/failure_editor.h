// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>

#include <QObject>

#include "core/experiment/document.h"
#include "views/document/file_reader.h"
#include "views/document/selection_model.h"

class QMenu;

namespace skippipe {

class Document;

/// What the window does to the document's failures, each an edit that can be undone; shared by the canvas's menu, the
/// inspector and the axis.
class FailureEditor : public QObject {
    Q_OBJECT
public:
    FailureEditor(Document& document, SelectionModel& selection, QObject* parent = nullptr);

    /// Network time of an iteration of the plan, for sensible values; 0: not known.
    void set_iteration_s(double seconds) { iteration_s_ = seconds; }
    double iteration_s() const { return iteration_s_; }

    /// Adds one with sensible values and selects it alone, so that the inspector shows it.
    void add(FailureKind kind, const std::string& target);
    /// A crash at a network time; what is selected stays so beside it.
    void add_crash(const std::string& target, double at_s);
    void remove(std::size_t index);
    void select(std::size_t index);
    /// Adds the crashes of a CSV of node,down_s,up_s, once it is read; `told` says so.
    void import_trace(const std::filesystem::path& file);
    /// Asks for the file.
    void ask_for_trace(QWidget* parent);

    /// What can fail of a node or link: an entry "Fail" with a menu of its own.
    void fill_menu(const Selection& subject, QMenu& menu);
    /// Every kind that there is, and import.
    void fill_add_menu(QMenu& menu);

Q_SIGNALS:
    void told(const QString& what);  ///< a trace was read, or why it could not be

private:
    void follow_document();
    void add_trace(const QString& name, const std::vector<Failure>& crashes);

    Document& document_;
    SelectionModel& selection_;
    std::vector<Failure> known_;  ///< as they were, to know which one is selected after the list has changed
    double iteration_s_ = 0;
    FileReader reader_;
};

}  // namespace skippipe
