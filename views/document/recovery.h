// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <filesystem>
#include <memory>
#include <vector>

#include <QDateTime>
#include <QLockFile>
#include <QObject>
#include <QTimer>

#include "core/experiment/document.h"

namespace skippipe {

class Document;
class FileWorker;

/// Unsaved work of a window that is gone.
struct FoundWork {
    std::filesystem::path recovery_file;
    std::filesystem::path document_file;  ///< empty: never saved
    QDateTime written;
    Experiment experiment;
    std::string schema;  ///< that its file names
};

/// Keeps unsaved work in a file of its own (never the user's), a moment after each edit and before each launch,
/// and removes it when the document is saved or `discard` is called: a window that closes as wished does. Whatever else
/// ends the window leaves the work to be found. `files` does what touches the disk.
class DocumentRecovery : public QObject {
    Q_OBJECT
public:
    /// `folder` is made where missing. `files` outlives it.
    DocumentRecovery(Document& document, FileWorker& files, std::filesystem::path folder, QObject* parent = nullptr);
    /// What waits to be written is.
    ~DocumentRecovery() override;

    /// Does not wait any longer to hand over what is to be written.
    void write();
    /// Forgets this window's unsaved work: the user chose to.
    void discard();

    /// Work whose windows no longer run, newest first. Files that cannot be read are left where they are.
    static std::vector<FoundWork> find(const std::filesystem::path& folder);
    static void remove(const FoundWork& work);

Q_SIGNALS:
    /// Work cannot be kept; told once, until it can again.
    void failed(const QString& why);

private:
    struct Copy;
    void schedule();
    void follow(const QString& fault);

    Document& document_;
    FileWorker& files_;
    std::filesystem::path folder_;
    std::shared_ptr<Copy> copy_;  ///< null: none was written
    QTimer timer_;
    bool fails_ = false;
};

}  // namespace skippipe
