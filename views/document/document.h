// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <functional>
#include <map>

#include <QObject>
#include <QUndoStack>

#include "core/base/fault.h"
#include "core/experiment/document.h"
#include "views/document/selection.h"

namespace skippipe {

/// A document's file as it was read.
struct DocumentFile {
    std::filesystem::path path;
    Experiment experiment;    ///< as far as it could be understood
    Faults faults;            ///< that only the text can show
    std::string schema = {};  ///< its "$schema", which a save keeps
};

/// Touches nothing but the disk: any thread may call it. Throws InputError where the file cannot be read at all.
DocumentFile read_document(const std::filesystem::path& file);

/// The experiment that all views share: its value, undo, faults and file. One edit is one undo command.
class Document : public QObject {
    Q_OBJECT
public:
    explicit Document(QObject* parent = nullptr);
    ~Document() override;

    const Experiment& experiment() const { return experiment_; }
    /// Faults of the file as it was read (kept until the first save, or another value in their field) and of the
    /// document as it stands.
    const Faults& faults() const { return faults_; }
    /// Texts that fields refused: they are no part of the experiment, but nothing should be launched past them.
    Faults refusals() const;
    /// A field's text that was refused, or with an empty `what` its end. `field` is its place in the window.
    void set_refused(const QString& field, const QString& what);
    void clear_refused();
    QUndoStack& undo_stack() { return stack_; }

    /// Whether the number of stages follows the number of nodes: of a drawing that began empty, until somebody sets it.
    bool stages_follow_nodes() const { return most_stages_ > 0; }

    /// Applies `change` to a copy and pushes one undo command where that makes a difference. Edits that follow each
    /// other with the same `merge` key (a drag, typing in one field) become one command.
    void edit(const QString& what, const std::function<void(Experiment&)>& change, const QString& merge = {});
    /// Ends merging: the next edit is a command of its own whatever its key.
    void end_merge() { ++merge_serial_; }

    /// A document without a file.
    void start_new(Experiment experiment);
    /// Shows a file that was read. One with faults opens as far as it could be understood, with the faults listed; the
    /// file itself is not touched.
    void open(DocumentFile file);
    /// Writes atomically. Where the file had faults when it was read, its text is first kept beside it as
    /// FILE.before-repair. Throws InputError.
    void save(const std::filesystem::path& file);
    /// Takes over work found after a crash: the file it belongs to (may be empty) and its "$schema", unsaved.
    void recover(Experiment experiment, const std::filesystem::path& file, std::string schema = {});
    /// The file's "$schema".
    const std::string& schema() const { return schema_; }

    const std::filesystem::path& file() const { return file_; }
    bool is_modified() const { return recovered_ || !stack_.isClean(); }
    bool file_has_faults() const { return !file_faults_.empty(); }
    /// Whether only the file's text shows that fault: the document has another value there.
    bool is_of_file(const Fault& fault) const;

Q_SIGNALS:
    void replacing();  ///< another document comes: nothing of this one is selected any more
    void changed();    ///< the experiment's value
    void faults_changed();
    void file_changed();  ///< path or saved state
    void replaced();      ///< another document: cameras may move

private:
    friend class SetExperiment;
    void set(const Experiment& experiment);
    void check();
    void let_stages_follow(Experiment& after);
    void start(Experiment experiment, std::filesystem::path file, Faults file_faults);

    Experiment experiment_;
    Experiment as_read_;  ///< what a file with faults was understood as
    Faults faults_, file_faults_;
    std::map<QString, QString> refused_;
    QUndoStack stack_;
    std::filesystem::path file_;
    std::string schema_;  ///< of the file, as it was read
    int merge_serial_ = 0;
    int most_stages_ = 0;  ///< of stages that follow the nodes; 0: they do not
    bool recovered_ = false;
};

/// What a fault's JSON pointer speaks of: a node, link, region or failure of the document, or nothing of these.
Selection subject_of(const std::string& pointer, const Experiment& experiment);

}  // namespace skippipe
