// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/theme/file_dialogs.h"

#include <QAbstractFileIconProvider>
#include <QApplication>
#include <QFileDialog>
#include <QRegularExpression>
#include <QStyle>

namespace skippipe {

namespace {

/// Asked from the thread that lists folders, which may outlive the dialog.
class NamesAlone : public QAbstractFileIconProvider {
public:
    using QAbstractFileIconProvider::icon;
    QIcon icon(const QFileInfo& file) const override { return file.isDir() ? folder_ : file_; }
    QString type(const QFileInfo& file) const override {
        return file.isDir() ? QFileDialog::tr("Folder") : file.suffix();
    }

private:
    const QIcon folder_ = QApplication::style()->standardIcon(QStyle::SP_DirIcon),
                file_ = QApplication::style()->standardIcon(QStyle::SP_FileIcon);
};

/// The ending of a filter's first pattern: "json" of "Experiments (*.json)".
QString first_ending_of(const QString& filter) {
    static const QRegularExpression first(QStringLiteral(R"(\*\.(\w+))"));
    return first.match(filter).captured(1);
}

QString choose_by_names(QFileDialog& dialog) {
    static auto* const names = new NamesAlone;
    dialog.setOption(QFileDialog::DontUseNativeDialog);
    dialog.setIconProvider(names);
    const bool chosen = dialog.exec() == QDialog::Accepted && !dialog.selectedFiles().isEmpty();
    return chosen ? dialog.selectedFiles().constFirst() : QString();
}

}  // namespace

QString ask_for_file(QWidget* parent, const QString& title, const QString& start, const QString& filter) {
    QFileDialog dialog(parent, title, QFileInfo(start).path(), filter);
    dialog.setFileMode(QFileDialog::ExistingFile);
    if (const QString name = QFileInfo(start).fileName(); !name.isEmpty()) dialog.selectFile(name);
    return choose_by_names(dialog);
}

QString ask_where_to_save(QWidget* parent, const QString& title, const QString& start, const QString& filter) {
    QFileDialog dialog(parent, title, QFileInfo(start).path(), filter);
    dialog.setAcceptMode(QFileDialog::AcceptSave);
    dialog.setFileMode(QFileDialog::AnyFile);
    // With its ending, which the dialog adds before it asks whether to replace a file.
    dialog.setDefaultSuffix(first_ending_of(dialog.selectedNameFilter()));
    QObject::connect(&dialog, &QFileDialog::filterSelected, &dialog,
                     [&](const QString& other) { dialog.setDefaultSuffix(first_ending_of(other)); });
    dialog.selectFile(QFileInfo(start).fileName());
    return choose_by_names(dialog);
}

QString ask_for_folder(QWidget* parent, const QString& title, const QString& start) {
    QFileDialog dialog(parent, title, start);
    dialog.setFileMode(QFileDialog::Directory);
    dialog.setOption(QFileDialog::ShowDirsOnly);
    return choose_by_names(dialog);
}

}  // namespace skippipe
