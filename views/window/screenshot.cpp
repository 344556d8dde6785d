// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/screenshot.h"

#include <functional>

#include <QAction>
#include <QApplication>
#include <QContextMenuEvent>
#include <QElapsedTimer>
#include <QEventLoop>
#include <QMenu>
#include <QPainter>
#include <QPixmap>
#include <QPushButton>
#include <QSplitter>
#include <QTabWidget>
#include <QTimer>

#include "views/window/main_window.h"

namespace skippipe {
namespace {

constexpr int patience_ms = 60'000;

bool wait_until(const std::function<bool()>& done) {
    QElapsedTimer clock;
    clock.start();
    while (!done()) {
        if (clock.elapsed() > patience_ms) return false;
        QEventLoop loop;
        QTimer::singleShot(20, &loop, &QEventLoop::quit);
        loop.exec();
    }
    return true;
}

QString show_runs(MainWindow& window, const Screenshot& shot) {
    window.feed().poll();
    if (!wait_until([&] { return window.feed().has_looked(); }))
        return QObject::tr("The record could not be read in time");
    if (!window.feed().error().isEmpty()) return window.feed().error();
    if (shot.run != 0 && window.feed().run(shot.run) == nullptr)
        return QObject::tr("There is no run %1 in %2")
            .arg(shot.run)
            .arg(QString::fromStdString(window.feed().file().string()));
    if (shot.view == "timeline" || shot.view == "curves") {
        if (shot.run != 0) window.watch_page().show_run(shot.run);
        window.show_workspace(MainWindow::watch);
    } else {
        if (!window.feed().runs().empty() && (shot.run != 0 || shot.view == "runs")) {
            std::vector<RunId> runs{shot.run != 0 ? shot.run : window.feed().runs().front().id};
            for (const auto& other : window.feed().runs())
                if (other.id != shot.run && runs.size() < 2 && (shot.view == "compare" || shot.view == "stages"))
                    runs.push_back(other.id);
            window.compare_page().list().select(runs);
        }
        window.show_workspace(MainWindow::compare);
        if (shot.view == "stages") window.compare_page().tabs().setCurrentWidget(&window.compare_page().omissions());
    }
    if (!wait_until([&] { return !window.feed().is_loading(); }))
        return QObject::tr("The run could not be read in time");
    if (shot.view == "curves") window.watch_page().zoom().show_all();
    const auto divide = [&](const char* name, const QList<int>& sizes) {
        if (auto* panes = window.findChild<QSplitter*>(name)) panes->setSizes(sizes);
    };
    if (shot.view == "curves") {
        divide("watch_rows", {430, 280});
        divide("watch_top", {300, 540, 370});
    }
    if (shot.view == "runs") divide("compare_columns", {820, 390});
    return {};
}

/// An entry of a menu, or a button that is seen. What belongs to a hidden view comes last: views share words.
QString press(MainWindow& window, const QString& words) {
    const auto is_hidden = [](const QAction* action) {
        const auto* owner = qobject_cast<const QWidget*>(action->parent());
        return owner != nullptr && !owner->isVisible() && qobject_cast<const QMenu*>(owner) == nullptr;
    };
    for (const bool hidden : {false, true})
        for (auto* action : window.findChildren<QAction*>())
            if (action->text() == words && is_hidden(action) == hidden) return action->trigger(), QString{};
    for (auto* button : window.findChildren<QPushButton*>())
        if (button->text() == words && button->isVisible()) {
            button->click();
            const auto& planners = window.design_page().planners();
            return wait_until([&] { return !planners.is_busy(); })
                       ? QString{}
                       : QObject::tr("What \"%1\" does was not done in time").arg(words);
        }
    return QObject::tr("No menu has \"%1\"").arg(words);
}

/// The menu of a node, or of the canvas where none is named.
QString open_menu(TopologyView& canvas, const QString& node) {
    const auto* item = canvas.scene_model().node(node.toStdString());
    if (item == nullptr && !node.isEmpty()) return QObject::tr("There is no node %1").arg(node);
    const QPoint at = item != nullptr ? canvas.mapFromScene(item->pos()) : QPoint(8, 8);
    QContextMenuEvent event(QContextMenuEvent::Mouse, at, canvas.viewport()->mapToGlobal(at));
    QApplication::sendEvent(canvas.viewport(), &event);
    return {};
}

/// With what lies over it: menus, the keys, what finds actions.
QPixmap picture_of(MainWindow& window) {
    QPixmap picture = window.grab();
    QPainter painter(&picture);
    for (auto* over : QApplication::topLevelWidgets())
        if (over != &window && over->isVisible())
            painter.drawPixmap(window.mapFromGlobal(over->mapToGlobal(QPoint())), over->grab());
    return picture;
}

/// Selects what the picture is to show. Returns what went wrong, or nothing.
QString select(MainWindow& window, const QString& what) {
    const QString kind = what.section(':', 0, 0), name = what.section(':', 1);
    bool is_number = false;
    const int number = name.toInt(&is_number);
    Selection selection;
    if (kind == "node")
        selection.nodes.insert(name.toStdString());
    else if (kind == "region")
        selection.regions.insert(name.toStdString());
    else if (kind == "link" && name.contains("->"))
        selection.links.insert({name.section("->", 0, 0).toStdString(), name.section("->", 1).toStdString()});
    else if (kind == "stage" && is_number)
        selection.stage = number;
    else if (kind == "microbatch" && is_number)
        selection.microbatch = number;
    else if (kind == "find") {
        window.watch_page().find_bar().open();
        window.watch_page().find_bar().look_for(name);
        return {};
    } else if (kind == "menu") {
        return press(window, name);
    } else if (kind == "context") {
        return open_menu(window.design_page().canvas(), name);
    } else if (kind == "runs") {
        std::vector<RunId> runs;
        for (const auto& word : name.split(',')) runs.push_back(word.toLongLong());
        window.compare_page().list().select(runs);
        return wait_until([&] { return !window.feed().is_loading(); })
                   ? QString{}
                   : QObject::tr("The runs could not be read in time");
    } else if (kind == "tab") {
        for (auto* tabs : window.findChildren<QTabWidget*>())
            for (int i = 0; i < tabs->count(); ++i)
                if (tabs->tabText(i).section(QStringLiteral(" ("), 0, 0) == name && tabs->isTabVisible(i) &&
                    tabs->isVisible())
                    tabs->setCurrentIndex(i);
        auto& compare = window.compare_page();
        const auto is_ready = [&] {
            return !compare.worth().is_planning() && !compare.sweep().is_looking() &&
                   !window.design_page().devices().is_looking() && !window.design_page().what_if().is_busy();
        };
        return wait_until(is_ready) ? QString{} : QObject::tr("What the tab shows was not ready in time");
    } else if (kind == "vary" && name.contains('=')) {
        auto& sweep = window.compare_page().sweep();
        sweep.form().add_axis(name.section('=', 0, 0), name.section('=', 1));
        return wait_until([&] { return !sweep.is_looking(); }) ? QString{}
                                                               : QObject::tr("The sweep was not counted in time");
    } else if (kind == "reduction" && name.isEmpty())
        return window.watch_page().show_longest_reduction(), QString{};
    else
        return QObject::tr(
                   "\"%1\" cannot be selected; give node:NAME, region:NAME, link:FROM->TO, stage:NUMBER, "
                   "microbatch:NUMBER, "
                   "reduction, runs:1,2, find:WORDS, tab:NAME, vary:FIELD=VALUES, menu:WORDS or context:NODE, several "
                   "of them with ; between")
            .arg(what);
    window.selection().select(selection);
    return {};
}

}  // namespace

QSize parse_size(const std::string& text) {
    int width = 0, height = 0;
    char rest = 0;
    if (std::sscanf(text.c_str(), "%dx%d%c", &width, &height, &rest) != 2) return {};
    const auto fits = [](int v) { return v >= 200 && v <= 8000; };
    return fits(width) && fits(height) ? QSize(width, height) : QSize();
}

QString take_screenshot(MainWindow& window, const Screenshot& shot) {
    window.resize(shot.size);
    window.show();
    bool is_shown = true;
    QObject listener;
    QObject::connect(&window, &MainWindow::opened, &listener, [&](bool shown) { is_shown = shown; });
    if (!wait_until([&] { return !window.is_opening(); })) return QObject::tr("The experiment was not read in time");
    if (!is_shown) return window.banner().text();
    if (shot.view == "topology") {
        const auto is_explained = [&] {
            const auto& plans = window.plans();
            if (plans.is_busy()) return false;
            const auto outcome = plans.outcome();
            if (!outcome || plans.is_outdated()) return has_errors(window.document().faults());
            return !outcome->has_plan || !outcome->timeline.complete || plans.explanation() != nullptr;
        };
        if (!wait_until(is_explained)) return QObject::tr("The plan was not ready in time");
    } else if (const QString problem = show_runs(window, shot); !problem.isEmpty()) {
        return problem;
    }
    for (const auto& what : shot.select.split(';', Qt::SkipEmptyParts))
        if (const QString problem = select(window, what); !problem.isEmpty()) return problem;
    if (window.watch_page().isVisible() && !wait_until([&] { return !window.watch_page().helps().is_busy(); }))
        return QObject::tr("What would help was not known in time");
    // Two rounds of events: layouts settle in the first, what they trigger in the second.
    for (int round = 0; round < 4; ++round) QApplication::processEvents();
    const QPixmap picture = picture_of(window);
    return picture.save(shot.file, "PNG") ? QString{} : QObject::tr("Could not write %1").arg(shot.file);
}

}  // namespace skippipe
