// SPDX-License-Identifier: GPL-3.0-or-later
// The matrix of latencies and bandwidths in its window: edited, pasted, what it shows, and why there is nothing.
#include <QClipboard>
#include <QComboBox>
#include <QPushButton>
#include <QTemporaryDir>
#include <QtTest>

#include "plugins/planners/all.h"
#include "tests/views/shown_window.h"
#include "tests/views/window_experiments.h"
#include "views/matrix/heat_key.h"
#include "views/matrix/marked_header.h"
#include "views/matrix/matrix_values.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/topology/edits.h"

using namespace skippipe;

class TestMatrixWays : public QObject {
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

    /// Among cells of its hue the one at hand has a ring.
    void the_cell_at_hand_has_a_ring() {
        auto w = window();
        w->open_template("quick-start");
        auto& table = see_matrix(*w).table();
        const QModelIndex cell = table.model()->index(0, 5);
        table.setCurrentIndex(cell);
        const QRect box = table.visualRect(cell);
        const QImage seen = table.viewport()->grab().toImage();
        QCOMPARE(seen.pixelColor(box.left() + 1, box.center().y()), theme().accent);
        QCOMPARE(seen.pixelColor(box.center().x(), box.top() + 1), theme().accent);
        QVERIFY(seen.pixelColor(table.visualRect(cell.siblingAtColumn(3)).left() + 1, box.center().y()) !=
                theme().accent);
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
};

QTEST_MAIN(TestMatrixWays)
#include "test_matrix_ways.moc"
