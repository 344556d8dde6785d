// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/failures/failure_editor.h"

#include <QMenu>

#include "core/base/fault.h"
#include "core/experiment/failure_trace.h"
#include "views/document/document.h"
#include "views/theme/file_dialogs.h"
#include "views/theme/numbers.h"
#include "views/topology/failure_edits.h"

namespace skippipe {

FailureEditor::FailureEditor(Document& document, SelectionModel& selection, QObject* parent)
    : QObject(parent), document_(document), selection_(selection), known_(document.experiment().failures) {
    connect(&document, &Document::changed, this, &FailureEditor::follow_document);
    connect(&document, &Document::replaced, &reader_, &FileReader::forget);
}

/// The selected failure stays selected where others before it come and go.
void FailureEditor::follow_document() {
    const auto& now = document_.experiment().failures;
    if (now == known_) return;
    if (const auto selected = selection_.now().failure) {
        Selection s = selection_.now();
        s.failure = followed_failure(known_, now, *selected);
        known_ = now;
        selection_.select(s);
    }
    known_ = now;
}

void FailureEditor::select(std::size_t index) { selection_.select({.failure = index}); }

void FailureEditor::add(FailureKind kind, const std::string& target) {
    document_.edit(tr("Add failure"),
                   [&](Experiment& e) { e.failures.push_back(new_failure(e, kind, target, iteration_s_)); });
    select(document_.experiment().failures.size() - 1);
}

void FailureEditor::add_crash(const std::string& target, double at_s) {
    document_.edit(tr("Add failure"), [&](Experiment& e) {
        Failure failure = new_failure(e, FailureKind::crash, target, iteration_s_);
        failure.at_iteration.reset();
        failure.at_s = at_s;
        e.failures.push_back(failure);
    });
    Selection s = selection_.now();
    s.failure = document_.experiment().failures.size() - 1;
    selection_.select(s);
}

void FailureEditor::remove(std::size_t index) {
    if (selection_.now().failure == index) {
        Selection without = selection_.now();
        without.failure.reset();
        selection_.select(without);
    }
    document_.edit(tr("Remove failure"), [&](Experiment& e) { remove_failure(e, index); });
}

void FailureEditor::import_trace(const std::filesystem::path& file) {
    struct Trace {
        std::vector<Failure> crashes;
        Faults faults;
    };
    const auto read = std::make_shared<Trace>();
    const auto topology = document_.experiment().topology;
    const auto name = QString::fromStdString(file.filename().string());
    reader_.read(
        [read, file, topology] {
            try {
                read->crashes = load_failure_trace(file, topology);
            } catch (const InputError& error) {
                read->faults = error.faults();
            }
        },
        [this, read, topology, name](const QString& fault) {
            QString why = fault;
            if (!read->faults.empty()) why = QString::fromStdString(to_string(read->faults.front()));
            if (const auto more = read->faults.size(); more > 1)
                why += more == 2 ? tr(" (and 1 more fault)") : tr(" (and %1 more faults)").arg(more - 1);
            if (why.isEmpty() && topology != document_.experiment().topology)
                why = tr("The network was edited while %1 was read: import it again").arg(name);
            if (!why.isEmpty()) return Q_EMIT told(tr("Nothing was added. %1").arg(why));
            add_trace(name, read->crashes);
        });
}

void FailureEditor::add_trace(const QString& name, const std::vector<Failure>& crashes) {
    if (crashes.empty()) return Q_EMIT told(tr("%1 has no rows: nothing was added").arg(name));
    document_.edit(tr("Import trace"),
                   [&](Experiment& e) { e.failures.insert(e.failures.end(), crashes.begin(), crashes.end()); });
    Q_EMIT told(crashes.size() == 1 ? tr("1 crash of %1 was added").arg(name)
                                    : tr("%1 crashes of %2 were added").arg(crashes.size()).arg(name));
}

void FailureEditor::ask_for_trace(QWidget* parent) {
    const QString chosen =
        ask_for_file(parent, tr("Import failure trace"), {}, tr("Traces of node,down_s,up_s (*.csv);;All files (*)"));
    if (!chosen.isEmpty()) import_trace(chosen.toStdString());
}

void FailureEditor::fill_menu(const Selection& subject, QMenu& menu) {
    const bool node = subject.nodes.size() == 1;
    if (!node && (subject.links.size() != 1 || subject.links.begin()->from == subject.links.begin()->to)) return;
    const std::string target =
        node ? *subject.nodes.begin() : subject.links.begin()->from + "->" + subject.links.begin()->to;
    auto* fail = menu.addMenu(tr("Fail"));
    fail->setObjectName("fail_menu");
    const auto offer = [&](const QString& words, FailureKind kind) {
        connect(fail->addAction(words), &QAction::triggered, this, [this, kind, target] { add(kind, target); });
    };
    if (node) {
        offer(tr("Crash…"), FailureKind::crash);
        offer(tr("Slow down…"), FailureKind::slow_down);
    } else {
        offer(tr("Cut…"), FailureKind::link_cut);
        offer(tr("Degrade…"), FailureKind::link_degraded);
    }
    offer(tr("Jitter…"), FailureKind::jitter);
    const auto& e = document_.experiment();
    std::vector<std::size_t> have;
    if (node) have = failures_of_node(e, target, -1);
    for (const auto& link : e.topology.links)
        if (!node && LinkKey{link.from, link.to} == *subject.links.begin()) have = failures_of_link(e, link);
    if (have.empty()) return;
    fail->addSeparator();
    connect(
        fail->addAction(have.size() == 1 ? tr("Remove its failure") : tr("Remove its %1 failures").arg(have.size())),
        &QAction::triggered, this, [this, have] {
            document_.edit(tr("Remove failures"), [&](Experiment& changed) {
                for (std::size_t i = have.size(); i-- > 0;) remove_failure(changed, have[i]);
            });
        });
}

void FailureEditor::fill_add_menu(QMenu& menu) {
    const std::string last =
        document_.experiment().topology.nodes.empty() ? any_target : document_.experiment().topology.nodes.back().id;
    const std::string node = selection_.now().nodes.size() == 1 ? *selection_.now().nodes.begin() : last;
    const auto offer = [&](const QString& words, FailureKind kind, const std::string& target) {
        auto* action = menu.addAction(words);
        // Without links none can fail.
        action->setEnabled(kind == FailureKind::coordinator_loss ||
                           !failure_targets(document_.experiment(), kind).empty());
        connect(action, &QAction::triggered, this, [this, kind, target] { add(kind, target); });
    };
    offer(tr("Crash of a node…"), FailureKind::crash, node);
    offer(tr("Crash of any node…"), FailureKind::crash, any_target);
    offer(tr("Crash of a data node…"), FailureKind::crash, any_data_node);
    offer(tr("Loss of a stage…"), FailureKind::stage_loss, any_target);
    offer(tr("Loss of the coordinator…"), FailureKind::coordinator_loss, {});
    menu.addSeparator();
    offer(tr("Slow node…"), FailureKind::slow_down, node);
    offer(tr("Link cut…"), FailureKind::link_cut, {});
    offer(tr("Slow link…"), FailureKind::link_degraded, {});
    offer(tr("Jitter…"), FailureKind::jitter, node);
    menu.addSeparator();
    connect(menu.addAction(tr("Import trace…")), &QAction::triggered, this,
            [this, &menu] { ask_for_trace(menu.window()); });
}

}  // namespace skippipe
