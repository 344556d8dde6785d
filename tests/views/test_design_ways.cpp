// SPDX-License-Identifier: GPL-3.0-or-later
// The Design workspace: files found again, the camera that stays, devices, shapes, the matrix, planners side by side,
// problems that are mended by a button.
#include <QClipboard>
#include <QComboBox>
#include <QDropEvent>
#include <QFileDialog>
#include <QMenu>
#include <QMimeData>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QtTest>

#include "core/experiment/io.h"
#include "core/experiment/validate.h"
#include "plugins/planners/all.h"
#include "tests/views/window_experiments.h"
#include "views/inspector/field_text.h"
#include "views/theme/theme.h"
#include "views/topology/devices.h"
#include "views/topology/edits.h"
#include "views/topology/layouts.h"
#include "views/topology/shapes.h"
#include "views/window/command_palette.h"
#include "views/window/main_window.h"
#include "views/window/remedies.h"

using namespace skippipe;

namespace {

constexpr int design_patience_ms = 60'000;

Experiment six_in_two_regions() {
    Experiment e;
    e.pipeline.stages = 3;
    e.pipeline.microbatches = 6;
    e.pipeline.plan_steps = 200;
    for (const Point at : {Point{0, 0}, Point{400, 0}}) {
        const std::string region = add_region(e, at);
        for (int i = 0; i < 3; ++i) add_node(e, {at.x, 80.0 * i}, region);
    }
    add_link(e, "region-1", "region-2");
    return e;
}

const Fault* first_error(const Faults& faults) {
    for (const auto& fault : faults)
        if (fault.severity == Fault::Severity::error) return &fault;
    return nullptr;
}

}  // namespace

class TestDesignWays : public QObject {
    Q_OBJECT
    PlannerRegistry planners_;
    QTemporaryDir folder_;

    std::unique_ptr<MainWindow> window() {
        auto made = std::make_unique<MainWindow>(planners_, folder_.filePath("record.sqlite").toStdString());
        made->resize(1280, 800);
        made->show();
        return made;
    }

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
        QCOMPARE(model.data(model.index(1, 0), Qt::DisplayRole).toString(), QString("20.0\u2009ms"));
        model.setData(model.index(0, 1), "soon", Qt::EditRole);
        QVERIFY2(told.contains("no number"), qPrintable(told));
        panel.table().setCurrentIndex(model.index(0, 0));
        QGuiApplication::clipboard()->setText("0.001\t30 ms\r\n30 ms\t2 ms\r\n");
        panel.paste();
        const auto& t = w->document().experiment().topology;
        QCOMPARE(t.links[0].latency_s, 0.03);
        QCOMPARE(t.links.size(), std::size_t{3});  // within each region a link of its own
        QCOMPARE(w->document().undo_stack().count(), 2);
        panel.table().selectAll();
        panel.copy();
        QCOMPARE(QGuiApplication::clipboard()->text(), QString("0.001\t0.03\n0.03\t0.002"));
        QGuiApplication::clipboard()->setText("1\t2\t3");
        panel.table().setCurrentIndex(model.index(0, 0));
        panel.paste();
        QVERIFY2(told.contains("no such pair") && w->document().undo_stack().count() == 2, qPrintable(told));
        model.clear_cells({model.index(1, 0)});
        QVERIFY(!are_linked(w->document().experiment(), "region-1", "region-2"));
        while (w->document().undo_stack().canUndo()) w->document().undo_stack().undo();
        QVERIFY(w->document().experiment() == e);
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
        QGuiApplication::clipboard()->setText("1e6\n2e6");
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

    void planners_stand_side_by_side() {
        auto w = window();
        Experiment e = six_in_two_regions();
        e.pipeline.planner = "gpipe";
        w->document().start_new(e);
        auto& page = w->design_page().planners();
        const QString not_yet("\u2013");
        QCOMPARE(page.table().item(1, 1)->text(), not_yet);
        QCOMPARE(page.table().item(0, 0)->text(), QString(QChar(0x2713)) + " gpipe");
        QTRY_VERIFY_WITH_TIMEOUT(page.table().item(0, 1)->text() != not_yet,
                                 design_patience_ms);  // it is planned anyway
        QCOMPARE(page.table().item(1, 1)->text(), not_yet);
        QTest::mouseClick(&page.button(), Qt::LeftButton);
        QVERIFY(page.is_busy());
        QTRY_VERIFY_WITH_TIMEOUT(!page.is_busy(), design_patience_ms);
        QCOMPARE(page.table().rowCount(), static_cast<int>(planners_.all().size()));
        int planned = 0, joint = -1, shortest = 0;
        for (int row = 0; row < page.table().rowCount(); ++row) {
            planned += page.table().item(row, 1)->text() != not_yet;
            shortest += page.table().item(row, page.table().columnCount() - 1)->text() == "shortest";
            if (page.table().item(row, 0)->text() == "skippipe-joint") joint = row;
        }
        QVERIFY2(planned >= 3 && shortest >= 1 && joint >= 0, qPrintable(QString::number(planned)));
        Q_EMIT page.table().cellClicked(joint, 0);
        QCOMPARE(w->document().experiment().pipeline.planner, std::string("skippipe-joint"));
        QCOMPARE(page.table().item(joint, 0)->text(), QString(QChar(0x2713)) + " skippipe-joint");
        QVERIFY2(page.table().item(joint, 1)->text() != not_yet, "another planner is no other experiment");
        const auto price_is_hidden = [&] {
            for (int column = 0; column < page.table().columnCount(); ++column)
                if (page.table().horizontalHeaderItem(column)->text() == "Price")
                    return page.table().isColumnHidden(column);
            return false;
        };
        QVERIFY2(price_is_hidden(), "nothing has a price");
        w->document().edit("Price", [](Experiment& x) { x.topology.nodes[0].price_per_hour = 1; });
        QVERIFY(!price_is_hidden());
        // An edit ends what goes on.
        page.start();
        w->document().edit("More", [](Experiment& x) { x.pipeline.microbatches = 12; });
        QVERIFY(!page.is_busy());
    }

    void what_if_is_asked_without_an_edit() {
        auto w = window();
        const Experiment e = six_in_two_regions();
        w->document().start_new(e);
        QVERIFY(QTest::qWaitForWindowExposed(w.get()));
        auto& page = w->design_page().what_if();
        QVERIFY2(!page.is_busy(), "who looks elsewhere asks nothing");
        w->selection().select({.links = {{"region-1", "region-2"}}});
        w->design_page().bottom().setCurrentWidget(&page);
        QVERIFY2(page.questions().currentText().startsWith("Bandwidth of region-1"),
                 qPrintable(page.questions().currentText()));
        QTRY_VERIFY_WITH_TIMEOUT(!page.is_busy() && !page.seconds().empty(), design_patience_ms);
        QCOMPARE(page.seconds().size(), std::size_t{7});
        for (const double s : page.seconds()) QVERIFY(s > 0);
        QVERIFY2(page.seconds().front() > page.seconds().back(),
                 "an eighth of the bandwidth takes longer than eight times");
        QVERIFY2(w->document().experiment() == e, "nothing was edited");
        // Now is the plan that is shown; as the search starts from it, what is quicker never looks slower.
        const auto plan_s = [&] {
            const auto outcome = w->plans().outcome();
            return outcome && outcome->refined ? outcome->score.iteration_seconds : 0;
        };
        QTRY_VERIFY_WITH_TIMEOUT(plan_s() > 0 && !page.is_busy() && page.seconds()[3] == plan_s(), design_patience_ms);
        for (std::size_t i = 4; i < page.seconds().size(); ++i) QVERIFY(page.seconds()[i] <= plan_s());
        QVERIFY2(page.words().text().contains(" to "), qPrintable(page.words().text()));
        auto worse = std::make_shared<PlanOutcome>(*w->plans().outcome());
        Plan& plan = worse->plan;
        const NodeIndex one = plan.stages.front().front(), last = plan.stages.back().front();
        for (auto* nodes : {&plan.stages.front(), &plan.stages.back()})
            for (auto& node : *nodes) node = node == one ? last : node == last ? one : node;
        for (auto& path : plan.paths)
            for (auto& node : path.nodes) node = node == one ? last : node == last ? one : node;
        const auto slow = carry_over(e, *worse);
        QVERIFY2(slow && slow->score.iteration_seconds > plan_s(),
                 qPrintable(QString::number(slow ? slow->score.iteration_seconds : 0)));
        page.show_plan(slow, {});
        QTRY_VERIFY_WITH_TIMEOUT(!page.is_busy() && page.seconds()[3] == slow->score.iteration_seconds,
                                 design_patience_ms);
        page.show_plan(w->plans().outcome(), {});
        QTRY_VERIFY_WITH_TIMEOUT(!page.is_busy() && page.seconds()[3] == plan_s(), design_patience_ms);
        QVERIFY(!page.use_button().isEnabled());
        page.curve().choose(6);
        QVERIFY2(page.words().text().contains("against now"), qPrintable(page.words().text()));
        QTest::mouseClick(&page.use_button(), Qt::LeftButton);
        QCOMPARE(w->document().experiment().topology.links[0].bandwidth_bytes_per_s, 8 * 1.25e8);
        QCOMPARE(w->document().undo_stack().count(), 1);
        // What a node sends through.
        Experiment homes = make_shape(Shape::star, 4, 1);
        const auto asked = what_if_questions(homes, {.nodes = {homes.topology.nodes[0].id}});
        const auto up = std::find_if(asked.begin(), asked.end(),
                                     [](const WhatIfQuestion& q) { return q.words.startsWith("Uplink of "); });
        QVERIFY(up != asked.end());
        QCOMPARE(up->now, *homes.topology.nodes[0].up_bytes_per_s);
        up->set(homes, 5e6);
        QCOMPARE(homes.topology.nodes[0].up_bytes_per_s, std::optional<double>(5e6));
        QVERIFY(homes.topology.nodes[1].up_bytes_per_s != std::optional<double>(5e6));
        // Each skip ratio is a number of stages.
        Experiment skips;
        skips.pipeline.stages = 6;
        const auto questions = what_if_questions(skips, {});
        QCOMPARE(questions.size(), std::size_t{1});
        QCOMPARE(questions[0].values.size(), std::size_t{5});
    }

    /// A row a quantity: asked at values around the present one, which is put in and takes effect.
    void what_can_be_asked_data() {
        QTest::addColumn<QString>("words");
        QTest::addColumn<int>("selected");
        QTest::addColumn<double>("now");
        QTest::newRow("skip ratio") << "Skip ratio" << 0 << 0.0;
        QTest::newRow("speed") << "Seconds a sample and block of node-1" << 1 << Node{}.seconds_per_sample_per_block;
        QTest::newRow("memory") << "Microbatches in memory of node-1" << 1 << 3.0;
        QTest::newRow("uplink") << "Uplink of node-1" << 1 << 5e6;
        QTest::newRow("downlink without a limit") << "Downlink of node-1" << 1 << 0.0;
        QTest::newRow("bandwidth") << "Bandwidth of region-1 ↔ region-2" << 2 << 1.25e8;
        QTest::newRow("latency") << "Latency of region-1 ↔ region-2" << 2 << 0.05;
        QTest::newRow("bandwidth inside") << "Bandwidth inside region-1" << 3 << WithinRegion{}.bandwidth_bytes_per_s;
        QTest::newRow("latency inside") << "Latency inside region-1" << 3 << 0.002;
    }
    void what_can_be_asked() {
        QFETCH(QString, words);
        QFETCH(int, selected);
        QFETCH(double, now);
        Experiment e = six_in_two_regions();
        e.topology.nodes[0].up_bytes_per_s = 5e6;
        e.topology.within_region.latency_s = 0.002;
        const Selection selections[] = {
            {}, {.nodes = {"node-1"}}, {.links = {{"region-1", "region-2"}}}, {.regions = {"region-1"}}};
        const auto all = what_if_questions(e, selections[selected]);
        const auto question =
            std::find_if(all.begin(), all.end(), [&](const WhatIfQuestion& q) { return q.words == words; });
        QVERIFY(question != all.end());
        QCOMPARE(question->now, now);
        QVERIFY(std::is_sorted(question->values.begin(), question->values.end()) && question->values.size() >= 2);
        const bool has_now = std::count(question->values.begin(), question->values.end(), now) == 1;
        QCOMPARE(has_now, now > 0 || words == "Skip ratio");
        for (const double value : question->values) {
            Experiment other = e;
            question->set(other, value);
            QVERIFY2(first_error(validate(other)) == nullptr, qPrintable(QString::number(value)));
            if (value == question->values.back()) QVERIFY(experiment_hash(other) != experiment_hash(e));
        }
    }

    /// Of many microbatches not each number is asked; what the plan's blocks let a node hold is now.
    void much_memory_is_asked_about_too() {
        Experiment e = six_in_two_regions();
        e.pipeline.microbatches = 100;
        e.topology.nodes[0].memory_microbatches = 40;
        const auto memory = [&](const HeldMicrobatches& held) {
            for (const auto& question : what_if_questions(e, {.nodes = {"node-1"}}, held))
                if (question.words.startsWith("Microbatches in memory")) return question;
            return WhatIfQuestion{};
        };
        const auto far = memory({});
        QCOMPARE(far.now, 40.0);
        QVERIFY(far.values.size() < 20 && far.values.front() == 1 && far.values.back() == 80 &&
                std::count(far.values.begin(), far.values.end(), 40.0) == 1);
        QCOMPARE(memory({{"node-1", 7}}).now, 7.0);
        QCOMPARE(memory({{"node-1", 7}}).values.size(), std::size_t{11});
        e.topology.nodes[0].memory_microbatches = 500;
        QCOMPARE(memory({}).now, 100.0);  // no more than there are
    }

    void time_stands_against_price() {
        auto w = window();
        Experiment e = six_in_two_regions();
        e.prices.node_hour = 2;
        e.prices.gigabyte = 1;
        w->document().start_new(e);
        auto& page = w->design_page().planners();
        w->design_page().bottom().setCurrentWidget(&page);
        QVERIFY2(!page.plot().isVisible(), "nothing was planned");
        QTest::mouseClick(&page.button(), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(!page.is_busy(), design_patience_ms);
        QVERIFY(page.plot().isVisible());
        const auto& plans = page.plot().plans();
        QVERIFY(plans.size() >= 3 && plans.front().is_front);
        for (const auto& a : plans) {
            const bool is_beaten = std::any_of(plans.begin(), plans.end(), [&](const PricedPlan& b) {
                return b.iteration_s <= a.iteration_s && b.price <= a.price &&
                       (b.iteration_s < a.iteration_s || b.price < a.price);
            });
            QVERIFY2(a.is_front != is_beaten, qPrintable(a.name));
            QVERIFY(page.plot().rect().contains(page.plot().place(a).toPoint()));
        }
        const PricedPlan last = plans.back();
        QTest::mouseClick(&page.plot(), Qt::LeftButton, {}, page.plot().place(last).toPoint());
        QVERIFY(page.table().item(last.row, 0)->text().startsWith(QChar(0x2713)) ||
                page.plot().place(plans[plans.size() - 2]).toPoint() == page.plot().place(last).toPoint());
        QVERIFY(page.plot().grab().toImage().pixelColor(page.plot().place(plans.front()).toPoint()) == theme().accent);
    }

    /// The plan before is gone on from where the nodes that it uses are still there, by their names.
    void a_plan_is_carried_over_to_other_nodes() {
        Experiment e = six_in_two_regions();
        const auto before = make_plan(e, *planners_.find("skippipe"), request_for(e));
        QVERIFY(before->has_plan);
        e.pipeline.planner = "skippipe";
        Experiment more = e;
        add_node(more, {900, 0}, "region-2");
        std::rotate(more.topology.nodes.begin(), more.topology.nodes.end() - 1, more.topology.nodes.end());
        const auto carried = carry_over(more, *before);
        QVERIFY2(carried != nullptr, "one node more, and all others stand elsewhere in the list");
        QCOMPARE(carried->problem.node_ids[carried->plan.stages[0][0]],
                 before->problem.node_ids[before->plan.stages[0][0]]);
        Experiment renamed = e;
        rename(renamed, "node-2", "berlin");
        const auto same = carry_over(renamed, *before);
        QVERIFY(same != nullptr && same->score.iteration_seconds == before->score.iteration_seconds);
        Experiment fewer = e;
        remove_selected(fewer, {.nodes = {before->problem.node_ids[before->plan.stages[1][0]]}});
        QVERIFY2(carry_over(fewer, *before) == nullptr, "it used that one");

        auto w = window();
        w->document().start_new(e);
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, design_patience_ms);
        w->document().edit("more", [](Experiment& x) { add_node(x, {900, 0}, "region-2"); });
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, design_patience_ms);
        QVERIFY(w->plans().previous_iteration_s() > 0);
        const auto& plan = w->plans().ready()->plan;
        const auto used = w->plans().ready()->problem.node_ids[plan.stages[1][0]];
        w->document().edit("fewer", [&](Experiment& x) { remove_selected(x, {.nodes = {used}}); });
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, design_patience_ms);
        QVERIFY2(w->plans().previous_iteration_s() == 0, "nothing that the new plan could be held against");
    }

    /// What the plan would take by the other rules for gradients, and if these travelled as something else.
    void why_says_what_other_reductions_would_take() {
        auto w = window();
        w->open_template("quick-start");
        w->document().edit("Fast", [](Experiment& e) { e.pipeline.plan_steps = 300; });
        QTRY_VERIFY_WITH_TIMEOUT(!w->plans().is_busy() && w->plans().explanation() != nullptr, design_patience_ms);
        auto* table = w->findChild<QTableWidget*>("what_ifs");
        QVERIFY(table != nullptr);
        QMap<QString, QString> rows;
        for (int row = 0; row < table->rowCount(); ++row)
            rows[table->item(row, 0)->text()] = table->item(row, 1)->text();
        for (const char* words : {"Gradients charged as a ring", "Gradients summed for free",
                                  "Gradients as transfers, all parts to all in one round",
                                  "Gradients as transfers, exchanged directly in two rounds",
                                  "Gradients travel as bf16", "Gradients travel as int8"})
            QVERIFY2(rows.contains(words), qPrintable(rows.keys().join("; ")));
        QVERIFY2(rows["Gradients charged as a ring"].startsWith('+'), qPrintable(rows["Gradients charged as a ring"]));
        QVERIFY(!rows["Gradients summed for free"].startsWith('+') &&
                !rows["Gradients travel as int8"].startsWith('+'));
        QVERIFY(!rows.contains("Gradients travel as fp32"));
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
        const auto remedies = remedies_for(*unlinked, w->document().experiment());
        QVERIFY(!remedies.empty());
        for (const auto& remedy : remedies) {
            Experiment mended = w->document().experiment();
            remedy.mend(mended);
            QVERIFY2(first_error(validate(mended)) == nullptr, qPrintable(remedy.words));
        }
        // What no edit of the window mends has no button.
        QVERIFY(remedies_for(Fault{.pointer = "/nowhere", .what = "?"}, six_in_two_regions()).empty() ||
                first_error(validate(six_in_two_regions())) == nullptr);
    }

    void the_last_plan_stays_in_sight() {
        auto w = window();
        w->document().start_new(six_in_two_regions());
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, design_patience_ms);
        auto& timeline = w->design_page().plan_timeline();
        QVERIFY(timeline.data() != nullptr && timeline.isEnabled());
        w->document().edit("Add", [](Experiment& x) { add_node(x, {900, 0}); });
        QTRY_VERIFY_WITH_TIMEOUT(!w->plans().is_busy(), design_patience_ms);
        QVERIFY(!w->plans().outcome()->has_plan);
        QVERIFY2(timeline.data() != nullptr && !timeline.isEnabled(), "pale");
        auto& canvas = w->design_page().canvas();
        auto& lanes = w->design_page().stages().view();
        const auto* node = canvas.scene_model().node("node-1");
        QVERIFY2(node->pale && node->stage >= 0, "so are the stages on the canvas");
        QVERIFY(canvas.scene_model().tip_for(canvas.scene_model().node("node-1")).contains("in the plan before"));
        QVERIFY(lanes.lanes().size() == 3 && !lanes.isEnabled());
        const auto colour = [&] {
            const QImage seen = canvas.viewport()->grab().toImage();
            return seen.pixelColor(canvas.mapFromScene(node->pos() + QPointF(-12, 8)));
        };
        QTRY_VERIFY(contrast(colour(), theme().stage(node->stage)) > 1.2);
        QVERIFY(w->design_page().figures().toolTip().contains("the plan before"));
        w->document().undo_stack().undo();
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr && timeline.isEnabled(), design_patience_ms);
        QVERIFY(!canvas.scene_model().node("node-1")->pale && lanes.isEnabled());
        w->document().start_new({});
        QTRY_VERIFY_WITH_TIMEOUT(!w->plans().is_busy(), design_patience_ms);
        QVERIFY2(timeline.data() == nullptr, "another document's plan is none of this one's");
    }
};

QTEST_MAIN(TestDesignWays)
#include "test_design_ways.moc"
