// SPDX-License-Identifier: GPL-3.0-or-later
// The Design workspace: files found again, the camera that stays, devices, shapes, the matrix, things found by words,
// problems that are mended by a button. The plan's panels: test_plan_panels.cpp.
#include <QClipboard>
#include <QComboBox>
#include <QDropEvent>
#include <QFileDialog>
#include <QMenu>
#include <QMimeData>
#include <QPushButton>
#include <QRegularExpression>
#include <QTemporaryDir>
#include <QtTest>

#include "core/experiment/validate.h"
#include "plugins/planners/all.h"
#include "tests/views/shown_window.h"
#include "tests/views/window_experiments.h"
#include "views/inspector/field_text.h"
#include "views/matrix/heat_key.h"
#include "views/matrix/marked_header.h"
#include "views/matrix/matrix_values.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/topology/devices.h"
#include "views/topology/edits.h"
#include "views/topology/shapes.h"
#include "views/window/command_palette.h"
#include "views/window/figure_line.h"
#include "views/window/problem_list.h"
#include "views/window/remedies.h"

using namespace skippipe;

class TestDesignWays : public QObject {
    Q_OBJECT
    PlannerRegistry planners_;
    QTemporaryDir folder_;

    std::unique_ptr<MainWindow> window() { return shown_window(planners_, folder_); }

    static MatrixPanel& see_matrix(MainWindow& w) {
        see_tab(w.design_page().matrix());
        return w.design_page().matrix();
    }

private Q_SLOTS:
    void initTestCase() { register_planners(planners_); }

    /// W14: "mine" is written as mine.json, which the filter shows again.
    void a_name_without_an_ending_gets_one() {
        auto w = window();
        w->document().start_new(six_in_two_regions());
        QTimer::singleShot(0, w.get(), [&] {
            auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
            if (dialog == nullptr) return;
            dialog->setDirectory(folder_.path());
            auto* name = dialog->findChild<QLineEdit*>("fileNameEdit");
            name->setText("mine");
            QMetaObject::invokeMethod(dialog, "accept", Qt::QueuedConnection);
        });
        QVERIFY(w->save_as());
        QVERIFY(QFile::exists(folder_.filePath("mine.json")) && !QFile::exists(folder_.filePath("mine")));
    }

    /// W14: what was worked on last opens again; what was never saved does not.
    void the_last_document_opens_again() {
        const QString settings = folder_.filePath("window.ini");
        {
            auto w = window();
            w->remember_in(settings);
            QVERIFY2(!w->open_last(), "there was none");
            w->document().start_new(six_in_two_regions());
            w->document().save(folder_.filePath("last.json").toStdString());
        }
        {
            auto w = window();
            w->remember_in(settings);
            QVERIFY(w->open_last());
            QTRY_COMPARE(w->document().file().filename().string(), std::string("last.json"));
            w->open_template("quick-start");
        }
        {
            auto w = window();
            w->remember_in(settings);
            QVERIFY2(!w->open_last(), "a template was shown last");
            w->document().save(folder_.filePath("gone.json").toStdString());
        }
        QVERIFY(QFile::remove(folder_.filePath("gone.json")));
        auto w = window();
        w->remember_in(settings);
        QVERIFY(w->open_last());
        QTRY_VERIFY2(!w->document().experiment().topology.nodes.empty(), "Quick start instead");
        QVERIFY2(w->banner().text().contains("gone.json"), qPrintable(w->banner().text()));
    }

    /// W14: neither a banner nor a click on what is in sight moves the camera.
    void the_camera_stays() {
        auto w = window();
        w->document().start_new(six_in_two_regions());
        QVERIFY(QTest::qWaitForWindowExposed(w.get()));
        auto& canvas = w->design_page().canvas();
        const auto zoom = canvas.transform().m11();
        w->banner().show_message("Something happened");
        QCoreApplication::processEvents();
        QTRY_VERIFY(w->banner().isVisible());
        QCOMPARE(canvas.transform().m11(), zoom);
        const QPointF middle = canvas.mapToScene(canvas.viewport()->rect().center());
        w->selection().select({.nodes = {"node-1"}});
        canvas.reveal_selection();
        QCOMPARE(canvas.mapToScene(canvas.viewport()->rect().center()), middle);
        w->resize(1240, 800);
        const double smaller = canvas.transform().m11();
        canvas.fit();
        QVERIFY2(canvas.transform().m11() == smaller, "who moved nothing sees all of it in any window");
        canvas.scale(8, 8);
        canvas.centerOn(400, 160);
        canvas.reveal_selection();
        QVERIFY(canvas.viewport()->rect().contains(canvas.mapFromScene(QPointF(0, 0))));
        w->resize(800, 600);
        QVERIFY2(canvas.transform().m11() < 4, "another size of the window shows everything again");
    }

    /// W7: what has costs only is simulated, and called so.
    void costs_alone_are_simulated() {
        auto w = window();
        w->open_template("authors-18");
        QCOMPARE(w->bar().launch_button().text(), QString("Simulate"));
        w->open_template("quick-start");
        QCOMPARE(w->bar().launch_button().text(), QString("Launch"));
    }

    void a_device_is_dropped_with_its_figures() {
        auto w = window();
        w->document().start_new({});
        auto& canvas = w->design_page().canvas();
        QMimeData data;
        data.setData(TopologyView::device_mime, "T4");
        const QPoint at = canvas.viewport()->rect().center();
        QDragEnterEvent enter(at, Qt::CopyAction, &data, Qt::LeftButton, {});
        QApplication::sendEvent(canvas.viewport(), &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent drop(at, Qt::CopyAction, &data, Qt::LeftButton, {});
        QApplication::sendEvent(canvas.viewport(), &drop);
        const auto& nodes = w->document().experiment().topology.nodes;
        QCOMPARE(nodes.size(), std::size_t{1});
        QCOMPARE(nodes[0].id, std::string("t4-1"));
        QCOMPARE(nodes[0].memory_bytes, std::optional<double>(16e9));
        // 6 D F + 8 D^2 + 4 T D a token, of T tokens, at 40 % of 65 TFLOP/s.
        const ModelSpec& m = w->document().experiment().model;
        const double d = m.width, f = 344, t = m.sequence;
        const double exact_s = (6 * d * f + 8 * d * d + 4 * t * d) * t / (65e12 * 0.4);
        QVERIFY(std::abs(nodes[0].seconds_per_sample_per_block / exact_s - 1) < 0.005);
        QVERIFY2(to_field(nodes[0].seconds_per_sample_per_block).size() <= 8, "three digits and the exponent are read");
        QMimeData file;
        file.setText("not a device");
        QDragEnterEvent other(at, Qt::CopyAction, &file, Qt::LeftButton, {});
        QApplication::sendEvent(canvas.viewport(), &other);
        QVERIFY(!other.isAccepted());
        w->design_page().tools().devices().setCurrentRow(0);
        Q_EMIT w->design_page().tools().devices().itemActivated(w->design_page().tools().devices().item(0));
        QCOMPARE(nodes.back().id, std::string("h100-1"));
    }

    /// Dropped on others it comes to lie beside them, as near as there is room.
    void a_device_lands_on_no_node() {
        auto w = window();
        Experiment e;
        for (int i = 0; i < 3; ++i) add_node(e, {70.0 * i, 0});
        w->document().start_new(e);
        auto& canvas = w->design_page().canvas();
        QMimeData data;
        data.setData(TopologyView::device_mime, "T4");
        for (int i = 0; i < 3; ++i) {
            const QPoint at = canvas.mapFromScene(QPointF(70, 0));
            QDragEnterEvent enter(at, Qt::CopyAction, &data, Qt::LeftButton, {});
            QApplication::sendEvent(canvas.viewport(), &enter);
            QDropEvent drop(at, Qt::CopyAction, &data, Qt::LeftButton, {});
            QApplication::sendEvent(canvas.viewport(), &drop);
            const auto& nodes = w->document().experiment().topology.nodes;
            QCOMPARE(nodes.size(), e.topology.nodes.size() + static_cast<std::size_t>(i) + 1);
            const Node& dropped = nodes.back();
            QVERIFY(std::hypot(dropped.x - 70, dropped.y) < 160);
            for (std::size_t other = 0; other + 1 < nodes.size(); ++other)
                QVERIFY2(std::hypot(nodes[other].x - dropped.x, nodes[other].y - dropped.y) > 2 * node_radius + 10,
                         nodes[other].id.c_str());
        }
    }

    void every_shape_can_be_planned() {
        for (const Shape shape : {Shape::ring, Shape::star, Shape::two_data_centres, Shape::random})
            for (const int nodes : {least_shape_nodes, 13}) {
                Experiment e = make_shape(shape, nodes, 3);
                QCOMPARE(static_cast<int>(e.topology.nodes.size()), nodes);
                const Fault* error = first_error(validate(e));
                QVERIFY2(error == nullptr, error == nullptr ? "" : error->what.c_str());
                QVERIFY(e.costs.all_reduce == AllReduceRule::planned);
                e.pipeline.plan_steps = 50;
                const auto outcome = make_plan(e, *planners_.find("skippipe-joint"), request_for(e));
                QVERIFY2(outcome->has_plan && outcome->score.violations.empty(), e.name.c_str());
                QVERIFY(make_shape(shape, nodes, 3) == make_shape(shape, nodes, 3));
            }
        QVERIFY(!(make_shape(Shape::random, 9, 1) == make_shape(Shape::random, 9, 2)));
    }

    void a_shape_is_chosen_from_the_palette() {
        auto w = window();
        auto& tools = w->design_page().tools();
        tools.findChild<QSpinBox*>("shape_nodes")->setValue(9);
        for (auto* entry : tools.findChild<QMenu*>()->actions())
            if (entry->text() == "Two data centres") entry->trigger();
        QCOMPARE(w->document().experiment().topology.nodes.size(), std::size_t{9});
        QCOMPARE(w->document().experiment().topology.regions.size(), std::size_t{2});
    }

    void the_matrix_is_edited_pasted_and_undone() {
        auto w = window();
        const Experiment e = six_in_two_regions();
        w->document().start_new(e);
        auto& panel = see_matrix(*w);
        auto& model = panel.model();
        QCOMPARE(model.rowCount(), 2);  // regions are what is linked
        QString told;
        connect(&panel, &MatrixPanel::told, this, [&](const QString& what) { told = what; });
        QVERIFY(model.setData(model.index(0, 1), "20 ms", Qt::EditRole));
        QCOMPARE(w->document().experiment().topology.links[0].latency_s, 0.02);
        QCOMPARE(model.data(model.index(1, 0), Qt::DisplayRole).toString(), QString("20.0"));
        model.setData(model.index(0, 1), "soon", Qt::EditRole);
        QVERIFY2(told.contains("no number"), qPrintable(told));
        panel.table().setCurrentIndex(model.index(0, 0));
        QGuiApplication::clipboard()->setText("1\t0.03 s\r\n30\t2 ms\r\n");  // alone they are ms, as is shown
        panel.paste();
        const auto& t = w->document().experiment().topology;
        QCOMPARE(t.links[0].latency_s, 0.03);
        QCOMPARE(t.links.size(), std::size_t{3});  // within each region a link of its own
        QCOMPARE(w->document().undo_stack().count(), 2);
        panel.table().selectAll();
        panel.copy();
        QCOMPARE(QGuiApplication::clipboard()->text(), QString("1\t30\n30\t2"));
        QGuiApplication::clipboard()->setText("1\t2\t3");
        panel.table().setCurrentIndex(model.index(0, 0));
        panel.paste();
        QVERIFY2(told.contains("no such pair") && w->document().undo_stack().count() == 2, qPrintable(told));
        panel.table().selectAll();
        panel.copy();
        w->document().edit("Slow", [](Experiment& x) {
            for (auto& link : x.topology.links) link.latency_s *= 1000;
        });
        QCOMPARE(model.unit().name, QString("s"));
        panel.paste();  // our own figures know their unit, whatever is shown by now
        QCOMPARE(w->document().experiment().topology.links[0].latency_s, 0.03);
        model.clear_cells({model.index(1, 0)});
        QVERIFY(!are_linked(w->document().experiment(), "region-1", "region-2"));
        while (w->document().undo_stack().canUndo()) w->document().undo_stack().undo();
        QVERIFY(w->document().experiment() == e);
    }

    /// The unit is said once beside the cells, which are figures; a figure typed alone is in it.
    void the_matrix_says_its_unit_once() {
        auto w = window();
        w->open_template("quick-start");
        auto& panel = see_matrix(*w);
        auto& model = panel.model();
        QCOMPARE(panel.unit().text(), QString("in ms"));
        QVERIFY(panel.unit().isVisible());
        for (int row = 0; row < model.rowCount(); ++row)
            for (int column = 0; column < model.columnCount(); ++column) {
                const QModelIndex cell = model.index(row, column);
                bool is_figure = false;
                cell.data().toString().toDouble(&is_figure);
                QVERIFY2(is_figure, qPrintable(cell.data().toString()));
                QVERIFY2(model.words(cell).contains(QChar(0x2009)), "its unit is read aloud");
                QCOMPARE(cell.data(Qt::AccessibleTextRole).toString(), model.words(cell));
            }
        QVERIFY(model.setData(model.index(0, 1), "250", Qt::EditRole));
        QCOMPARE(model.index(0, 1).data(Qt::AccessibleTextRole).toString(), duration(0.25));
        auto* shows = panel.findChild<QComboBox*>("matrix_shows");
        shows->setCurrentIndex(shows->findText("Bandwidth"));
        Q_EMIT shows->activated(shows->currentIndex());
        QCOMPARE(panel.unit().text(), QString("in Mbit/s"));
        QVERIFY(model.setData(model.index(0, 1), "8", Qt::EditRole));
        QCOMPARE(model.words(model.index(0, 1)), quantity(8e6, "bit/s"));
        w->open_template("authors-20");
        QVERIFY2(panel.unit().text().startsWith("Time of a hop in "), qPrintable(panel.unit().text()));
    }

    /// A column is as wide as it was drawn, whatever is edited, until another document comes.
    void a_column_keeps_the_width_that_was_drawn() {
        auto w = window();
        w->open_template("quick-start");
        auto& panel = see_matrix(*w);
        auto& heads = *panel.table().horizontalHeader();
        const int before = heads.sectionSize(2);
        heads.resizeSection(2, before + 61);
        QVERIFY(panel.model().setData(panel.model().index(0, 1), "1234", Qt::EditRole));
        QCOMPARE(heads.sectionSize(2), before + 61);
        w->document().edit("More", [](Experiment& e) { e.topology.regions.push_back({"Aachen", 0, 0}); });
        QCOMPARE(panel.model().column_end(3).id, std::string("Canada"));
        QCOMPARE(heads.sectionSize(3), before + 61);
        QVERIFY2(heads.sectionSize(2) < before + 61, "by its name, not by its place");
        w->open_template("authors-42");
        for (int column = 0; column < panel.model().columnCount(); ++column)
            QVERIFY(heads.sectionSize(column) < before + 61);
    }

    /// As many columns as have room with their figures whole; all of them where heads can give way.
    void the_matrix_cuts_no_column() {
        auto w = window();
        for (const QSize size : {QSize(1280, 800), QSize(1024, 700)})
            for (const char* name : {"quick-start", "authors-42"}) {
                w->resize(size);
                w->open_template(name);
                auto& table = see_matrix(*w).table();
                const auto& heads = *table.horizontalHeader();
                const auto words = [&] {
                    return QString("%1 columns of %2 in %3")
                        .arg(heads.count())
                        .arg(heads.sectionSize(0))
                        .arg(table.viewport()->width());
                };
                const auto are_whole = [&] {
                    const int room = table.viewport()->width(), wide = heads.sectionSize(0);
                    return wide >= 40 && (heads.length() <= room || room % wide < room / wide);
                };
                QTRY_VERIFY2(are_whole(), qPrintable(words()));
                const auto* model = table.model();
                for (int row = 0; row < model->rowCount(); ++row)
                    for (int column = 0; column < model->columnCount(); ++column) {
                        const QModelIndex cell = model->index(row, column);
                        QStyleOptionViewItem option;
                        option.initFrom(&table);
                        option.widget = &table;
                        option.font = table.font();
                        if (!w->design_page().matrix().model().is_far(cell))
                            QVERIFY2(table.itemDelegate()->sizeHint(option, cell).width() <= heads.sectionSize(column),
                                     qPrintable(cell.data().toString()));
                    }
                const auto& upright = static_cast<const MarkedHeader&>(heads);
                for (int column = 0; column < model->columnCount(); ++column) {
                    const QString head = model->headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
                    const int words = QFontMetrics(small_font()).horizontalAdvance(head);
                    QVERIFY2(words <= (upright.is_upright() ? heads.height() : heads.sectionSize(column)) - 10,
                             qPrintable(head));
                }
                if (name == std::string("quick-start") && size.width() == 1280)
                    QVERIFY2(heads.length() <= table.viewport()->width(), qPrintable(words()));
            }
    }

    /// Nodes without a link of their own have what their regions give them, told apart; a value makes a link.
    void the_matrix_shows_what_regions_give() {
        auto w = window();
        Experiment e = six_in_two_regions();
        const std::string lone = add_node(e, {900, 0});
        for (int i = 0; i < 6; ++i) add_link(e, lone, e.topology.nodes[static_cast<std::size_t>(i)].id);
        w->document().start_new(e);
        auto& panel = see_matrix(*w);
        auto& model = panel.model();
        const auto cell = [&](const std::string& from, const std::string& to) {
            int row = 0, column = 0;
            while (model.row_end(row).id != from) ++row;
            while (model.column_end(column).id != to) ++column;
            return model.index(row, column);
        };
        const auto& links = w->document().experiment().topology.links;
        const auto& t = w->document().experiment().topology;
        const QModelIndex inside = cell("node-1", "node-2");
        QVERIFY(model.is_inherited(inside) && !model.is_inherited(cell(lone, "node-1")));
        QVERIFY(inside.data().toString() != "–" && inside.data().toString().toDouble() > 0);
        QCOMPARE(inside.data(Qt::ForegroundRole).value<QColor>(), theme().text_2);
        QVERIFY2(inside.data(Qt::ToolTipRole).toString().contains("all nodes of region-1"),
                 qPrintable(inside.data(Qt::ToolTipRole).toString()));
        const QModelIndex across = cell("node-1", "node-6");
        QCOMPARE(across.data().toString(), cell("region-1", "region-2").data().toString());
        QVERIFY(across.data(Qt::ToolTipRole).toString().contains("link of region-1 to region-2"));
        QVERIFY(panel.words().text().contains("Pale figures"));
        const QModelIndex none = cell("region-1", "node-1");
        QVERIFY(none.data().toString().isEmpty() && !(none.flags() & Qt::ItemIsEditable));
        // What is not changed makes no link; what is, has the rest of its region.
        const auto count = links.size();
        model.setData(inside, inside.data(Qt::EditRole), Qt::EditRole);
        model.clear_cells({inside});
        QCOMPARE(links.size(), count);
        QVERIFY(model.setData(inside, "7", Qt::EditRole));
        QCOMPARE(links.size(), count + 1);
        QCOMPARE(links.back().latency_s, 0.007);
        QCOMPARE(links.back().bandwidth_bytes_per_s, t.within_region.bandwidth_bytes_per_s);
        QVERIFY(!model.is_inherited(cell("node-1", "node-2")) && model.is_inherited(across));
        // A link that is made has what its cell showed, one way and the other, whatever its regions are joined by.
        Experiment varied = e;
        varied.topology.within_region.latency_s = 0.003;
        for (auto& link : varied.topology.links)
            if (link.from == "region-1" && link.to == "region-2")
                link.latency_s = 0.021, link.bandwidth_bytes_per_s = 5e6, link.both_ways = true;
        varied.topology.links.push_back({"region-2", "region-2", 0.004, 7e6, true});
        const auto ends = matrix_rows(varied, MatrixShows::latency);
        const auto lent = [&](const MatrixEnd& from, const MatrixEnd& to, MatrixShows shows, double otherwise) {
            const double value = inherited_values(varied, {from}, {to}, shows).front();
            return value < 0 ? otherwise : value;
        };
        int made = 0;
        for (const auto& from : ends)
            for (const auto& to : ends) {
                if (from.is_region || to.is_region || from == to) continue;
                Experiment changed = varied;
                QVERIFY(set_matrix_value(changed, from, to, MatrixShows::latency, 0.009).isEmpty());
                if (changed.topology.links.size() == varied.topology.links.size()) continue;  // it was there
                QCOMPARE(changed.topology.links.back().bandwidth_bytes_per_s,
                         lent(from, to, MatrixShows::bandwidth, 1.25e8));
                changed = varied;
                QVERIFY(set_matrix_value(changed, from, to, MatrixShows::bandwidth, 2e6).isEmpty());
                QCOMPARE(changed.topology.links.back().latency_s, lent(from, to, MatrixShows::latency, 0.05));
                ++made;
            }
        QCOMPARE(made, 6 * 5);
        // Other programs get what is seen; a copy for here makes no links.
        QVERIFY(!model.text_of({across}).isEmpty() && model.text_of({across}, true).isEmpty());
    }

    /// What cannot be put in is told by its pair and in the unit that is shown, its cell is marked, until the page
    /// goes.
    void a_refused_cell_is_marked() {
        auto w = window();
        w->open_template("quick-start");
        auto& panel = see_matrix(*w);
        auto& model = panel.model();
        QString told = "-";
        connect(&panel, &MatrixPanel::told, this, [&](const QString& what) { told = what; });
        const QModelIndex cell = model.index(0, 1);
        model.setData(cell, "banana", Qt::EditRole);
        QCOMPARE(told, model.pair(0, 1) + ": \"banana\" is no number of ms; nothing was put in");
        QVERIFY(cell.data(MatrixModel::refusal).toString().contains("banana"));
        QCOMPARE(cell.data(Qt::ToolTipRole), cell.data(MatrixModel::refusal));
        see_tab(w->design_page().canvas());
        QCOMPARE(told, QString());
        QVERIFY(cell.data(MatrixModel::refusal).toString().isEmpty());
        see_matrix(*w);
        model.setData(cell, "banana", Qt::EditRole);
        QVERIFY(model.setData(cell, "12", Qt::EditRole));
        QVERIFY(told.isEmpty() && cell.data(MatrixModel::refusal).toString().isEmpty());
        // Nor does it stay where something else changes the document.
        for (const auto& change : std::vector<std::function<void()>>{
                 [&] { w->document().undo_stack().undo(); }, [&] { w->document().start_new(six_in_two_regions()); }}) {
            model.setData(model.index(0, 1), "banana", Qt::EditRole);
            QVERIFY(told.contains("banana"));
            QVERIFY(!model.index(0, 1).data(MatrixModel::refusal).toString().isEmpty());
            change();
            QCOMPARE(told, QString());
            QVERIFY(model.index(0, 1).data(MatrixModel::refusal).toString().isEmpty());
        }
    }

    /// What the colours of cells say.
    void the_matrix_has_a_key_of_its_colours() {
        auto w = window();
        w->open_template("quick-start");
        auto& panel = see_matrix(*w);
        const auto& key = panel.heat_key();
        QVERIFY(key.isVisible());
        auto& model = panel.model();
        double least = 1e9, most = 0;
        for (const auto& link : w->document().experiment().topology.links)
            least = std::min(least, link.latency_s), most = std::max(most, link.latency_s);
        QCOMPARE(key.quickest() + QChar(0x2009) + "ms", duration(least));
        QCOMPARE(key.slowest() + QChar(0x2009) + "ms", duration(most));
        const auto colour_of = [&](const QString& words) {
            for (int row = 0; row < model.rowCount(); ++row)
                for (int column = 0; column < model.columnCount(); ++column)
                    if (row != column && model.data(model.index(row, column), Qt::DisplayRole).toString() == words)
                        return model.data(model.index(row, column), Qt::BackgroundRole).value<QColor>();
            return QColor();
        };
        QCOMPARE(colour_of(key.quickest()), heat_colour(0));
        QCOMPARE(colour_of(key.slowest()), heat_colour(1));
        w->document().start_new(six_in_two_regions());
        QVERIFY2(!key.isVisible(), "one value has no scale");
    }

    /// What a node's own connection carries; two columns, as many rows as nodes.
    void the_matrix_has_uplinks_and_downlinks() {
        auto w = window();
        w->document().start_new(six_in_two_regions());
        auto& panel = see_matrix(*w);
        auto& model = panel.model();
        auto* shows = panel.findChild<QComboBox*>("matrix_shows");
        shows->setCurrentIndex(shows->findText("Uplink and downlink"));
        Q_EMIT shows->activated(shows->currentIndex());
        QCOMPARE(model.rowCount(), 6);
        QCOMPARE(model.columnCount(), 2);
        QCOMPARE(model.headerData(1, Qt::Horizontal, Qt::DisplayRole).toString(), QString("Downlink"));
        const auto node = [&](int row) {
            for (const auto& one : w->document().experiment().topology.nodes)
                if (one.id == model.row_end(row).id) return one;
            return Node{};
        };
        QVERIFY(model.setData(model.index(1, 0), "40 Mbit/s", Qt::EditRole));
        QCOMPARE(node(1).up_bytes_per_s, std::optional(5e6));
        QVERIFY(!node(1).down_bytes_per_s && !node(0).up_bytes_per_s);
        QCOMPARE(model.data(model.index(1, 1), Qt::DisplayRole).toString(), QString("–"));
        panel.table().setCurrentIndex(model.index(1, 1));
        QGuiApplication::clipboard()->setText("8\n2e6 B/s");
        panel.paste();
        QCOMPARE(node(1).down_bytes_per_s, std::optional(1e6));
        QCOMPARE(node(2).down_bytes_per_s, std::optional(2e6));
        model.clear_cells({model.index(1, 0)});
        QVERIFY(!node(1).up_bytes_per_s && node(1).down_bytes_per_s);
        w->open_template("authors-20");  // hops have no connections
        QCOMPARE(model.shows(), MatrixShows::hop);
        QCOMPARE(model.columnCount(), 20);
    }

    /// The published hop times have one pair that is off by a factor of 1,024.
    void a_mistaken_unit_stands_out() {
        auto w = window();
        w->open_template("authors-20");
        auto& model = see_matrix(*w).model();
        QCOMPARE(model.shows(), MatrixShows::hop);
        QVERIFY2(!model.outliers().empty() && model.outliers().size() <= 8,
                 qPrintable(QString::number(model.outliers().size())));
        const auto& nodes = w->document().experiment().topology.nodes;
        const auto region = [&](int row) {
            for (const auto& node : nodes)
                if (node.id == model.row_end(row).id) return node.region;
            return std::string{};
        };
        for (const auto& cell : model.outliers())
            QCOMPARE((std::set<std::string>{region(cell.row()), region(cell.column())}),
                     (std::set<std::string>{"London", "NL"}));
        QVERIFY(w->design_page().matrix().words().text().contains("far from all others"));
        const QModelIndex far = model.outliers().front();
        auto& table = w->design_page().matrix().table();
        QCoreApplication::processEvents();  // columns follow the room they have
        table.scrollTo(far);
        const QImage seen = table.viewport()->grab().toImage();
        const QPoint corner = table.visualRect(far).topLeft() + QPoint(3, 3);
        QVERIFY(QRect(QPoint(), seen.size()).contains(corner));
        QCOMPARE(seen.pixelColor(corner), theme().warning);
        // Rows stand by region.
        for (int row = 1; row < model.rowCount(); ++row) QVERIFY(region(row - 1) <= region(row));
        w->open_template("quick-start");
        QVERIFY2(model.outliers().empty(), "links between continents are no mistake");
        QVERIFY(outliers({1, 1, 1, 1, 1, 1, 100}).size() == 1 && outliers({1, 2, 3, 4, 5, 6, 7}).empty());
    }

    /// Heads of what is selected are marked; what is joined with itself is on no scale; the first node of a region
    /// has its name, and a button leads to what is far off.
    void the_matrix_follows_the_selection() {
        auto w = window();
        w->open_template("quick-start");
        auto& panel = see_matrix(*w);
        auto& model = panel.model();
        const auto marked = [&](Qt::Orientation way) {
            QStringList heads;
            for (int i = 0; i < model.rowCount(); ++i)
                if (model.headerData(i, way, MarkedHeader::marked).toBool())
                    heads << model.headerData(i, way, Qt::DisplayRole).toString();
            return heads.join(' ');
        };
        QCOMPARE(marked(Qt::Vertical), QString());
        w->selection().select({.nodes = {"n3"}});
        QCOMPARE(marked(Qt::Vertical) + '/' + marked(Qt::Horizontal), QString("Germany/Germany"));
        w->selection().select({.links = {{"LA", "Iowa"}}});
        QCOMPARE(marked(Qt::Horizontal), QString("Iowa LA"));
        auto* heads = panel.table().verticalHeader();
        const int row = marked(Qt::Vertical).isEmpty() ? 0 : 4;
        QCOMPARE(model.headerData(row, Qt::Vertical, Qt::DisplayRole).toString(), QString("Iowa"));
        const QImage seen = heads->viewport()->grab().toImage();
        const QPoint edge(heads->width() - 2, heads->sectionViewportPosition(row) + heads->sectionSize(row) / 2);
        QCOMPARE(seen.pixelColor(edge), theme().accent);
        QCOMPARE(model.data(model.index(0, 0), Qt::BackgroundRole).value<QBrush>().style(), Qt::BDiagPattern);
        QVERIFY(panel.far_button().isHidden());
        // What is selected elsewhere is brought into sight.
        const auto is_seen = [&](const char* id) {
            int place = 0;
            while (model.row_end(place).id != id) ++place;
            const QRect cell = panel.table().visualRect(model.index(place, place));
            return panel.table().viewport()->rect().contains(cell);
        };
        QVERIFY(is_seen("Australia") && !is_seen("Taiwan"));
        w->selection().select({.nodes = {"n10"}});
        QVERIFY(is_seen("Taiwan"));
        see_tab(w->design_page().canvas());
        w->selection().select({.regions = {"Australia"}});
        see_matrix(*w);
        QTRY_VERIFY(is_seen("Australia"));
        w->open_template("authors-20");
        QCOMPARE(model.headerData(0, Qt::Horizontal, Qt::DisplayRole).toString(), QString("Australia\nn0"));
        QCOMPARE(model.headerData(1, Qt::Vertical, Qt::DisplayRole).toString(), QString("n12"));
        QCOMPARE(panel.far_button().text(), QString("Show %1 far off").arg(model.outliers().size()));
        for (const std::size_t next : {0, 1}) {
            panel.far_button().click();
            QCOMPARE(panel.table().currentIndex(), model.outliers()[next]);
            QVERIFY(panel.table().viewport()->rect().contains(panel.table().visualRect(model.outliers()[next])));
        }
    }

    /// Where hop times replace links the canvas says so, and leads to them.
    void a_network_without_links_says_why() {
        auto w = window();
        w->open_template("quick-start");
        auto& canvas = w->design_page().canvas();
        auto* note = canvas.findChild<QPushButton*>("hops_note");
        QVERIFY(!note->isVisible());
        w->open_template("authors-20");
        QVERIFY(note->isVisible() && canvas.viewport()->rect().contains(note->geometry()));
        note->click();
        QVERIFY(w->design_page().matrix().isVisible());
    }

    /// What is listed beside the canvas says how fast it is.
    void devices_have_their_figures() {
        auto w = window();
        const auto* list = w->design_page().tools().findChild<QListWidget*>("devices");
        QCOMPARE(plain(list->item(0)->data(Qt::AccessibleDescriptionRole).toString()), QString("989 TFLOP/s, 80 GB"));
        QVERIFY(list->sizeHintForRow(0) >= size::row);
        // A device is what a node's work is on; what a node is drawn after is hardware.
        QCOMPARE(list->accessibleName(), QString("Hardware"));
        QVERIFY(!list->toolTip().contains("device", Qt::CaseInsensitive));
    }

    /// A node's menu says where it stands and serves.
    void a_node_is_moved_by_its_menu() {
        auto w = window();
        w->document().start_new(six_in_two_regions());
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        const auto pick = [&](const QString& words, const QString& in = {}) {
            QMenu menu;
            Q_EMIT w->design_page().canvas().menu_wanted({.nodes = {"node-1"}}, menu);
            for (auto* action : (in.isEmpty() ? &menu : [&] {
                     for (auto* sub : menu.findChildren<QMenu*>())
                         if (sub->title() == in) return sub;
                     return &menu;
                 }())->actions())
                if (action->text() == words) return action->trigger(), true;
            return false;
        };
        QVERIFY(pick("Select region"));
        QCOMPARE(w->selection().now().regions, std::set<std::string>{"region-1"});
        QVERIFY(!pick("region-1", "Move to region"));
        QVERIFY(pick("region-2", "Move to region"));
        const auto& e = w->document().experiment();
        QCOMPARE(e.topology.nodes.front().region, std::string("region-2"));
        QVERIFY2(e.topology.nodes.front().x > 400, "beside those that are there");
        w->document().undo_stack().undo();
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        QVERIFY(pick("Stage 2", "Pin to stage"));
        const auto& placed = e.pipeline.placement;
        QVERIFY(placed.size() == 3 && std::find(placed[2].begin(), placed[2].end(), "node-1") != placed[2].end());
    }

    /// A link is drawn to a node by its name; one that is linked already is not offered.
    void a_node_is_linked_by_its_menu() {
        auto w = window();
        w->document().start_new(six_in_two_regions());
        const auto entries = [&](const Selection& subject, const QString& pick = {}) {
            QMenu menu;
            Q_EMIT w->design_page().canvas().menu_wanted(subject, menu);
            QStringList names;
            if (const auto* to = menu.findChild<QMenu*>("link_to"))
                for (auto* action : to->actions()) {
                    names << action->text();
                    if (action->text() == pick) action->trigger();
                }
            return names.join(' ');
        };
        QCOMPARE(entries({.nodes = {"node-1"}}, "node-5"), QString("node-2 node-3 node-4 node-5 node-6"));
        const Experiment& e = w->document().experiment();
        QVERIFY(are_linked(e, "node-1", "node-5"));
        QCOMPARE(w->selection().now().links, (std::set<LinkKey>{{"node-1", "node-5"}}));
        QCOMPARE(entries({.nodes = {"node-1"}}), QString("node-2 node-3 node-4 node-6"));
        w->document().undo_stack().undo();
        QVERIFY(!are_linked(w->document().experiment(), "node-1", "node-5"));
        QVERIFY2(entries({.regions = {"region-1"}}).isEmpty(), "the only other region is linked");
        QVERIFY2(entries({.nodes = {"node-1", "node-2"}}).isEmpty(), "of two nodes each is linked with the other");
        w->open_template("authors-42");
        const QString regions = entries({.nodes = {"n0"}});
        QVERIFY2(regions.contains("Japan") && !regions.contains("n5"), "many nodes stand below their regions");
        w->open_template("authors-20");
        QVERIFY2(entries({.nodes = {"n0"}}).isEmpty(), "hop times replace links");
    }

    void an_action_and_a_node_are_found_by_words() {
        auto w = window();
        w->document().start_new(six_in_two_regions());
        QVERIFY(QTest::qWaitForWindowExposed(w.get()));
        const auto palette = [&] { return w->findChild<CommandPalette*>(); };
        const auto ask = [&] {
            for (auto* action : w->actions())
                if (action->shortcut() == QKeySequence(Qt::CTRL | Qt::Key_K)) action->trigger();
        };
        ask();
        QVERIFY(palette() != nullptr);
        QTest::keyClicks(&palette()->line(), "node node-5");
        QCOMPARE(palette()->list().count(), 1);
        QTest::keyClick(&palette()->line(), Qt::Key_Return);
        QTRY_VERIFY(w->selection().now().nodes.contains("node-5"));
        QTRY_VERIFY(palette() == nullptr);
        ask();
        QVERIFY(palette() != nullptr);
        QTest::keyClicks(&palette()->line(), "select every");
        QTest::keyClick(&palette()->line(), Qt::Key_Return);
        QTRY_COMPARE(w->selection().now().nodes.size(), std::size_t{6});
        QTRY_VERIFY(palette() == nullptr);
        w->activateWindow();
        w->design_page().canvas().setFocus();
        QTRY_VERIFY(w->design_page().canvas().hasFocus());
        QTest::keyClick(&w->design_page().canvas(), Qt::Key_F, Qt::ControlModifier);
        QVERIFY(palette() != nullptr);
        QCOMPARE(palette()->list().count(), 8);  // six nodes, two regions, no action
        QTest::keyClicks(&palette()->line(), "node-2");
        QTest::keyClick(&palette()->line(), Qt::Key_Return);
        QTRY_COMPARE(w->selection().now().nodes, std::set<std::string>{"node-2"});
        const std::vector<PaletteEntry> entries{{"View", "Watch", "", {}}, {"Canvas", "Tidy up", "", {}}};
        QCOMPARE(find_entries(entries, "UP tidy"), std::vector<std::size_t>{1});
        QVERIFY(find_entries(entries, "nothing").empty());
        const std::vector<PaletteEntry> places{
            {"Region", "Iowa", "", {}}, {"Region", "London", "", {}}, {"Region", "on Sea", "", {}}};
        QCOMPARE(find_entries(places, "on"), (std::vector<std::size_t>{2, 1, 0}));
        // Written as one word it is found, too; before anything is typed what is likely stands first.
        const std::vector<PaletteEntry> layouts{
            {"File", "New", "", {}, 2}, {"Canvas", "Lay out by stage", "", {}, 1}, {"Canvas", "Play", "", {}, -1}};
        QCOMPARE(find_entries(layouts, "layout"), std::vector<std::size_t>{1});
        QCOMPARE(find_entries(layouts, "layout stage"), std::vector<std::size_t>{1});
        QCOMPARE(find_entries(layouts, ""), (std::vector<std::size_t>{2, 1, 0}));
        QTRY_VERIFY(palette() == nullptr);
        ask();
        QVERIFY(palette() != nullptr);
        QCOMPARE(palette()->list().item(0)->text(), QString("node-2"));  // it was used last
        QCOMPARE(palette()->list().item(1)->text(), QString("Select everything"));
        QStringList said;
        for (int row = 0; row < palette()->list().count(); ++row) said << palette()->list().item(row)->text();
        QVERIFY2(said.contains("Export spans as CSV…") && !said.contains("Spans as CSV…"), "by a verb");
        QVERIFY(said.indexOf("Fit everything") < said.indexOf("New"));
        palette()->close();
    }

    void problems_are_mended_by_a_button() {
        auto w = window();
        Experiment e = six_in_two_regions();
        e.pipeline.stages = 9;
        w->document().start_new(e);
        auto* bar = w->design_page().problems().parentWidget()->findChild<RemedyBar*>();
        QTRY_VERIFY(bar->findChild<QPushButton*>() != nullptr);
        const auto button = [&](const QString& words) -> QPushButton* {
            for (auto* b : bar->findChildren<QPushButton*>())
                if (b->text() == words && !b->isHidden()) return b;
            return nullptr;
        };
        QTRY_VERIFY(button("Use 6 stages") != nullptr && button("Use 6 stages")->isEnabled());
        button("Use 6 stages")->click();
        QCOMPARE(w->document().experiment().pipeline.stages, 6);
        QVERIFY(first_error(w->document().faults()) == nullptr);

        // One node that nothing reaches, as a newcomer makes it.
        w->document().edit("Add", [](Experiment& x) { add_node(x, {900, 0}); });
        const Fault* unlinked = first_error(w->document().faults());
        QVERIFY(unlinked != nullptr);
        // It is told by its node's name, what to do and why below it, whole in any width.
        ProblemList list(w->document(), w->plans());
        list.show_faults({*unlinked});
        list.show();
        const QString id = QString::fromStdString(w->document().experiment().topology.nodes.back().id);
        QCOMPARE(list.item(0)->text(), QString("No link reaches node \"%1\"").arg(id));
        QVERIFY(list.item(0)->data(Qt::AccessibleTextRole).toString().contains("Draw a link to or from it"));
        const auto row_height = [&](int width) {
            list.resize(width, 200);
            return list.sizeHintForRow(0);
        };
        QVERIFY(row_height(200) > row_height(600));
        QVERIFY2(row_height(600) > 2 * list.fontMetrics().height(), "two lines at least");
        QCOMPARE(list.horizontalScrollBarPolicy(), Qt::ScrollBarAlwaysOff);
        QTRY_VERIFY2(w->findChild<FigureLine*>()->toolTip().contains("No plan. No link reaches node"),
                     qPrintable(w->findChild<FigureLine*>()->toolTip()));
        const auto remedies = remedies_for(*unlinked, w->document().experiment());
        QVERIFY(!remedies.empty());
        for (const auto& remedy : remedies) {
            Experiment mended = w->document().experiment();
            remedy.mend(mended);
            QVERIFY2(first_error(validate(mended)) == nullptr, qPrintable(remedy.words));
        }
        QCOMPARE(w->design_page().problems().currentRow(), 0);
        QTRY_COMPARE(bar->findChild<QLabel*>()->text(), QString("Remedy for %1:").arg(id));
        // It stands in the row of what it mends, and the nearest region is offered before many links.
        auto& rows = w->design_page().problems();
        w->design_page().bottom().setCurrentWidget(rows.parentWidget());
        QTRY_VERIFY(bar->isVisible() && bar->height() > 20);
        QTRY_VERIFY(rows.visualItemRect(rows.currentItem()).contains(bar->geometry()));
        QVERIFY(rows.visualItemRect(rows.currentItem()).height() > row_height(rows.viewport()->width()) + 20);
        QCOMPARE(remedies.front().words, QString("Put %1 in region-2").arg(id));
        // Where they would be cut short beside each other they stand one below the other.
        w->resize(1024, 700);
        auto* strip = w->design_page().plan_timeline().parentWidget()->findChild<RemedyBar*>();
        w->design_page().bottom().setCurrentIndex(0);
        const auto are_whole = [&] {
            const auto buttons = strip->findChildren<QPushButton*>();
            return buttons.size() > 1 && std::all_of(buttons.begin(), buttons.end(), [](const QPushButton* one) {
                       return one->isVisible() && one->width() >= one->sizeHint().width();
                   });
        };
        QTRY_VERIFY_WITH_TIMEOUT(are_whole(), patient_ms);
        // What no edit of the window mends has no button.
        QVERIFY(remedies_for(Fault{.pointer = "/nowhere", .what = "?"}, six_in_two_regions()).empty() ||
                first_error(validate(six_in_two_regions())) == nullptr);
    }

    /// Of what only a plan finds nothing is offered that the next plan may make vain.
    void what_a_plan_finds_is_mended_for_sure() {
        Experiment e = six_in_two_regions();
        e.pipeline.stages = 6;
        e.pipeline.blocks_per_stage.assign(6, 1);
        Fault idle;
        idle.severity = Fault::Severity::warning;
        idle.pointer = "/topology/nodes/0";
        idle.what = "node-1 executes nothing";
        QStringList words;
        for (const auto& remedy : remedies_for(idle, e)) words << remedy.words;
        QVERIFY2(!words.join('/').contains("stages") && !words.join('/').contains("Link"), qPrintable(words.join('/')));
        e.pipeline.stages = 3;
        e.pipeline.blocks_per_stage.assign(3, 2);
        words.clear();
        for (const auto& remedy : remedies_for(idle, e)) words << remedy.words;
        QCOMPARE(words, QStringList{"Remove node-1"});
        // As many stages as there are is no remedy.
        e.pipeline.blocks_per_stage.assign(3, 1);
        const Faults faults = validate(e);
        const Fault* wrong = first_error(faults);
        QVERIFY(wrong != nullptr);
        words.clear();
        for (const auto& remedy : remedies_for(*wrong, e)) words << remedy.words;
        QVERIFY2(!words.isEmpty() && !words.contains("Use 3 stages"), qPrintable(words.join('/')));
        auto w = window();
        w->document().start_new(e);
        QCOMPARE(fault_words(idle, w->document()), QString("node-1 executes nothing"));
    }

    /// Every plan fills the list anew.
    void the_problem_at_hand_stays() {
        auto w = window();
        w->open_template("quick-start");
        w->document().edit("Slips", [](Experiment& e) {
            e.topology.links[0].latency_s = 129;
            e.topology.links[1].latency_s = 129;
            e.pipeline.stages = 99;
        });
        auto& list = w->design_page().problems();
        QVERIFY(list.count() >= 3);
        list.setCurrentRow(list.count() - 1);
        const QString words = list.currentItem()->text();
        w->document().edit("Stages", [](Experiment& e) { e.pipeline.stages = 6; });
        QVERIFY(list.count() >= 2);
        QCOMPARE(list.currentItem()->text(), words);
        QVERIFY(list.currentRow() > 0);
    }

    /// Regions without a link between them are told as such, and linked by the first button.
    void regions_that_are_apart_are_linked_by_a_button() {
        auto w = window();
        Experiment e = six_in_two_regions();
        e.topology.links.clear();
        e.pipeline.stages = 6;
        w->document().start_new(e);
        auto* bar = w->design_page().plan_timeline().parentWidget()->findChild<RemedyBar*>();
        QTRY_VERIFY_WITH_TIMEOUT(bar->findChild<QPushButton*>() != nullptr, patient_ms);
        QVERIFY2(w->design_page().figures().toolTip().contains("region-1 and region-2 are not linked"),
                 qPrintable(w->design_page().figures().toolTip()));
        const auto buttons = bar->findChildren<QPushButton*>();
        QCOMPARE(buttons.size(), 1);  // to link everything would be the same
        QCOMPARE(buttons.front()->text(), QString("Link region-1 and region-2"));
        buttons.front()->click();
        QVERIFY(are_linked(w->document().experiment(), "region-1", "region-2"));
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
    }

    /// What keeps an experiment from being launched stands first; a slip of the unit is mended by what others have.
    void errors_come_first() {
        auto w = window();
        w->open_template("quick-start");
        w->document().edit("Slips", [](Experiment& e) {
            e.topology.links[0].latency_s = 129;
            e.topology.links[1].bandwidth_bytes_per_s *= 1024;
            e.pipeline.stages = 99;
        });
        const auto faults = static_cast<const ProblemList&>(w->design_page().problems()).faults();
        QVERIFY(faults.size() >= 3 && faults.front().severity == Fault::Severity::error);
        QVERIFY(faults.back().severity == Fault::Severity::warning);
        const std::pair<const char*, const char*> slips[] = {{"/latency_s", " ms"},
                                                             {"/bandwidth_bytes_per_s", "bit/s"}};
        w->document().edit("Stages", [](Experiment& e) { e.pipeline.stages = 6; });
        for (const auto& [field, unit] : slips)
            for (const auto& fault : w->document().faults()) {
                if (!fault.pointer.ends_with(field)) continue;
                QVERIFY2(QString::fromStdString(fault.what).count(QRegularExpression("\\d{7}|e\\+")) == 0,
                         fault.what.c_str());
                const auto remedies = remedies_for(fault, w->document().experiment());
                QVERIFY(!remedies.empty());
                QVERIFY2(remedies.front().words.startsWith("Give it the median") &&
                             plain(remedies.front().words).endsWith(unit),
                         qPrintable(remedies.front().words));
            }
    }

    /// Of many nodes some are named.
    void many_idle_nodes_are_told_in_one_line() {
        auto w = window();
        Experiment e = make_shape(Shape::two_data_centres, 16, 1);
        e.pipeline.stages = 2;
        e.pipeline.microbatches = 2;
        e.pipeline.planner = "gpipe";
        w->document().start_new(e);
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        const auto faults = static_cast<const ProblemList&>(w->design_page().problems()).faults();
        QCOMPARE(faults.size(), std::size_t{1});
        const QString words = QString::fromStdString(faults[0].what);
        QVERIFY2(words.contains(QRegularExpression(" and \\d+ more$")), qPrintable(words));
        QCOMPARE(words.count("node-"), 5);
        // It has its stage in the plan's lanes too.
        for (const auto& lane : w->plans().ready()->lanes->lanes()) QVERIFY2(lane.stage >= 0, lane.name.c_str());
    }

    /// What is wrong with the text of a file alone is mended in its field: no button seems to do it.
    void faults_of_a_file_have_no_buttons() {
        auto w = window();
        Experiment e = six_in_two_regions();
        e.pipeline.stages = 9;
        w->document().open({"x.json", e, {{"/seed", "-1 is out of range", "", ""}}});
        auto& problems = w->design_page().problems();
        auto* bar = problems.parentWidget()->findChild<RemedyBar*>();
        QVERIFY(problems.item(0)->text().startsWith("Seed") && problems.count() > 1);
        problems.setCurrentRow(problems.count() - 1);
        QTRY_VERIFY_WITH_TIMEOUT(bar->findChild<QPushButton*>() != nullptr, patient_ms);
        problems.setCurrentRow(0);
        QTRY_VERIFY(bar->findChild<QPushButton*>() == nullptr && !bar->isVisibleTo(bar->parentWidget()));
    }
};

QTEST_MAIN(TestDesignWays)
#include "test_design_ways.moc"
