// SPDX-License-Identifier: GPL-3.0-or-later
// The matrix panel's files.
#include <fstream>
#include <iterator>

#include <QMenu>
#include <QToolButton>

#include "core/base/fault.h"
#include "core/experiment/io.h"
#include "views/matrix/matrix_panel.h"
#include "views/theme/file_dialogs.h"

namespace skippipe {
namespace {

constexpr std::uintmax_t most_bytes = 64 << 20;

struct FileKind {
    NetworkFormat format;
    const char* words;
    const char* name;
    const char* filter;
};
constexpr FileKind kinds[] = {
    {NetworkFormat::csv, "Export links as CSV…", "links.csv", "CSV (*.csv)"},
    {NetworkFormat::graphml, "Export network as GraphML…", "network.graphml", "GraphML (*.graphml)"},
    {NetworkFormat::authors_json, "Export regions as the authors' JSON…", "links.json", "JSON (*.json)"}};

QByteArray bytes_of(const std::filesystem::path& file) {
    std::error_code error;
    if (const auto size = std::filesystem::file_size(file, error); !error && size > most_bytes)
        throw InputError(file.string(), "it has over 64 MB", "no network is that large", "Choose another file");
    std::ifstream in(file, std::ios::binary);
    if (!in) throw InputError(file.string(), "it cannot be read", "", "Check that it is there and may be read");
    const std::string text{std::istreambuf_iterator<char>(in), {}};
    return QByteArray::fromStdString(text);
}

QString count_of(int count, const QString& one, const QString& many) {
    return count == 1 ? QObject::tr("1 %1").arg(one) : QObject::tr("%1 %2").arg(count).arg(many);
}

}  // namespace

QToolButton* MatrixPanel::files_button() {
    auto* button = new QToolButton;
    button->setObjectName("network_files");
    button->setText(tr("Files"));
    button->setToolTip(tr("Import a network of another program, or export this one"));
    button->setPopupMode(QToolButton::InstantPopup);
    auto* menu = new QMenu(button);
    button->setMenu(menu);
    connect(menu->addAction(tr("Import network…")), &QAction::triggered, this, [this] {
        const QString chosen = ask_for_file(this, tr("Import network"), {},
                                            tr("Networks (*.csv *.tsv *.graphml *.xml *.json);;All files (*)"));
        if (!chosen.isEmpty()) import_network(chosen.toStdString());
    });
    menu->addSeparator();
    for (const auto& kind : kinds)
        connect(menu->addAction(tr(kind.words)), &QAction::triggered, this, [this, kind] {
            const QString chosen = ask_where_to_save(this, tr("Export network"), kind.name, tr(kind.filter));
            if (!chosen.isEmpty()) export_network(chosen.toStdString(), kind.format);
        });
    return button;
}

void MatrixPanel::import_network(const std::filesystem::path& file) {
    const auto name = QString::fromStdString(file.filename().string());
    const auto format = network_format_of(name);
    if (!format)
        return Q_EMIT told(tr("%1: a network is a file of links (.csv), .graphml or the authors' .json").arg(name));
    const auto read = std::make_shared<NetworkFile>();
    reader_.read([read, file, format] { *read = read_network(bytes_of(file), *format); },
                 [this, read, name](const QString& fault) {
                     if (!fault.isEmpty()) read->fault = fault;
                     take(name, *read);
                 });
}

void MatrixPanel::take(const QString& name, const NetworkFile& file) {
    Experiment changed = document_.experiment();
    const auto done = merge_network(changed.topology, file);
    if (!done.fault.isEmpty()) return Q_EMIT told(tr("%1: nothing was added. %2").arg(name, done.fault));
    document_.edit(tr("Import network"), [&](Experiment& e) { e = changed; });
    Q_EMIT told(tr("%1: %2, %3 and %4 were added, %5 changed")
                    .arg(name, count_of(done.added_nodes, tr("node"), tr("nodes")),
                         count_of(done.added_regions, tr("region"), tr("regions")),
                         count_of(done.added_links, tr("link"), tr("links")),
                         count_of(done.changed_links, tr("link"), tr("links"))));
}

void MatrixPanel::export_network(const std::filesystem::path& file, NetworkFormat format) {
    const auto name = QString::fromStdString(file.string());
    writer_.ask(
        {},
        [file, topology = document_.experiment().topology, format] {
            write_file_atomically(file, network_text(topology, format));
        },
        this,
        [this, name](const QString& fault) {
            Q_EMIT told(fault.isEmpty() ? tr("The network was written to %1").arg(name)
                                        : tr("Could not export: %1").arg(fault));
        });
}

}  // namespace skippipe
