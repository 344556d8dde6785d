// SPDX-License-Identifier: GPL-3.0-or-later
// The main window's files: open, save, templates, recovery, and what is asked before work would be lost.
#include <QCheckBox>
#include <QCloseEvent>
#include <QFile>
#include <QDropEvent>
#include <QFileInfo>
#include <QGridLayout>
#include <QMessageBox>
#include <QMimeData>
#include <QPushButton>
#include <QRegularExpression>
#include <QSettings>
#include <QTimer>

#include <algorithm>
#include <fstream>
#include <utility>

#include "core/experiment/io.h"
#include "views/theme/file_dialogs.h"
#include "views/theme/words.h"
#include "views/topology/shapes.h"
#include "views/window/main_window.h"
#include "views/window/problem_list.h"

namespace skippipe {
namespace {

/// Its title is read whole.
void make_room_for_title(QMessageBox& box) {
    constexpr int wide = 420;
    if (auto* rows = qobject_cast<QGridLayout*>(box.layout()))
        rows->addItem(new QSpacerItem(wide, 0, QSizePolicy::Minimum, QSizePolicy::Fixed), rows->rowCount(), 0, 1,
                      rows->columnCount());
}

/// Of a text that is no JSON: where it stands says more than of what it is.
bool has_place_in_text(const Fault& fault) { return fault.what.starts_with("line "); }

/// What became of a file with faults.
QString faulty_file_words(const QString& name, const Document& document) {
    const auto& t = document.experiment().topology;
    const auto& faults = document.faults();
    const auto first = std::find_if(faults.begin(), faults.end(),
                                    [](const Fault& fault) { return fault.severity == Fault::Severity::error; });
    if (first != faults.end() && t.nodes.empty() && t.regions.empty())
        return MainWindow::tr("Nothing of %1 can be drawn; the file itself is untouched. %2. %3")
            .arg(name,
                 has_place_in_text(*first) ? capitalised(QString::fromStdString(first->what))
                                           : fault_words(*first, document),
                 without_keys(QString::fromStdString(first->remedy)));
    return MainWindow::tr(
               "%1 has faults: what could be understood is shown, the file itself is untouched. The "
               "problems list names each")
        .arg(name);
}

}  // namespace

void MainWindow::open(const std::filesystem::path& file) {
    const auto read = std::make_shared<DocumentFile>();
    opening_ = file;
    document_reader_.read([read, file] { *read = read_document(file); },
                          [this, read, before = document_.experiment()](const QString& fault) {
                              const auto name = QString::fromStdString(std::exchange(opening_, {}).string());
                              if (!fault.isEmpty()) banner_->show_message(tr("Could not open %1: %2").arg(name, fault));
                              const bool shown = fault.isEmpty() && show_opened(std::move(*read), before);
                              follow_runs();
                              Q_EMIT opened(shown);
                          });
    follow_runs();
}

bool MainWindow::open_last() {
    if (settings_file_.isEmpty()) return false;
    const QString last = QSettings(settings_file_, QSettings::IniFormat).value("last").toString();
    if (last.isEmpty()) return false;
    connect(
        this, &MainWindow::opened, this,
        [this](bool shown) {
            if (!shown && document_.file().empty() && !document_.is_modified()) open_template("quick-start");
        },
        Qt::SingleShotConnection);
    open(last.toStdString());
    return true;
}

/// `before`: the document when the file was asked for. Who has gone on with it meanwhile is asked again.
bool MainWindow::show_opened(DocumentFile file, const Experiment& before) {
    const auto name = QString::fromStdString(file.path.filename().string());
    if (document_.is_modified() && document_.experiment() != before) {
        banner_->show_message(tr("The experiment was edited while %1 was read").arg(name),
                              {{tr("Open %1").arg(name), [this, path = file.path] {
                                    if (may_lose_document(opening(path))) open(path);
                                }}});
        return false;
    }
    document_.open(std::move(file));
    if (document_.file_has_faults())
        banner_->show_message(faulty_file_words(name, document_), {{tr("Open again"), [this, path = document_.file()] {
                                                                        if (may_lose_document(opening(path)))
                                                                            open(path);
                                                                    }}});
    remember_file(document_.file());
    show_workspace(design);
    return true;
}

void MainWindow::open_template(const QString& name) {
    if (name.isEmpty()) {
        document_.start_new(new_document());
        return;
    }
    QFile file(":/experiments/" + name + ".json");
    if (!file.open(QIODevice::ReadOnly)) {
        banner_->show_message(tr("The bundled experiment %1 is missing").arg(name));
        return;
    }
    document_.start_new(parse_experiment(file.readAll().toStdString()).experiment);
}

/// On the window's thread: a document is some KB, replaced as a whole, and whoever saves waits to know that it is safe.
bool MainWindow::write_to(const std::filesystem::path& file) {
    try {
        document_.save(file);
        remember_file(file);
        return true;
    } catch (const InputError& error) {
        banner_->show_message(tr("Could not save: %1").arg(QString::fromStdString(error.what())));
        return false;
    }
}

bool MainWindow::save() { return document_.file().empty() ? save_as() : write_to(document_.file()); }

bool MainWindow::save_as() {
    const QString start = document_.file().empty() ? QString::fromStdString(document_.experiment().name) + ".json"
                                                   : QString::fromStdString(document_.file().string());
    const QString chosen = ask_where_to_save(this, tr("Save experiment"), start, tr("Experiments (*.json)"));
    return !chosen.isEmpty() && write_to(chosen.toStdString());
}

QString MainWindow::opening(const std::filesystem::path& file) {
    return tr("opening %1").arg(QString::fromStdString(file.filename().string()));
}

/// Asks where there is something to lose; `before` says what follows: "opening churn.json".
bool MainWindow::may_lose_document(const QString& before) {
    if (!document_.is_modified()) return true;
    // Without the style's own picture, which is of no theme.
    QMessageBox box(QMessageBox::NoIcon, tr("Unsaved changes"),
                    tr("\"%1\" has unsaved changes").arg(QString::fromStdString(document_.experiment().name)),
                    QMessageBox::Save | QMessageBox::Discard | QMessageBox::Cancel, this);
    box.setInformativeText(tr("Save them before %1?").arg(before));
    make_room_for_title(box);
    box.setDefaultButton(QMessageBox::Save);
    const auto answer = box.exec();
    return answer == QMessageBox::Discard || (answer == QMessageBox::Save && save());
}

void MainWindow::offer_recovery() {
    const auto found = std::make_shared<std::vector<FoundWork>>();
    files_.ask(
        {}, [found, folder = feed_.file().parent_path() / "recovery"] { *found = DocumentRecovery::find(folder); },
        this,
        [this, found](const QString&) {
            if (!found->empty()) offer(found->front());
        });
}

void MainWindow::offer(const FoundWork& work) {
    const auto remove = [this, work] { files_.ask({}, [work] { DocumentRecovery::remove(work); }); };
    banner_->show_message(
        tr("Unsaved work on \"%1\" of %2 was found")
            .arg(QString::fromStdString(work.experiment.name), work.written.toString("yyyy-MM-dd HH:mm")),
        {{tr("Recover"),
          [this, work, remove] {
              document_.recover(work.experiment, work.document_file, work.schema);
              remove();
              show_workspace(design);
          }},
         {tr("Discard"), remove}});
}

/// Says once that a run outlives the window, and asks whether it shall.
bool MainWindow::may_leave_run() {
    const RunInfo* run = feed_.running();
    if (run == nullptr || settings_file_.isEmpty() ||
        QSettings(settings_file_, QSettings::IniFormat).value("leave_runs").toBool())
        return true;
    QMessageBox box(QMessageBox::NoIcon, tr("A run goes on"), tr("Run %1 continues in the background").arg(run->id),
                    QMessageBox::Cancel, this);
    box.setInformativeText(tr("Open the window again to find it, or stop it now"));
    auto* leave = box.addButton(tr("Close, let it run"), QMessageBox::AcceptRole);
    auto* stop = box.addButton(tr("Stop it and close"), QMessageBox::DestructiveRole);
    box.setDefaultButton(leave);
    auto* always = new QCheckBox(tr("Do not ask again"));
    box.setCheckBox(always);
    box.exec();
    if (box.clickedButton() == stop) feed_.send(run->id, "stop");
    if (box.clickedButton() == leave && always->isChecked())
        QSettings(settings_file_, QSettings::IniFormat).setValue("leave_runs", true);
    return box.clickedButton() == leave || box.clickedButton() == stop;
}

namespace {

/// The one file that is dragged over the window, where it is of a kind that the window takes.
std::optional<std::filesystem::path> wanted_file(const QMimeData& dragged) {
    const auto urls = dragged.urls();
    if (urls.size() != 1 || !urls.front().isLocalFile()) return std::nullopt;
    const QString ending = QFileInfo(urls.front().toLocalFile()).suffix().toLower();
    if (!QStringList{"json", "csv", "tsv", "graphml"}.contains(ending)) return std::nullopt;
    return urls.front().toLocalFile().toStdString();
}

enum class Table { trace, network, other };

/// What a table is of, by its head row: it may be far away, so that no window waits for it.
Table table_of(const std::filesystem::path& file) {
    std::ifstream in(file);
    std::string line;
    while (std::getline(in, line) && (line.find_first_not_of(" \t\r") == std::string::npos || line[0] == '#')) {}
    const QString head = QString::fromStdString(line).toLower();
    const QStringList columns = head.split(QRegularExpression("[,;\t]"));
    const auto has = [&](const char* name) {
        return std::any_of(columns.begin(), columns.end(),
                           [&](const QString& column) { return column.trimmed().remove('"') == QLatin1String(name); });
    };
    return has("down_s") ? Table::trace : has("from") && has("to") ? Table::network : Table::other;
}

}  // namespace

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    if (wanted_file(*event->mimeData())) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
    const auto file = wanted_file(*event->mimeData());
    if (!file) return;
    event->acceptProposedAction();
    // Who let go of it waits for this event, and not for what is asked then.
    QTimer::singleShot(0, this, [this, dropped = *file] { take(dropped); });
}

/// A trace of failures, links of a network, or an experiment.
void MainWindow::take(const std::filesystem::path& dropped) {
    const QString ending = QString::fromStdString(dropped.extension().string()).toLower();
    if (ending == ".json") {
        if (may_lose_document(opening(dropped))) open(dropped);
        return;
    }
    show_workspace(design);
    if (ending == ".graphml") return design_->matrix().import_network(dropped);
    const auto kind = std::make_shared<Table>(Table::other);
    drop_reader_.read([kind, dropped] { *kind = table_of(dropped); },
                      [this, kind, dropped](const QString&) {
                          if (*kind == Table::trace) return design_->failures().import_trace(dropped);
                          if (*kind == Table::network) return design_->matrix().import_network(dropped);
                          banner_->show_message(tr("%1 begins with no head row that is known: a trace of failures has "
                                                   "node,down_s,up_s, links have from,to,latency_s")
                                                    .arg(QString::fromStdString(dropped.filename().string())));
                      });
}

void MainWindow::closeEvent(QCloseEvent* event) {
    if (may_lose_document(tr("the window closes")) && may_leave_run()) {
        recovery_.discard();
        store_layout();
        event->accept();
    } else {
        event->ignore();
    }
}

}  // namespace skippipe
