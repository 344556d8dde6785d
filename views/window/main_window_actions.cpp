// SPDX-License-Identifier: GPL-3.0-or-later
// Menus, shortcuts, and the cheat sheet made from them.
#include <QAction>
#include <QApplication>
#include <QMenu>
#include <QMenuBar>
#include <QPointer>
#include <QTabWidget>

#include "views/inspector/form_fields.h"
#include "views/theme/file_dialogs.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"
#include "views/window/key_sheet.h"
#include "views/window/main_window.h"
#include "views/window/palette.h"

namespace skippipe {
namespace {

/// Places of entries in the palette before anything is typed; what was used there stands before all.
constexpr int likely_here = 1, likely_action = 2, likely_thing = 3, most_used = 5;

/// A menu's heading may have the verb: where it is not seen, the entry has it.
QString palette_words(const QAction& action) {
    const QString said = action.property("said").toString();
    return said.isEmpty() ? QString(action.text()).remove('&') : said;
}

}  // namespace

QAction* MainWindow::add_action(QMenu& menu, const QString& text, const QKeySequence& keys,
                                const std::function<void()>& run) {
    auto* action = menu.addAction(text);
    action->setShortcut(keys);
    action->setProperty("group", QString(menu.title()).remove('&'));
    connect(action, &QAction::triggered, this, run);
    addAction(action);
    return action;
}

void MainWindow::make_actions() {
    auto* file = menuBar()->addMenu(tr("&File"));
    add_action(*file, tr("New"), QKeySequence::New, [this] {
        if (may_lose_document(tr("a new experiment begins"))) open_template({});
    });
    add_action(*file, tr("Open…"), QKeySequence::Open, [this] {
        if (!may_lose_document(tr("another experiment is opened"))) return;
        const QString chosen = ask_for_file(this, tr("Open experiment"), {}, tr("Experiments (*.json)"));
        if (!chosen.isEmpty()) open(chosen.toStdString());
    });
    make_recent_menu(*file);
    add_action(*file, tr("Save"), QKeySequence::Save, [this] { save(); });
    add_action(*file, tr("Save as…"), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_S), [this] { save_as(); });
    file->addSeparator();
    add_action(*file, tr("Import failure trace…"), {}, [this] { design_->failures().ask_for_trace(this); });
    add_action(*file, tr("Import runs of another record…"), {}, [this] {
        const QString chosen = ask_for_file(this, tr("Import runs"), {}, tr("Records (*.sqlite *.db);;All files (*)"));
        if (!chosen.isEmpty()) import_record(chosen.toStdString());
    });
    make_export_menu(*file);
    file->addSeparator();
    add_action(*file, tr("Close window"), QKeySequence::Quit, [this] { close(); });

    auto* edit = menuBar()->addMenu(tr("&Edit"));
    auto* undo = document_.undo_stack().createUndoAction(this, tr("Undo"));
    undo->setShortcut(QKeySequence::Undo);
    auto* redo = document_.undo_stack().createRedoAction(this, tr("Redo"));
    redo->setShortcuts({QKeySequence(Qt::CTRL | Qt::Key_Y), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Z)});
    for (auto* action : {undo, redo}) {
        action->setProperty("group", tr("Edit"));
        edit->addAction(action);
        addAction(action);
    }
    add_canvas_actions(*edit);

    auto* view = menuBar()->addMenu(tr("&View"));
    add_action(*view, tr("Design"), QKeySequence(Qt::CTRL | Qt::Key_1), [this] { show_workspace(design); });
    add_action(*view, tr("Watch"), QKeySequence(Qt::CTRL | Qt::Key_2), [this] { show_workspace(watch); });
    add_action(*view, tr("Compare"), QKeySequence(Qt::CTRL | Qt::Key_3), [this] { show_workspace(compare); });
    view->addSeparator();
    view->addActions(design_->canvas().actions_of(CanvasActions::see));
    view->addSeparator();
    make_theme_menu(*view);
    make_still_entry(*view);
    auto* run = menuBar()->addMenu(tr("&Run"));
    add_action(*run, tr("Launch"), QKeySequence(Qt::CTRL | Qt::Key_Return), [this] { launch(); });
    auto* stop = add_action(*run, tr("Stop after this iteration"), QKeySequence(Qt::CTRL | Qt::Key_Period),
                            [this] { bar_->stop_button().click(); });
    auto* pause = add_action(*run, tr("Pause or resume"), QKeySequence(Qt::CTRL | Qt::Key_P),
                             [this] { bar_->pause_button().click(); });
    const auto as_buttons = [this, stop, pause] {
        stop->setEnabled(bar_->stop_button().isEnabled());
        pause->setEnabled(bar_->pause_button().isEnabled());
    };
    connect(bar_, &TopBar::possible_changed, stop, as_buttons);
    as_buttons();
    add_run_changes(*run);
    add_action(*run, tr("Log"), QKeySequence(Qt::CTRL | Qt::Key_L), [this] {
        show_workspace(watch);
        watch_->show_log();
    });
    make_stop_menu(*run);
    run->addSeparator();
    add_action(*run, tr("Sweep…"), {}, [this] {
        show_workspace(compare);
        compare_->show_sweep();
    });
    add_action(*run, tr("Measure this machine"), QKeySequence(Qt::CTRL | Qt::Key_M), [this] { measure(); });
    auto* help = menuBar()->addMenu(tr("&Help"));
    add_action(*help, tr("Find an action or a node…"), QKeySequence(Qt::CTRL | Qt::Key_K),
               [this] { show_command_palette(Finds::everything); });
    auto* find = new QAction(tr("Find a node or region…"), &design_->canvas());
    find->setShortcut(QKeySequence::Find);
    find->setShortcutContext(Qt::WidgetWithChildrenShortcut);
    find->setProperty("group", tr("Canvas"));
    connect(find, &QAction::triggered, this, [this] { show_command_palette(Finds::places); });
    design_->canvas().addAction(find);
    design_->addAction(find);  // wherever in Design the keys are
    add_action(*help, tr("Keys…"), QKeySequence(Qt::Key_Question), [this] { show_cheat_sheet(); });
}

/// What cannot be done with the run in sight is pale in the menu, and its tip says why; keys of its own say it too.
void MainWindow::add_run_changes(QMenu& menu) {
    auto* extend = add_action(menu, tr("Extend…"), {}, [this] { ask_extension(run_to_extend()); });
    auto* fork = add_action(menu, tr("Fork from checkpoint…"), {}, [this] {
        if (const RunId one = run_in_sight(); one != 0) return ask_checkpoint(one);
        banner_->show_message(why_not_fork(0));
    });
    menu.setToolTipsVisible(true);
    connect(&menu, &QMenu::aboutToShow, this, [this, extend, fork] {
        for (const auto& [action, why] :
             {std::pair{extend, why_not_extend(run_to_extend())}, {fork, why_not_fork(run_in_sight())}}) {
            action->setEnabled(why.isEmpty());
            action->setToolTip(why);
        }
    });
    connect(&menu, &QMenu::aboutToHide, this, [extend, fork] {
        for (auto* action : {extend, fork}) action->setEnabled(true);
    });
}

/// The canvas's own actions work where it has the focus; the menu only makes them findable. What needs two things is
/// pale while fewer are selected; its key says so itself.
void MainWindow::add_canvas_actions(QMenu& edit) {
    const auto& canvas = design_->canvas();
    for (const auto kind : {CanvasActions::add, CanvasActions::join, CanvasActions::copy}) {
        edit.addSeparator();
        edit.addActions(canvas.actions_of(kind));
    }
    edit.addSeparator();
    edit.addMenu(tr("Lay out"))->addActions(canvas.actions_of(CanvasActions::lay_out));
    auto* align = edit.addMenu(tr("Align"));
    align->addActions(canvas.actions_of(CanvasActions::align));
    const auto joins = canvas.actions_of(CanvasActions::join);
    connect(&edit, &QMenu::aboutToShow, this, [this, align, joins] {
        const Selection& s = selection_.now();
        std::set<std::string> nodes = s.nodes;
        for (const auto& node : document_.experiment().topology.nodes)
            if (s.regions.contains(node.region)) nodes.insert(node.id);
        align->setEnabled(nodes.size() > 1);
        joins.front()->setEnabled(s.nodes.size() > 1 || s.regions.size() > 1);
        joins.back()->setEnabled(!s.nodes.empty());
    });
    connect(&edit, &QMenu::aboutToHide, this, [joins] {
        for (auto* action : joins) action->setEnabled(true);
    });
}

/// Every action that can be done now: by itself, those of the workspace in sight first.
std::vector<PaletteEntry> MainWindow::possible_actions() {
    std::vector<PaletteEntry> entries;
    const QString home = pages_->currentIndex() == design ? tr("Canvas") : tr("Run");
    for (const auto* widget : {static_cast<const QWidget*>(this), static_cast<const QWidget*>(&design_->canvas())})
        for (auto* action : widget->actions())
            if (action->isEnabled() && !action->text().isEmpty() && action->menu() == nullptr)
                entries.push_back({action->property("group").toString(), palette_words(*action),
                                   action->shortcut().toString(QKeySequence::NativeText),
                                   [this, action = QPointer(action), canvas = widget != this] {
                                       if (canvas) show_workspace(design);
                                       if (action != nullptr) action->trigger();
                                   },
                                   action->property("group").toString() == home ? likely_here : likely_action});
    return entries;
}

/// Settings, tabs and what an experiment starts from.
void MainWindow::add_reachable(std::vector<PaletteEntry>& entries) {
    for (const auto& field : form_fields(document_.experiment(), document_.faults()))
        entries.push_back({field.section,
                           field.label,
                           {},
                           [this, pointer = field.pointer] {
                               show_workspace(design);
                               selection_.clear();
                               design_->inspector().show_field(pointer);
                           },
                           likely_thing});
    const std::pair<Workspace, QWidget*> pages[] = {{design, design_}, {watch, watch_}, {compare, compare_}};
    for (const auto& [workspace, page] : pages)
        for (auto* tabs : page->findChildren<QTabWidget*>())
            for (int tab = 0; tab < tabs->count(); ++tab)
                if (tabs->isTabVisible(tab))
                    entries.push_back({tr("Tab"),
                                       tabs->tabText(tab).section(" (", 0, 0),
                                       {},
                                       [this, where = workspace, page = QPointer(tabs->widget(tab)), tabs] {
                                           show_workspace(where);
                                           if (page != nullptr) tabs->setCurrentWidget(page);
                                       },
                                       likely_thing});
    for (const auto& [words, name] : Palette::templates())
        entries.push_back({tr("Start from"),
                           words,
                           {},
                           [this, n = name, words = words] {
                               if (may_lose_document(tr("opening %1").arg(words))) open_template(n);
                           },
                           likely_thing});
}

void MainWindow::show_command_palette(Finds finds) {
    std::vector<PaletteEntry> entries;
    if (finds == Finds::everything) {
        entries = possible_actions();
        add_reachable(entries);
    }
    const auto go = [this](Selection to) {
        return [this, to] {
            show_workspace(design);
            selection_.select(to);
            design_->canvas().center_selection();
        };
    };
    for (const auto& node : document_.experiment().topology.nodes)
        entries.push_back({tr("Node"), QString::fromStdString(node.id), {}, go({.nodes = {node.id}}), likely_thing});
    for (const auto& region : document_.experiment().topology.regions)
        entries.push_back(
            {tr("Region"), QString::fromStdString(region.id), {}, go({.regions = {region.id}}), likely_thing});
    for (auto& entry : entries) {
        const QString name = entry.where + '\n' + entry.words;
        const auto used = used_entries_.indexOf(name);
        entry.likely = used >= 0 ? static_cast<int>(used) - most_used : std::max(entry.likely, likely_here);
        entry.run = [this, name, run = std::move(entry.run)] {
            used_entries_.removeAll(name);
            used_entries_.prepend(name);
            while (used_entries_.size() > most_used) used_entries_.removeLast();
            run();
        };
    }
    auto* palette = new CommandPalette(
        std::move(entries),
        finds == Finds::places ? tr("A node, a region") : tr("An action, a setting, a tab, a node, a region"), this);
    palette->move(mapToGlobal(QPoint((width() - palette->width()) / 2, size::bar + size::row)));
    palette->show();
}

void MainWindow::show_cheat_sheet() {
    auto* sheet = new KeySheet(keys_, this);
    sheet->setAttribute(Qt::WA_DeleteOnClose);
    for (const auto& gesture : ViewKeys::gestures()) sheet->add_fixed(tr(gesture.where), tr(gesture.what), gesture.by);
    sheet->show();
    if (pages_->currentIndex() == watch) sheet->go_to(tr("Timeline"));
}

void MainWindow::gather_keys() {
    for (auto* action : actions())
        if (!action->text().isEmpty() && action->menu() == nullptr) keys_.add(action, {});
    for (auto* action : design_->canvas().actions()) keys_.add(action, tr("Canvas"));
    view_keys_ = std::make_unique<ViewKeys>(keys_);
}

}  // namespace skippipe
