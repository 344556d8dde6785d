// SPDX-License-Identifier: GPL-3.0-or-later
// Gestures of the Design workspace, each driven by mouse and keys through the widgets of the whole window.
#include <QClipboard>
#include <QContextMenuEvent>
#include <QDragEnterEvent>
#include <QMenu>
#include <QMimeData>
#include <QSlider>
#include <QTemporaryDir>
#include <QtTest>

#include "plugins/planners/all.h"
#include "tests/views/window_experiments.h"
#include "views/topology/canvas_key.h"
#include "views/topology/edits.h"
#include "views/topology/layouts.h"
#include "views/window/command_palette.h"
#include "views/window/key_sheet.h"
#include "views/window/main_window.h"

using namespace skippipe;

namespace {

constexpr int gesture_patience_ms = 60'000;

/// A window with six nodes in two regions, and what a person does to it.
struct Studio {
    explicit Studio(const PlannerRegistry& planners) : window(planners, folder.filePath("r.sqlite").toStdString()) {
        window.resize(1280, 800);
        window.document().start_new(six_in_two_regions(320));
        window.show();
        is_active = QTest::qWaitForWindowActive(&window);
        canvas().setFocus();
        canvas().fit();
    }
    DesignPage& page() { return window.design_page(); }
    TopologyView& canvas() { return page().canvas(); }
    TopologyScene& scene() { return canvas().scene_model(); }
    const Experiment& experiment() { return window.document().experiment(); }
    const Topology& topology() { return experiment().topology; }
    const Selection& selected() { return window.selection().now(); }
    const Node& node(const std::string& id) {
        return *std::find_if(topology().nodes.begin(), topology().nodes.end(),
                             [&](const Node& n) { return n.id == id; });
    }
    QPoint at(const std::string& id) { return canvas().mapFromScene(scene().node(id)->pos()); }
    QPoint on_link() { return canvas().mapFromScene(QPointF(160, 80)); }
    QPoint emptiness() { return canvas().mapFromScene(QPointF(160, 220)); }

    void mouse(QEvent::Type type, QPoint place, Qt::MouseButton button, Qt::MouseButtons held,
               Qt::KeyboardModifiers keys = {}) {
        QWidget* port = canvas().viewport();
        QMouseEvent event(type, place, port->mapToGlobal(place), button, held, keys);
        QApplication::sendEvent(port, &event);
    }
    void drag(QPoint from, QPoint to, Qt::MouseButton button = Qt::LeftButton, Qt::KeyboardModifiers keys = {}) {
        mouse(QEvent::MouseButtonPress, from, button, button, keys);
        mouse(QEvent::MouseMove, (from + to) / 2, Qt::NoButton, button, keys);
        mouse(QEvent::MouseMove, to, Qt::NoButton, button, keys);
        mouse(QEvent::MouseButtonRelease, to, button, {}, keys);
    }
    void click(QPoint place, Qt::KeyboardModifiers keys = {}) {
        QTest::mouseClick(canvas().viewport(), Qt::LeftButton, keys, place);
    }
    void key(int key, Qt::KeyboardModifiers keys = {}) { QTest::keyClick(&canvas(), static_cast<Qt::Key>(key), keys); }
    /// What the menu there offers, entries of its submenus left out.
    QMenu* menu(QPoint place) {
        QContextMenuEvent event(QContextMenuEvent::Mouse, place, canvas().viewport()->mapToGlobal(place));
        QApplication::sendEvent(canvas().viewport(), &event);
        for (auto* menu : canvas().findChildren<QMenu*>(Qt::FindDirectChildrenOnly))
            if (menu->isVisible()) return menu;
        return nullptr;
    }
    static QStringList entries(const QMenu* menu) {
        QStringList words;
        for (const auto* action : menu == nullptr ? QList<QAction*>{} : menu->actions())
            if (!action->isSeparator()) words << action->text();
        return words;
    }
    /// Clicks an entry of the menu there.
    bool choose(QPoint place, const QString& words) {
        QMenu* menu = this->menu(place);
        for (auto* action : menu == nullptr ? QList<QAction*>{} : menu->actions())
            if (action->text() == words) {
                QTest::mouseClick(menu, Qt::LeftButton, {}, menu->actionGeometry(action).center());
                return true;
            }
        return false;
    }
    void select(std::set<std::string> nodes) { window.selection().select({.nodes = std::move(nodes)}); }
    void show_bottom(const QString& name) {
        auto& tabs = page().bottom();
        for (int i = 0; i < tabs.count(); ++i)
            if (tabs.tabText(i).startsWith(name))
                QTest::mouseClick(tabs.tabBar(), Qt::LeftButton, {}, tabs.tabBar()->tabRect(i).center());
    }
    bool is_planned() {
        return QTest::qWaitFor([&] { return window.plans().ready() != nullptr; }, gesture_patience_ms);
    }

    QTemporaryDir folder;
    MainWindow window;
    bool is_active = false;
};

using Gesture = bool (*)(Studio&);

/// False, with the words for it.
bool no(const QString& what) {
    qWarning() << what;
    return false;
}

QString text_of(QPoint place) { return QString("%1, %2").arg(place.x()).arg(place.y()); }

bool alt_drag(Studio& s) {
    s.drag(s.at("node-1"), s.at("node-1") + QPoint(13, 7), Qt::LeftButton, Qt::AltModifier);
    const Node& moved = s.node("node-1");
    return moved.x != 0 && (std::fmod(moved.x, grid) != 0 || std::fmod(moved.y, grid) != 0);
}

bool plain_drag(Studio& s) {
    s.drag(s.at("node-1"), s.at("node-1") + QPoint(-53, -27));
    const Node& moved = s.node("node-1");
    return moved.x != 0 && std::fmod(moved.x, grid) == 0 && std::fmod(moved.y, grid) == 0;
}

bool middle_drag(Studio& s) {
    const QPointF middle = s.canvas().mapToScene(s.canvas().viewport()->rect().center());
    const Experiment before = s.experiment();
    s.drag(s.at("node-1"), s.at("node-1") + QPoint(40, 25), Qt::MiddleButton);
    const QPointF now = s.canvas().mapToScene(s.canvas().viewport()->rect().center());
    return now.x() < middle.x() && now.y() < middle.y() && s.experiment() == before && s.selected().empty();
}

bool rubber_band(Studio& s) {
    s.drag(s.canvas().mapFromScene(QPointF(230, -120)), s.canvas().mapFromScene(QPointF(440, 105)));
    return s.selected().nodes.contains("node-4") && s.selected().nodes.contains("node-5") &&
           !s.selected().nodes.contains("node-1");
}

bool control_click(Studio& s) {
    s.click(s.at("node-1"));
    s.click(s.at("node-4"), Qt::ControlModifier);
    const bool both = s.selected().nodes == std::set<std::string>{"node-1", "node-4"};
    s.click(s.at("node-1"), Qt::ControlModifier);
    return both && s.selected().nodes == std::set<std::string>{"node-4"};
}

bool hover_on_link(Studio& s) {
    const bool none = s.scene().link_words().links().empty();
    s.mouse(QEvent::MouseMove, s.on_link(), Qt::NoButton, {});
    const bool one = s.scene().link_words().links().size() == 1;
    s.mouse(QEvent::MouseMove, s.emptiness(), Qt::NoButton, {});
    return none && one && s.scene().link_words().links().empty();
}

std::vector<LinkItem*> links_of(Studio& s) {
    std::vector<LinkItem*> found;
    for (auto* item : s.scene().items())
        if (item->type() == link_item) found.push_back(static_cast<LinkItem*>(item));
    return found;
}

/// Not while the iteration hardly waits for it.
bool critical_link(Studio& s) {
    const auto plan_with = [&](double latency_s) {
        s.window.document().edit("Latency", [&](Experiment& e) { e.topology.links.at(0).latency_s = latency_s; });
        return s.is_planned() &&
               QTest::qWaitFor([&] { return s.window.plans().explanation() != nullptr; }, gesture_patience_ms);
    };
    if (!plan_with(1e-6) || links_of(s).at(0)->critical) return false;
    return plan_with(1) && QTest::qWaitFor([&] { return links_of(s).at(0)->critical; }, gesture_patience_ms) &&
           s.scene()
               .tip_for(links_of(s).at(0))
               .contains("of the critical path; the end of the iteration waits for it the longest");
}

/// A third region with a node, linked to the second one.
void add_third_region(Studio& s) {
    s.window.document().edit("third", [](Experiment& e) {
        const std::string region = add_region(e, {640, 0});
        add_node(e, {640, 0}, region);
        add_link(e, "region-2", region);
    });
}

/// And its key says so, where links are not alike and the canvas is in sight.
bool link_width_is_bandwidth(Studio& s) {
    add_third_region(s);
    auto* key = s.window.findChild<CanvasKey*>();
    if (key == nullptr || key->isVisible()) return false;
    const double wide = links_of(s).at(0)->width;
    s.window.document().edit("slow", [](Experiment& e) { e.topology.links[0].bandwidth_bytes_per_s = 1e7; });
    const double narrowest = std::ranges::min(links_of(s), {}, &LinkItem::width)->width;
    const bool is_shown = key->isVisible() && plain(key->words()).contains("from 80.0 Mbit/s to");
    see_tab(s.page().stages());
    return is_shown && narrowest < wide - 1 && !key->isVisible();
}

/// Links that lead to nothing of what is selected step back; a node's are those of its region.
bool other_links_step_back(Studio& s) {
    add_third_region(s);
    const auto apart = [&] {
        std::set<std::string> ends;
        for (const auto* link : links_of(s))
            if (link->apart) ends.insert({link->key().from, link->key().to});
        return ends;
    };
    const bool none = apart().empty();
    s.select({"node-1"});
    const bool third = apart() == std::set<std::string>{"region-2", "region-3"};
    s.window.selection().select({.microbatch = 0});
    const bool all = apart().size() == 3;  // a microbatch's way is drawn above them
    s.select({});
    return links_of(s).size() == 2 && none && third && all && apart().empty();
}

bool duplicate(Studio& s) {
    s.select({"node-1", "node-2"});
    s.key(Qt::Key_D, Qt::ControlModifier);
    return s.topology().nodes.size() == 8 && s.selected().nodes == std::set<std::string>{"node-7", "node-8"} &&
           s.node("node-7").region == "region-1" && s.window.document().undo_stack().count() == 1;
}

/// W's trap: the nodes of the first region are selected when the second is made.
bool region_after_nodes(Studio& s) {
    s.window.document().start_new({});
    for (const int key : {Qt::Key_R, Qt::Key_N, Qt::Key_N, Qt::Key_N, Qt::Key_R, Qt::Key_N, Qt::Key_N, Qt::Key_N})
        s.key(key);
    int first = 0, second = 0;
    for (const auto& node : s.topology().nodes) first += node.region == "region-1", second += node.region == "region-2";
    if (first != 3 || second != 3) return false;
    const auto places = node_places(s.experiment());
    for (int a = 0; a < 3; ++a)
        for (int b = 3; b < 6; ++b)
            if (std::hypot(places[a].x - places[b].x, places[a].y - places[b].y) < least_distance) return false;
    // Their outlines do not touch: a link between them is seen.
    const QRectF one = s.scene().region("region-1")->sceneBoundingRect();
    const QRectF other = s.scene().region("region-2")->sceneBoundingRect();
    return !one.adjusted(-40, -40, 40, 40).intersects(other) || no("the two regions touch");
}

bool region_of_free_nodes(Studio& s) {
    s.window.document().edit("out", [](Experiment& e) { e.topology.nodes[0].region.clear(); });
    s.select({"node-1", "node-2"});
    s.key(Qt::Key_R);
    return s.node("node-1").region == "region-3" && s.node("node-2").region == "region-1";
}

bool group(Studio& s) {
    s.select({"node-1", "node-4"});
    s.key(Qt::Key_G, Qt::ControlModifier);
    return s.node("node-1").region == "region-3" && s.node("node-4").region == "region-3";
}

/// What is centred is a node with its name.
bool home_and_f(Studio& s) {
    s.canvas().scale(3, 3);
    s.canvas().centerOn(2000, 2000);
    s.key(Qt::Key_Home);
    const bool all = s.canvas().viewport()->rect().contains(s.at("node-1")) &&
                     s.canvas().viewport()->rect().contains(s.at("node-6"));
    s.select({"node-6"});
    s.canvas().scale(3, 3);
    s.key(Qt::Key_F);
    if (!all) return no("Home does not show all");
    return (s.at("node-6") - s.canvas().viewport()->rect().center()).manhattanLength() < 60 ||
           no("F leaves it at " + text_of(s.at("node-6")));
}

bool align_from_the_menu(Studio& s) {
    s.select({"node-1", "node-5"});
    if (!s.choose(s.at("node-1"), "Align top")) return false;
    return s.node("node-1").y == s.node("node-5").y && s.node("node-5").x == 320;
}

bool align_in_a_column(Studio& s) {
    s.select({"node-1", "node-5"});
    if (!s.choose(s.at("node-5"), "Align in a column")) return false;
    return s.node("node-1").x == s.node("node-5").x;
}

bool distribute_from_the_menu(Studio& s) {
    s.window.document().edit("move", [](Experiment& e) { e.topology.nodes[1].y = 20; });
    s.select({"node-1", "node-2", "node-3"});
    if (!s.choose(s.at("node-3"), "Distribute down")) return false;
    return s.node("node-2").y == 80;
}

bool by_stage(Studio& s) {
    if (!s.is_planned() || !s.choose(s.emptiness(), "Lay out by stage")) return false;
    std::map<int, std::set<double>> columns;
    for (const auto& node : s.topology().nodes) columns[s.scene().stage_of(node.id)].insert(node.x);
    return std::all_of(columns.begin(), columns.end(), [](const auto& c) { return c.second.size() == 1; });
}

bool menus(Studio& s) {
    const auto offers = [&](QPoint place, const QStringList& wanted, const QStringList& unwanted) {
        QMenu* menu = s.menu(place);
        const QStringList words = Studio::entries(menu);
        if (menu != nullptr) menu->close();
        QCoreApplication::sendPostedEvents(nullptr, QEvent::DeferredDelete);
        for (const auto& one : wanted)
            if (!words.contains(one)) return qWarning() << "missing" << one << "in" << words, false;
        for (const auto& one : unwanted)
            if (words.contains(one)) return qWarning() << "unwanted" << one << "in" << words, false;
        return true;
    };
    const bool empty = offers(s.emptiness(),
                              {"Add node", "Add region", "Paste", "Select everything", "Fit everything", "Tidy up",
                               "Lay out on the world map", "Lay out by stage", "Lay out by Graphviz"},
                              {"Delete", "Fail"});
    const bool node = offers(s.at("node-1"), {"Fail", "Copy", "Duplicate", "Delete"}, {"Add node", "Align left"});
    const bool link = offers(s.on_link(), {"Fail", "Delete"}, {"Copy", "Align left"});
    s.select({"node-1", "node-2"});
    const bool many = offers(s.at("node-1"), {"Link selected", "Group in a region", "Align left", "Distribute down"},
                             {"Add node", "Fail"});
    return empty && node && link && many;
}

bool skip_slider(Studio& s) {
    s.window.selection().clear();
    auto* slider = s.page().inspector().widget()->findChild<QSlider*>("skip_slider");
    auto* words = s.page().inspector().widget()->findChild<QLabel*>("skip_words");
    if (slider == nullptr || words == nullptr || slider->maximum() != 1) return false;
    slider->setFocus();
    QTest::keyClick(slider, Qt::Key_Right);
    return s.experiment().pipeline.skip_ratio == 0.333 && words->text().startsWith("Visits 2 of 3 stages") &&
           slider->value() == 1;
}

bool what_if_by_mouse(Studio& s) {
    if (!s.is_planned()) return false;
    s.click(s.on_link());
    s.show_bottom("What if");
    auto& page = s.page().what_if();
    if (!page.isVisible() || !page.questions().currentText().startsWith("Bandwidth of region-1")) return false;
    if (!QTest::qWaitFor([&] { return !page.is_busy() && !page.answers().empty(); }, gesture_patience_ms)) return false;
    QTest::mouseClick(&page.curve(), Qt::LeftButton, {}, QPoint(page.curve().width() - 20, 40));
    if (page.curve().chosen() != 6 || !page.use_button().isEnabled()) return false;
    QTest::mouseClick(&page.use_button(), Qt::LeftButton);
    return s.topology().links[0].bandwidth_bytes_per_s == 1e9;
}

bool planner_by_mouse(Studio& s) {
    if (!s.is_planned()) return false;
    s.show_bottom("Planners");
    auto& page = s.page().planners();
    QTest::mouseClick(&page.button(), Qt::LeftButton);
    if (!QTest::qWaitFor([&] { return !page.is_busy(); }, gesture_patience_ms)) return false;
    auto& table = page.table();
    for (int row = 0; row < table.rowCount(); ++row) {
        if (table.item(row, 0)->text() != "gpipe") continue;
        table.scrollToItem(table.item(row, 0));
        QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, table.visualItemRect(table.item(row, 1)).center());
    }
    return s.experiment().pipeline.planner == "gpipe";
}

bool problem_by_mouse(Studio& s) {
    s.window.document().edit("lost", [](Experiment& e) { add_node(e, {4000, 3000}); });
    s.show_bottom("Problems");
    auto& list = s.page().problems();
    for (int row = 0; row < list.count(); ++row) {
        if (!list.item(row)->text().contains("node-7")) continue;
        QTest::mouseClick(list.viewport(), Qt::LeftButton, {}, list.visualItemRect(list.item(row)).center());
        if (!s.selected().nodes.contains("node-7")) return no("it is not selected");
        return (!list.item(row)->toolTip().contains('/') || no(list.item(row)->toolTip())) &&
               ((s.at("node-7") - s.canvas().viewport()->rect().center()).manhattanLength() < 24 ||
                no("it is at " + text_of(s.at("node-7"))));
    }
    return no("no problem speaks of it");
}

bool keys_of_help(Studio& s) {
    s.key(Qt::Key_Question);
    auto* sheet = s.window.findChild<KeySheet*>();
    const bool shown = sheet != nullptr && sheet->isVisible();
    if (shown) sheet->close();
    s.window.activateWindow();
    if (!QTest::qWaitForWindowActive(&s.window)) return false;
    s.canvas().setFocus();
    s.key(Qt::Key_K, Qt::ControlModifier);
    return shown && s.window.findChild<CommandPalette*>() != nullptr;
}

bool tab_goes_from_node_to_node(Studio& s) {
    s.key(Qt::Key_Tab);
    const bool first = s.selected().nodes == std::set<std::string>{"node-1"};
    s.key(Qt::Key_Tab);
    const bool second = s.selected().nodes == std::set<std::string>{"node-2"};
    s.key(Qt::Key_Backtab, Qt::ShiftModifier);
    const bool back = s.selected().nodes == std::set<std::string>{"node-1"} && s.canvas().hasFocus();
    for (int i = 0; i < 5; ++i) s.key(Qt::Key_Tab);
    const bool last = s.selected().nodes == std::set<std::string>{"node-6"} && s.canvas().hasFocus();
    s.key(Qt::Key_Tab);
    return first && second && back && last && !s.canvas().hasFocus();
}

/// By the window system's own events, so that Qt's drag begins, goes on and ends as by hand.
bool device_dragged_in(Studio& s) {
    s.window.document().start_new({});
    auto& list = s.page().tools().devices();
    const auto* item = list.findItems("T4", Qt::MatchExactly).value(0);
    if (item == nullptr || !list.dragEnabled()) return no("no such device, or it stays");
    // What Qt sends while the list's drag goes over the canvas: the platform of the tests has no drag of its own.
    const std::unique_ptr<QMimeData> carried(list.model()->mimeData({list.indexFromItem(item)}));
    auto& viewport = *s.canvas().viewport();
    const QPoint end = viewport.rect().center();
    QDragEnterEvent enter(end - QPoint(5, 5), Qt::CopyAction, carried.get(), Qt::LeftButton, {});
    QDragMoveEvent over(end, Qt::CopyAction, carried.get(), Qt::LeftButton, {});
    QDropEvent drop(end, Qt::CopyAction, carried.get(), Qt::LeftButton, {});
    for (QDropEvent* event : {static_cast<QDropEvent*>(&enter), static_cast<QDropEvent*>(&over), &drop}) {
        QApplication::sendEvent(&viewport, event);
        if (!event->isAccepted()) return no("the canvas does not take it");
    }
    if (s.topology().nodes.empty()) return no("nothing came");
    const Node& dropped = s.topology().nodes.front();
    const QPoint at = s.at(dropped.id);
    return (dropped.id == "t4-1" && dropped.memory_bytes == std::optional(16e9) && s.canvas().hasFocus() &&
            (at - s.canvas().viewport()->rect().center()).manhattanLength() < 2 * grid) ||
           no(QString::fromStdString(dropped.id) + " at " + text_of(at));
}

/// What is typed where the keys are: in the cell's own editor while there is one.
void type(const QString& text) {
    for (const QChar letter : text) QTest::keyClick(QApplication::focusWidget(), letter.toLatin1());
}

bool matrix_by_keys(Studio& s) {
    see_tab(s.page().matrix());
    auto& table = s.page().matrix().table();
    auto& model = s.page().matrix().model();
    QTest::mouseClick(table.viewport(), Qt::LeftButton, {}, table.visualRect(model.index(0, 0)).center());
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Right);
    if (table.currentIndex() != model.index(0, 1)) return no("an arrow goes to the next cell");
    type("20 ms");
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
    const auto latency = [&] { return s.topology().links.at(0).latency_s; };
    if (!QTest::qWaitFor([&] { return latency() == 0.02 && table.hasFocus(); })) return no("typed and entered");
    if (!QTest::qWaitFor([&] { return table.currentIndex() == model.index(1, 1); })) return no("Enter goes down");
    QTest::keyClick(&table, Qt::Key_Left);
    QTest::keyClick(&table, Qt::Key_F2);
    if (QApplication::focusWidget() == &table) return no("F2 edits");
    type("99");
    QTest::keyClick(QApplication::focusWidget(), Qt::Key_Escape);
    if (!QTest::qWaitFor([&] { return table.hasFocus(); }) || latency() != 0.02) return no("Esc leaves it as it was");
    QTest::keyClick(&table, Qt::Key_Up);
    QGuiApplication::clipboard()->setText("2 ms\t30 ms");
    QTest::keyClick(&table, Qt::Key_V, Qt::ControlModifier);
    if (latency() != 0.03 || s.topology().links.size() != 2) return no("pasted");
    QTest::keyClick(&table, Qt::Key_Right, Qt::ShiftModifier);
    QTest::keyClick(&table, Qt::Key_C, Qt::ControlModifier);
    if (QGuiApplication::clipboard()->text() != "2\t30") return no(QGuiApplication::clipboard()->text());
    QTest::keyClick(&table, Qt::Key_Delete);
    if (!s.topology().links.empty()) return no("Delete removes the links");
    QTest::keyClick(&table, Qt::Key_Z, Qt::ControlModifier);
    return (s.topology().links.size() == 2 && latency() == 0.03) || no("undone");
}

constexpr std::pair<const char*, Gesture> all_gestures[] = {
    {"a device dragged from the palette", device_dragged_in},
    {"matrix by keys", matrix_by_keys},
    {"drag onto the grid", plain_drag},
    {"Alt-drag off the grid", alt_drag},
    {"middle drag moves the camera", middle_drag},
    {"rubber band", rubber_band},
    {"Ctrl+click", control_click},
    {"words of a link under the mouse", hover_on_link},
    {"the critical link is marked", critical_link},
    {"width is bandwidth", link_width_is_bandwidth},
    {"other links step back", other_links_step_back},
    {"Ctrl+D", duplicate},
    {"R N N N R N N N", region_after_nodes},
    {"R takes free nodes alone", region_of_free_nodes},
    {"Ctrl+G", group},
    {"Home and F", home_and_f},
    {"align top", align_from_the_menu},
    {"align in a column", align_in_a_column},
    {"distribute down", distribute_from_the_menu},
    {"lay out by stage", by_stage},
    {"what menus offer", menus},
    {"skip slider", skip_slider},
    {"what if by mouse", what_if_by_mouse},
    {"planner by mouse", planner_by_mouse},
    {"problem by mouse", problem_by_mouse},
    {"? and Ctrl+K", keys_of_help},
    {"Tab from node to node", tab_goes_from_node_to_node},
};

}  // namespace

class TestDesignGestures : public QObject {
    Q_OBJECT
    PlannerRegistry planners_;

private Q_SLOTS:
    void initTestCase() { register_planners(planners_); }

    void gestures_data() {
        QTest::addColumn<int>("which");
        int which = 0;
        for (const auto& [name, gesture] : all_gestures) QTest::newRow(name) << which++;
    }
    void gestures() {
        QFETCH(int, which);
        Studio studio(planners_);
        QVERIFY(studio.is_active);
        QVERIFY(all_gestures[which].second(studio));
    }
};

QTEST_MAIN(TestDesignGestures)
#include "test_design_gestures.moc"
