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

/// Unsaved work of a window that is gone.
struct FoundWork {
    std::filesystem::path recovery_file;
    std::filesystem::path document_file;  ///< empty: never saved
    QDateTime written;
    Experiment experiment;
};

/// Keeps unsaved work in a file of its own (never the user's), a moment after each edit, and removes it when the
/// document is saved or `discard` is called: a window that closes as wished does. Whatever else ends the window leaves
/// the work to be found.
class DocumentRecovery : public QObject {
    Q_OBJECT
public:
    /// `folder` is made where missing; nothing is kept where that fails.
    DocumentRecovery(Document& document, std::filesystem::path folder, QObject* parent = nullptr);
    ~DocumentRecovery() override;

    /// Writes now what waits to be written.
    void write();
    /// Forgets this window's unsaved work: the user chose to.
    void discard();

    /// Work whose windows no longer run, newest first. Files that cannot be read are left where they are.
    static std::vector<FoundWork> find(const std::filesystem::path& folder);
    static void remove(const FoundWork& work);

private:
    void schedule();

    Document& document_;
    std::filesystem::path folder_, file_;
    std::unique_ptr<QLockFile> lock_;
    QTimer timer_;
};

}  // namespace skippipe
