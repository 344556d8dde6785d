// SPDX-License-Identifier: GPL-3.0-or-later
// What the Design workspace says of the plan: its lanes and figures, Why, Planners and What if.
#include <sys/resource.h>

#include <QDir>
#include <QHeaderView>
#include <QMenu>
#include <QRegularExpression>
#include <QScrollBar>
#include <QTableWidget>
#include <QTemporaryDir>
#include <QtTest>

#include "core/experiment/io.h"
#include "core/experiment/validate.h"
#include "plugins/planners/all.h"
#include "tests/views/shown_window.h"
#include "tests/views/window_experiments.h"
#include "core/experiment/regions.h"
#include "views/plan/price_plot.h"
#include "views/theme/theme.h"
#include "views/theme/ticks.h"
#include "views/timeline/lane_key.h"
#include "views/topology/edits.h"
#include "views/topology/shapes.h"

using namespace skippipe;

class TestPlanPanels : public QObject {
    Q_OBJECT
    PlannerRegistry planners_;
    QTemporaryDir folder_;

    std::unique_ptr<MainWindow> window() { return shown_window(planners_, folder_); }

private Q_SLOTS:
    void initTestCase() { register_planners(planners_); }

    void planners_stand_side_by_side() {
        auto w = window();
        Experiment e = six_in_two_regions();
        e.pipeline.planner = "gpipe";
        w->document().start_new(e);
        auto& page = w->design_page().planners();
        const QString not_yet, none("\u2013");
        QVERIFY2(page.table().item(1, 1)->text() == not_yet, "nothing stands for a figure that is not there yet");
        QCOMPARE(page.table().item(0, 0)->text(), QString(QChar(0x2713)) + " gpipe");
        QTRY_VERIFY_WITH_TIMEOUT(page.table().item(0, 1)->text() != not_yet,
                                 patient_ms);  // it is planned anyway
        QCOMPARE(page.table().item(1, 1)->text(), not_yet);
        QTest::mouseClick(&page.button(), Qt::LeftButton);
        QVERIFY(page.is_busy());
        const auto state = [&](int row) { return page.table().item(row, page.table().columnCount() - 1)->text(); };
        QCOMPARE(state(0), QString("planned"));
        QVERIFY2(state(1).startsWith("plans"), qPrintable(state(1)));
        QCOMPARE(state(2), QString("waits"));
        QTRY_VERIFY_WITH_TIMEOUT(!page.is_busy(), patient_ms);
        for (int row = 0; row < page.table().rowCount(); ++row)
            QVERIFY2(state(row) != "waits" && !state(row).startsWith("plans") && !state(row).isEmpty(),
                     qPrintable(state(row)));
        QCOMPARE(page.table().rowCount(), static_cast<int>(planners_.all().size()));
        int planned = 0, joint = -1, shortest = 0;
        for (int row = 0; row < page.table().rowCount(); ++row) {
            planned += page.table().item(row, 1)->text() != none;
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

    /// What was planned for another document is nobody's figure.
    void figures_of_another_document_go() {
        auto w = window();
        Experiment e = six_in_two_regions();
        e.pipeline.planner = "gpipe";
        w->document().start_new(e);
        const auto& table = w->design_page().planners().table();
        const auto figure = [&] { return table.item(0, 1)->text(); };
        QTRY_VERIFY_WITH_TIMEOUT(!figure().isEmpty(), patient_ms);
        e.pipeline.microbatches = 12;
        w->document().start_new(e);
        QVERIFY(w->plans().is_busy() && figure().isEmpty());
        QVERIFY(table.item(0, table.columnCount() - 1)->text().isEmpty());
        QTRY_VERIFY_WITH_TIMEOUT(!figure().isEmpty(), patient_ms);
    }

    /// Where table and plot have no room beside each other, a button shows one in the place of the other.
    void prices_have_room_in_a_narrow_panel() {
        auto w = window();
        w->resize(1024, 700);
        Experiment e = six_in_two_regions();
        e.prices.node_hour = 1;
        e.pipeline.plan_steps = 1'000;
        w->document().start_new(e);
        auto& page = w->design_page().planners();
        w->design_page().bottom().setCurrentWidget(&page);
        QTRY_VERIFY_WITH_TIMEOUT(page.plot().plans().size() > 1 && !page.is_busy(), patient_ms);
        QVERIFY(page.plot_button().isVisible() && page.table().isVisible() && !page.plot().isVisible());
        QTRY_VERIFY(!page.table().horizontalScrollBar()->isVisible());
        QTest::mouseClick(&page.plot_button(), Qt::LeftButton);
        QVERIFY(!page.table().isVisible() && page.plot().isVisible());
        w->resize(1920, 1080);
        QTRY_VERIFY(page.table().isVisible() && page.plot().isVisible() && !page.plot_button().isVisible());
    }

    /// How far the planner is that is at it.
    void a_planner_says_how_far_it_is() {
        auto w = window();
        Experiment e = six_in_two_regions();
        e.pipeline.planner = "gpipe";
        e.pipeline.plan_steps = 2'000'000;
        w->document().start_new(e);
        auto& page = w->design_page().planners();
        page.start();
        const int joint = page.table().rowCount() - 1;
        const auto* state = page.table().item(joint, page.table().columnCount() - 1);
        QTRY_VERIFY_WITH_TIMEOUT(state->text().startsWith("plans, ") && state->text().endsWith('%'), patient_ms);
        page.stop();
        QCOMPARE(state->text(), QString("stopped"));
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
        QTRY_VERIFY_WITH_TIMEOUT(!page.is_busy() && !page.answers().empty(), patient_ms);
        QCOMPARE(page.answers().size(), std::size_t{7});
        for (const auto& answer : page.answers()) QVERIFY(answer.has_plan());
        QVERIFY2(page.answers().front().seconds > page.answers().back().seconds,
                 "an eighth of the bandwidth takes longer than eight times");
        QVERIFY2(w->document().experiment() == e, "nothing was edited");
        // Now is the plan that is shown; as the search starts from it, what is quicker never looks slower.
        const auto plan_s = [&] {
            const auto outcome = w->plans().outcome();
            return outcome && outcome->refined ? outcome->score.iteration_seconds : 0;
        };
        QTRY_VERIFY_WITH_TIMEOUT(plan_s() > 0 && !page.is_busy() && page.answers()[3].seconds == plan_s(), patient_ms);
        for (std::size_t i = 4; i < page.answers().size(); ++i) QVERIFY(page.answers()[i].seconds <= plan_s());
        QVERIFY2(page.words().text().contains(" to "), qPrintable(page.words().text()));
        auto worse = std::make_shared<PlanOutcome>(*w->plans().outcome());
        Plan& plan = worse->plan;
        const NodeIndex one = plan.stages.front().front(), last = plan.stages.back().front();
        for (auto* nodes : {&plan.stages.front(), &plan.stages.back()})
            for (auto& node : *nodes) node = node == one ? last : node == last ? one : node;
        for (auto& path : plan.paths)
            for (auto& node : path.nodes) node = node == one ? last : node == last ? one : node;
        const auto slow = carry_over(e, *worse, *planners_.find(e.pipeline.planner));
        QVERIFY2(slow && slow->score.iteration_seconds > plan_s(),
                 qPrintable(QString::number(slow ? slow->score.iteration_seconds : 0)));
        page.show_plan(slow, {});
        QTRY_VERIFY_WITH_TIMEOUT(!page.is_busy() && page.answers()[3].seconds == slow->score.iteration_seconds,
                                 patient_ms);
        page.show_plan(w->plans().outcome(), {});
        QTRY_VERIFY_WITH_TIMEOUT(!page.is_busy() && page.answers()[3].seconds == plan_s(), patient_ms);
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
        QTest::newRow("speed") << "Time per sample per block of node-1" << 1 << Node{}.seconds_per_sample_per_block;
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
        QTRY_VERIFY_WITH_TIMEOUT(!page.is_busy(), patient_ms);
        QTest::mouseClick(&page.plot_button(), Qt::LeftButton);
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
        QCOMPARE(page.plot().named().size(), plans.size());
        QVERIFY2(page.findChild<QLabel*>()->text().contains("A click on a point"), "the table is away");
        const PricedPlan last = plans.back();
        QTest::mouseClick(&page.plot(), Qt::LeftButton, {}, page.plot().place(last).toPoint());
        QVERIFY(page.table().item(last.row, 0)->text().startsWith(QChar(0x2713)) ||
                page.plot().place(plans[plans.size() - 2]).toPoint() == page.plot().place(last).toPoint());
        QVERIFY(page.plot().grab().toImage().pixelColor(page.plot().place(plans.front()).toPoint()) == theme().accent);
    }

    /// Sums in another order are rounded apart: the axes come to an end all the same.
    void plans_that_are_rounded_apart_are_drawn() {
        PricePlot plot;
        plot.resize(700, 400);
        const double s = 1.2345, price = 0.6;
        plot.show_plans({{0, "gpipe", s, price, true}, {1, "1f1b", std::nextafter(s, 2), std::nextafter(price, 1)}});
        QVERIFY(!plot.grab().isNull());
        QVERIFY(ticks_between(0, 10, 2) == (std::vector<double>{0, 2, 4, 6, 8, 10}));
        QVERIFY(ticks_between(1, std::nextafter(1, 2), 1e-20).empty());
        QVERIFY(ticks_between(0, std::numeric_limits<double>::infinity(), 1).empty());
        QVERIFY(ticks_between(0, 1, 0).empty());
    }

    /// Regions are spoken of where these two are apart, not where another pair is that no region of its own helps.
    void only_a_fault_of_two_regions_speaks_of_regions() {
        Experiment e = six_in_two_regions();
        e.topology.links.clear();
        e.topology.regions.push_back({"region-3", 900, 0});
        for (int i = 0; i < 2; ++i) add_node(e, {900 + 80.0 * i, 0}, "region-3");
        e.pipeline.stages = 2;
        e.pipeline.stage_sizes.clear();
        const auto what_of = [&](const std::vector<std::vector<std::string>>& placement) {
            e.pipeline.placement = placement;
            const auto outcome = make_plan(e, *planners_.find("skippipe"), request_for(e));
            return outcome->faults.empty() ? std::string{} : outcome->faults.front().what;
        };
        const std::string apart =
            what_of({{"node-4", "node-5", "node-6"}, {"node-7", "node-8", "node-1", "node-2", "node-3"}});
        QVERIFY2(apart.starts_with("region-") && apart.ends_with(" are not linked"), apart.c_str());
        // Two regions that two of their nodes join: that other nodes of theirs are not linked is the nearer trouble.
        e.topology.links = {{"node-3", "node-4", 0.01, 1e8, true}};
        const std::string near =
            what_of({{"node-1", "node-7"}, {"node-6", "node-8", "node-2", "node-3", "node-4", "node-5"}});
        QVERIFY2(!near.empty(), "there is no plan");
        const auto of = [&](const char* a, const char* b) { return unlinked_regions_of(e.topology, a, b); };
        QVERIFY2(!of("node-1", "node-4"), "their regions are linked");
        QCOMPARE(of("node-4", "node-7"), std::optional(std::pair(std::string("region-2"), std::string("region-3"))));
        QVERIFY2(unlinked_regions(e.topology)->second == "region-3", "two regions are apart all the while");
        const std::string within = what_of({{"node-1", "node-2"}, {"node-5", "node-6"}});
        QVERIFY2(within.starts_with("node-"), within.c_str());
        for (auto& node : e.topology.nodes)
            if (node.id == "node-7") node.region.clear();
        QVERIFY2(!of("node-4", "node-7"), "a node without a region is of none");
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
        const auto carried = carry_over(more, *before, *planners_.find(more.pipeline.planner));
        QVERIFY2(carried != nullptr, "one node more, and all others stand elsewhere in the list");
        QCOMPARE(carried->problem.node_ids[carried->plan.stages[0][0]],
                 before->problem.node_ids[before->plan.stages[0][0]]);
        Experiment renamed = e;
        rename(renamed, "node-2", "berlin");
        const auto same = carry_over(renamed, *before, *planners_.find(renamed.pipeline.planner));
        QVERIFY(same != nullptr && same->score.iteration_seconds == before->score.iteration_seconds);
        Experiment fewer = e;
        remove_selected(fewer, {.nodes = {before->problem.node_ids[before->plan.stages[1][0]]}});
        QVERIFY2(carry_over(fewer, *before, *planners_.find(fewer.pipeline.planner)) == nullptr, "it used that one");

        auto w = window();
        w->document().start_new(e);
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        w->document().edit("more", [](Experiment& x) { add_node(x, {900, 0}, "region-2"); });
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        QVERIFY(w->plans().previous_iteration_s() > 0);
        const auto& plan = w->plans().ready()->plan;
        const auto used = w->plans().ready()->problem.node_ids[plan.stages[1][0]];
        w->document().edit("fewer", [&](Experiment& x) { remove_selected(x, {.nodes = {used}}); });
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        QVERIFY2(w->plans().previous_iteration_s() == 0, "nothing that the new plan could be held against");
    }

    /// What the plan would take by the other rules for gradients, and if these travelled as something else.
    void why_says_what_other_reductions_would_take() {
        auto w = window();
        w->open_template("quick-start");
        w->document().edit("Fast", [](Experiment& e) { e.pipeline.plan_steps = 300; });
        QTRY_VERIFY_WITH_TIMEOUT(!w->plans().is_busy() && w->plans().explanation() != nullptr, patient_ms);
        auto* table = w->findChild<QTableWidget*>("what_ifs");
        QVERIFY(table != nullptr);
        QMap<QString, QString> rows;
        for (int row = 0; row < table->rowCount(); ++row)
            if (const auto* change = table->item(row, 1); change != nullptr && table->columnSpan(row, 0) == 1)
                rows[table->item(row, 0)->text()] = change->text();
        for (const auto& line : table->item(table->rowCount() - 1, 0)->toolTip().split('\n'))  // less than 1 %
            rows[line.section(": ", 0, 0)] = line.section(": ", 1);
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

    /// Gains that are worth saying, the rest in one row; of the node that is selected whatever it would give.
    void why_says_what_the_selected_node_would_give() {
        auto w = window();
        w->open_template("quick-start");
        w->document().edit("Fast", [](Experiment& e) { e.pipeline.plan_steps = 300; });
        QTRY_VERIFY_WITH_TIMEOUT(!w->plans().is_busy() && w->plans().explanation() != nullptr, patient_ms);
        auto& panel = w->design_page().why();
        auto& table = panel.what_ifs();
        const auto why = w->plans().explanation();
        const auto& sums = w->plans().outcome()->other_reductions;
        const auto row_of = [&](const QString& words) {
            for (int row = 0; row < table.rowCount(); ++row)
                if (table.item(row, 0)->text() == words) return row;
            return -1;
        };
        // Two groups, each with its title and, last, what is not worth a row.
        const int second = row_of("Gradients are summed another way"), rows = table.rowCount();
        QCOMPARE(row_of("One thing is faster"), 0);
        QVERIFY2(second > 0 && table.item(0, 0)->font().bold() && table.item(second, 0)->font().bold(),
                 qPrintable(QString::number(second)));
        QCOMPARE(table.columnSpan(second, 0), 2);
        static const QRegularExpression rest(
            "^(?:All )?(\\d+)(?: others)?: less than 1 % each$|^1 other: less than 1 %$");
        const auto said_in = [&](int from, int to) {
            int said = 0;
            for (int row = from; row < to; ++row) {
                const auto match = rest.match(plain(table.item(row, 0)->text()));
                if (!match.hasMatch()) {
                    ++said;
                    continue;
                }
                const int left = match.captured(1).isEmpty() ? 1 : match.captured(1).toInt();
                if (row != to - 1 || table.item(row, 0)->toolTip().split('\n').size() != left ||
                    table.item(row, 0)->foreground().color() != theme().text_2)
                    return -1;
                said += left;
            }
            return said;
        };
        QCOMPARE(said_in(1, second), static_cast<int>(why->what_ifs.size()));
        QCOMPARE(said_in(second + 1, rows), static_cast<int>(sums.size()));
        for (int row = second + 1; row < rows; ++row)
            QVERIFY2(table.item(row, 0)->text().startsWith("Gradients") || row == rows - 1,
                     qPrintable(table.item(row, 0)->text()));
        const auto& ids = w->plans().outcome()->problem.node_ids;
        const auto unasked = std::find_if(ids.begin(), ids.end(), [&](const std::string& id) {
            return std::none_of(why->what_ifs.begin(), why->what_ifs.end(),
                                [&](const WhatIf& what) { return what.name == id; });
        });
        QVERIFY(unasked != ids.end());
        w->selection().select({.nodes = {*unasked}});
        QVERIFY2(table.rowCount() == rows, "who looks elsewhere asks nothing");
        w->design_page().bottom().setCurrentWidget(&panel);
        QTRY_COMPARE_WITH_TIMEOUT(table.item(1, 0)->text(), QString::fromStdString(*unasked + " twice as fast"),
                                  patient_ms);
        QCOMPARE(table.item(2, 0)->text(), QString::fromStdString(*unasked + " with room for one microbatch more"));
        QCOMPARE(table.rowCount(), rows + 2);
        w->selection().select({});
        QTRY_COMPARE(table.rowCount(), rows);
    }

    /// One beside the plan, the other in its tip, and in Why that of the plan's own stages.
    void two_bounds_are_told_apart() {
        auto w = window();
        w->document().start_new(six_in_two_regions());
        QTRY_VERIFY_WITH_TIMEOUT(!w->plans().is_busy() && w->plans().explanation() != nullptr, patient_ms);
        const QString plan = w->design_page().figures().text(),
                      why = w->design_page().why().summary().text().replace("&nbsp;", " ");
        QVERIFY2(plan.count("any placement") + plan.count("these stages") + plan.count("is shorter") == 1,
                 qPrintable(plan));
        QVERIFY2(!plan.contains("bound", Qt::CaseInsensitive), qPrintable(plan));
        QVERIFY2(why.contains("Bound, these stages") && !why.contains("any placement"), qPrintable(why));
        const QString tip = w->design_page().figures().toolTip();
        QVERIFY2(tip.contains("Why says") && tip.contains("ith any placement"), qPrintable(tip));
        QVERIFY(w->design_page().why().summary().toolTip().contains("plan's figures"));
    }

    /// Planned in the background while it is seen; an edit ends that, and it begins anew with the new plan.
    void planners_are_filled_while_they_are_seen() {
        auto w = window();
        w->document().start_new(six_in_two_regions());
        QVERIFY(QTest::qWaitForWindowExposed(w.get()));
        auto& page = w->design_page().planners();
        const auto planned = [&] {
            int count = 0;
            for (int row = 0; row < page.table().rowCount(); ++row)
                count += !page.table().item(row, 1)->text().isEmpty() &&
                         page.table().item(row, 1)->text() != QString(QChar(0x2013));
            return count;
        };
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        QVERIFY2(!page.is_busy() && planned() <= 1, "who looks elsewhere asks nothing");
        const int joint = static_cast<int>(planners_.all().size()) - 1;
        QCOMPARE(planners_.all().back()->name(), w->plans().ready()->plan.planner);
        const auto plan_s = [&] { return w->plans().ready()->score.iteration_seconds; };
        w->design_page().bottom().setCurrentWidget(&page);
        QVERIFY(page.is_busy());
        QTest::mouseClick(&page.button(), Qt::LeftButton);
        QVERIFY2(page.is_busy(), "whoever presses that soon has read \"Plan with all\"");
        QVERIFY2(planned() == 1 && page.table().item(joint, 1)->text() == duration(plan_s()),
                 "the plan that is there already is not waited for");
        w->document().edit("More", [](Experiment& e) { e.pipeline.microbatches = 8; });
        QVERIFY2(!page.is_busy(), "an edit ends it");
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr && !page.is_busy() && planned() >= 3, patient_ms);
        // Why there is no plan is read whole.
        for (int row = 0; row < page.table().rowCount(); ++row) {
            const auto* note = page.table().item(row, page.table().columnCount() - 1);
            const int wide = page.table().columnWidth(page.table().columnCount() - 1);
            const int lines = 1 + QFontMetrics(page.table().font()).horizontalAdvance(note->text()) / wide;
            QVERIFY2(page.table().rowHeight(row) >= lines * QFontMetrics(page.table().font()).height() - 1,
                     qPrintable(note->text()));
        }
        w->resize(1024, 700);
        QTRY_COMPARE(page.table().horizontalHeaderItem(2)->text(), QString("Gap"));
        QVERIFY(page.table().columnWidth(page.table().columnCount() - 1) >= 110);
        // What was stopped by hand stays stopped.
        w->document().edit("More", [](Experiment& e) {
            e.pipeline.planner = "gpipe";
            e.pipeline.plan_steps = 5'000'000;
        });
        QTRY_VERIFY_WITH_TIMEOUT(page.is_busy(), patient_ms);
        QTest::qWait(520);  // until the button has said "Stop" for long enough to be read
        QVERIFY(page.is_busy());
        QTest::mouseClick(&page.button(), Qt::LeftButton);
        QVERIFY(!page.is_busy());
        w->design_page().bottom().setCurrentIndex(0);
        w->design_page().bottom().setCurrentWidget(&page);
        QVERIFY(!page.is_busy());
    }

    /// Nothing is asked of the plan from before an edit while another one is searched for.
    void what_if_is_asked_once_after_an_edit() {
        auto w = window();
        w->document().start_new(six_in_two_regions());
        auto& page = w->design_page().what_if();
        w->design_page().bottom().setCurrentWidget(&page);
        QTRY_VERIFY_WITH_TIMEOUT(!w->plans().is_busy() && !page.is_busy() && !page.answers().empty(), patient_ms);
        w->document().edit("More", [](Experiment& e) { e.pipeline.microbatches = 8; });
        QVERIFY(w->plans().is_busy());
        QVERIFY2(!page.is_busy() && page.answers().empty(), qPrintable(page.words().text()));
        QVERIFY2(page.words().text().contains("new plan"), qPrintable(page.words().text()));
        QTRY_VERIFY_WITH_TIMEOUT(!w->plans().is_busy() && !page.is_busy() && !page.answers().empty(), patient_ms);
        w->document().edit("Nothing", [](Experiment& e) { e.topology.nodes.clear(); });
        QTRY_VERIFY_WITH_TIMEOUT(!w->plans().is_busy(), patient_ms);
        QVERIFY(!page.is_busy() && page.answers().empty());
    }

    /// A click and a nudge change nothing that the plan depends on, with a plan or before it.
    void what_if_survives_a_nudge() {
        auto w = window();
        w->document().start_new(six_in_two_regions());
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        auto& page = w->design_page().what_if();
        w->design_page().bottom().setCurrentWidget(&page);
        page.show_plan(nullptr, {});
        QTRY_VERIFY_WITH_TIMEOUT(!page.is_busy() && !page.answers().empty(), patient_ms);
        const auto are_planned = [&] {
            const auto& all = page.answers();
            return !all.empty() &&
                   std::all_of(all.begin(), all.end(), [](const auto& one) { return one.is_planned(); });
        };
        QVERIFY(are_planned());
        w->selection().select({.nodes = {"node-1"}});
        w->document().edit("Nudge", [](Experiment& e) { e.topology.nodes[0].x += 10; });
        QVERIFY(are_planned() && !page.curve().is_pale());
        w->document().edit("More", [](Experiment& e) { e.pipeline.microbatches = 8; });
        QVERIFY2(!are_planned() && page.curve().is_pale(), "what was found is seen until something else is");
        QTRY_VERIFY_WITH_TIMEOUT(are_planned() && !page.curve().is_pale(), patient_ms);
    }

    /// What a short search found is an upper end, hollow; then each value is searched as an edit would, the chosen one
    /// first, and that is what an edit shows.
    void what_if_is_searched_in_full() {
        auto w = window();
        Experiment e = six_in_two_regions();
        e.pipeline.plan_steps = 3'000;
        w->document().start_new(e);
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        auto& page = w->design_page().what_if();
        w->design_page().bottom().setCurrentWidget(&page);
        QCOMPARE(page.questions().currentText(), QString("Skip ratio"));
        QTRY_VERIFY_WITH_TIMEOUT(!page.is_busy() && page.answers().size() == 2, patient_ms);
        const auto in_short = page.answers();
        QVERIFY2(in_short[0].is_whole, "now it is the plan that is shown");
        const auto& said = page.words();
        w->resize(1024, 700);
        QTRY_VERIFY2(said.wordWrap() && said.height() >= said.heightForWidth(said.width()), "none of it is cut off");
        page.curve().choose(1);
        QTRY_VERIFY_WITH_TIMEOUT(!page.is_searching_on(), patient_ms);
        QVERIFY(page.answers()[1].is_whole && page.answers()[1].seconds <= in_short[1].seconds);
        QVERIFY2(!page.words().text().contains("at most"), qPrintable(page.words().text()));
        const double found_s = page.answers()[1].seconds;
        // Who looks elsewhere and comes back finds what was found.
        w->design_page().bottom().setCurrentIndex(0);
        w->selection().select({.nodes = {"node-1"}});
        w->design_page().bottom().setCurrentWidget(&page);
        QVERIFY(page.answers().size() == 2 && page.answers()[1].is_whole && !page.is_searching_on());
        QTest::mouseClick(&page.use_button(), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        QCOMPARE(w->plans().ready()->score.iteration_seconds, found_s);
    }

    /// Where an edit would find no plan no number stands: a full pipeline, which was the plan, would keep all rules.
    void what_if_has_no_plan_where_an_edit_has_none() {
        Experiment e = six_in_two_regions();
        e.pipeline.stages = 6;
        e.pipeline.microbatches = 30;
        const Planner& planner = *planners_.find("skippipe-joint");
        const std::shared_ptr<const PlanOutcome> plan = make_plan(e, planner, request_for(e));
        QVERIFY(plan->has_plan);
        const WhatIfQuestion question = what_if_questions(e, {}).front();
        const WhatIfSearch by{e, &planner, question, plan, {}};
        const double most = question.values.back(), half = question.values[question.values.size() - 2];
        QCOMPARE(value_text(question, most), QString("0.67"));
        Experiment edited = e;
        question.set(edited, most);
        QVERIFY(!make_plan(edited, planner, request_for(edited))->has_plan);
        QVERIFY2(carry_over(edited, *plan, planner) == nullptr, "it is none of what skips");
        const WhatIfAnswer in_short = by.in_short(most), in_full = by.in_full(most, {plan->score.iteration_seconds});
        QVERIFY(in_short.is_planned() && !in_short.has_plan() && !in_short.why.isEmpty());
        QVERIFY2(in_full.is_whole && in_full.is_planned() && !in_full.has_plan(), "whatever was thought of before");
        QVERIFY2(in_full.why.contains("no paths of 2 of 6 stages"), qPrintable(in_full.why));
        const WhatIfAnswer of_half = by.in_short(half);
        QVERIFY(of_half.has_plan() && by.in_full(half, of_half).has_plan());
        // Whoever skips nothing goes on from the same plan whatever the ratio.
        e.pipeline.planner = edited.pipeline.planner = "gpipe";
        const auto full = make_plan(e, *planners_.find("gpipe"), request_for(e));
        QVERIFY(carry_over(edited, *full, *planners_.find("gpipe")) != nullptr);
    }

    /// Whole searches take minutes: whoever works here goes first.
    void what_if_gives_way_while_it_searches_on() {
        const auto gives_way = [] {
            const QDir tasks("/proc/self/task");
            for (const auto& task : tasks.entryList(QDir::Dirs | QDir::NoDotAndDotDot))
                if (getpriority(PRIO_PROCESS, task.toUInt()) > 10) return true;
            return false;
        };
        auto w = window();
        Experiment e = six_in_two_regions();
        e.pipeline.plan_steps = 2'000'000;
        e.pipeline.planner = "gpipe";
        w->document().start_new(e);
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        QVERIFY(!gives_way());
        w->document().edit("Slow", [](Experiment& x) { x.pipeline.planner = "skippipe-joint"; });
        auto& page = w->design_page().what_if();
        w->design_page().bottom().setCurrentWidget(&page);
        QTRY_VERIFY_WITH_TIMEOUT(!page.is_busy() && page.is_searching_on() && gives_way(), patient_ms);
        w->design_page().bottom().setCurrentIndex(0);
        QVERIFY(!page.is_searching_on());
    }

    /// As the plan says it, where the axis is in minutes.
    void times_of_a_curve_are_told_as_elsewhere() {
        QCOMPARE(plain(iteration_words(48.8, 130)), QString("48.8 s"));
        QCOMPARE(plain(iteration_words(130, 130)), QString("2 min 10 s"));
        QCOMPARE(plain(iteration_words(0.5, 2)), QString("0.500 s"));
        QCOMPARE(plain(iteration_words(73.14, 74.3)), QString("1 min 13.1 s"));
        WhatIfQuestion question;
        question.unit = "B/s";
        question.values = {15.625e6, 528e6};
        QCOMPARE(plain(value_text(question, 15.625e6)), QString("125 Mbit/s"));
        QCOMPARE(plain(value_text(question, 528e6)), QString("4.22 Gbit/s"));
    }

    /// An effect of a hundredth is seen; the axis begins at 0 where that shows as much.
    void times_that_are_close_fill_the_curve() {
        WhatIfCurve curve;
        curve.resize(600, 260);
        WhatIfQuestion question;
        question.values = {0, 1, 2};
        curve.show_curve(question, {{74.3, true}, {73.5, true}, {73.0, true}});
        QVERIFY2(curve.bottom_s() > 60 && curve.bottom_s() < 73, qPrintable(QString::number(curve.bottom_s())));
        QVERIFY(curve.place(2).y() - curve.place(0).y() > 60);
        QVERIFY(curve.place(2).y() < curve.height() - 42 && curve.place(0).y() > 30);
        curve.show_curve(question, {{73, true}, {73, true}, {73, true}});
        QCOMPARE(curve.place(2).y(), curve.place(0).y());
        curve.show_curve(question, {{74.3, true}, {30, true}, {20, true}});
        QCOMPARE(curve.bottom_s(), 0.0);
    }

    /// A line that is level looks level, and says its time once.
    void no_difference_is_said_and_seen() {
        WhatIfCurve curve;
        curve.resize(600, 260);
        WhatIfQuestion question;
        question.values = {0, 1, 2};
        curve.show_curve(question, {{1.2, false}, {1.2005, false}, {1.2, false}});
        QVERIFY(curve.is_level());
        QCOMPARE(curve.bottom_s(), 0.0);
        curve.show_curve(question, {{1.2, true}, {1.22, true}, {1.2, true}});
        QVERIFY(!curve.is_level() && curve.bottom_s() > 1);
    }

    /// While the first plan is searched for, one that was found so far is not denied.
    void what_if_says_that_it_waits_for_the_search() {
        auto w = window();
        Experiment e = six_in_two_regions();
        e.pipeline.plan_steps = 2'000'000;
        w->document().start_new(e);
        auto& page = w->design_page().what_if();
        w->design_page().bottom().setCurrentWidget(&page);
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().outcome() && w->plans().outcome()->has_plan && w->plans().is_busy(),
                                 patient_ms);
        QVERIFY2(page.note().isVisible() && page.note().words().contains("search for the plan has ended"),
                 qPrintable(page.note().words()));
    }

    /// However long its times and values are said, they have room beside the axes.
    void words_beside_a_curve_are_whole() {
        WhatIfCurve curve;
        curve.resize(600, 260);
        WhatIfQuestion question;
        question.unit = "B/s";
        question.values = {15.625e6, 125e6, 1e9};
        question.now = 1e9;
        curve.show_curve(question, {{74.0, true}, {73.5, true}, {73.0, true}});
        const QFontMetrics measured(small_font());
        const QRectF in = curve.enclosed();
        QVERIFY(in.left() >= measured.horizontalAdvance(iteration_words(74.0, 74.0)) + size::gap);
        QVERIFY(curve.width() - in.right() >= measured.horizontalAdvance(value_text(question, 1e9) + ", now") / 2.0);
        curve.show_curve(question, {{2, true}, {1.5, true}, {1, true}});
        QVERIFY2(curve.enclosed().left() < in.left(), "short ones leave more of it");
    }

    /// What may be shorter still is on no line.
    void no_line_leads_to_a_bound() {
        WhatIfCurve curve;
        curve.resize(500, 220);
        WhatIfQuestion question;
        question.values = {0, 1, 2};
        curve.show_curve(question, {{1, true}, {1, true}, {1, false}});
        const QImage seen = curve.grab().toImage();
        QCOMPARE(curve.joined(), std::vector<std::size_t>{0});
        const auto paper_on = [&](std::size_t from) {
            const QPointF a = curve.place(from), b = curve.place(from + 1);
            int found = 0;
            for (double x = a.x() + 12; x < b.x() - 12; ++x)
                found += contrast(seen.pixelColor(QPointF(x, a.y()).toPoint()), theme().accent) > 2 ? 1 : 0;
            return found;
        };
        QCOMPARE(paper_on(0), 0);
        QVERIFY(paper_on(1) > 10);
    }

    /// The planner in use is brought into sight by whole rows.
    void rows_of_planners_are_not_cut() {
        auto w = window();
        w->document().start_new(six_in_two_regions());
        w->resize(1024, 700);
        auto& page = w->design_page().planners();
        w->design_page().bottom().setCurrentWidget(&page);
        w->document().edit("The last", [&](Experiment& e) { e.pipeline.planner = planners_.all().back()->name(); });
        auto& table = page.table();
        QTRY_VERIFY_WITH_TIMEOUT(table.verticalScrollBar()->maximum() > 0 && !page.is_busy(), patient_ms);
        page.start();  // which shows it
        QTRY_VERIFY_WITH_TIMEOUT(!page.is_busy(), patient_ms);
        QVERIFY(table.verticalScrollBar()->value() > 0);
        QCOMPARE(table.rowViewportPosition(table.rowAt(1)), 0);
    }

    /// The time is there or below: a bar, and an arrow down from it.
    void a_short_search_is_drawn_as_a_bound() {
        WhatIfCurve curve;
        curve.resize(400, 200);
        WhatIfQuestion question;
        question.values = {0, 1, 2};
        curve.show_curve(question, {{1, false}, {1, true}, {1e-9, true}});
        const double none = curve.place(2).y();
        curve.show_curve(question, {{1, false}, {1, true}, {0, false}});
        const double up = none - curve.place(2).y();
        QVERIFY2(up > 6 && up < 20, "the axis makes room for a row of values without a plan, below it");
        const QImage seen = curve.grab().toImage();
        const auto inked = [&](std::size_t value, int above) {
            return contrast(seen.pixelColor(curve.place(value).toPoint() - QPoint(0, above)), theme().surface) > 2;
        };
        QVERIFY(inked(0, 0) && inked(0, -8) && !inked(0, 3));
        QVERIFY(inked(1, 0) && !inked(1, -8) && inked(1, 3));
    }

    void every_lane_has_a_name_and_every_hatch_a_meaning() {
        auto w = window();
        w->open_template("quick-start");
        w->document().edit("Fast", [](Experiment& e) { e.pipeline.planner = "gpipe"; });
        w->resize(1024, 700);
        auto& lanes = w->design_page().plan_timeline();
        QTRY_VERIFY_WITH_TIMEOUT(!w->plans().is_busy() && lanes.data() != nullptr, patient_ms);
        QTRY_VERIFY(lanes.height() >= lanes.height_for_least_lanes());
        const auto unnamed = [&] {
            const QImage seen = lanes.grab().toImage();
            QStringList names;
            for (std::size_t lane = 0; lane < lanes.data()->lanes().size(); ++lane) {
                const QPoint middle = lanes.place_of(0, static_cast<int>(lane)).toPoint();
                bool has_ink = false;
                for (int x = 8; x < middle.x() - 6; ++x)
                    for (int y = middle.y() - 1; y <= middle.y(); ++y)
                        has_ink = has_ink || contrast(seen.pixelColor(x, y), theme().surface) > 2;
                if (!has_ink) names << QString::fromStdString(lanes.data()->lanes()[lane].name);
            }
            return names.join(", ");
        };
        QTRY_COMPARE(unnamed(), QString());
        auto* key = w->findChild<LaneKey*>("lane_key");
        QVERIFY(key != nullptr && key->isVisible() && key->menu() != nullptr);
        w->resize(2200, 800);
        const auto& shares = w->plans().outcome()->idle.share;
        const auto drawn = std::count_if(shares.begin(), shares.end(), [](double share) { return share >= 0.001; });
        QTRY_COMPARE(static_cast<long>(key->entries().size()), static_cast<long>(drawn));
        QVERIFY(std::is_sorted(key->entries().begin(), key->entries().end(), [&](IdleCause a, IdleCause b) {
            return shares[static_cast<std::size_t>(a)] > shares[static_cast<std::size_t>(b)];
        }));
        w->design_page().bottom().setCurrentWidget(&w->design_page().why());
        QVERIFY2(key->isHidden(), "there are no lanes");
    }

    void the_last_plan_stays_in_sight() {
        auto w = window();
        w->document().start_new(six_in_two_regions());
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        auto& timeline = w->design_page().plan_timeline();
        QVERIFY(timeline.data() != nullptr && timeline.isEnabled());
        w->document().edit("Add", [](Experiment& x) { add_node(x, {900, 0}); });
        QTRY_VERIFY_WITH_TIMEOUT(!w->plans().is_busy(), patient_ms);
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
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr && timeline.isEnabled(), patient_ms);
        QVERIFY(!canvas.scene_model().node("node-1")->pale && lanes.isEnabled());
        w->document().start_new({});
        QTRY_VERIFY_WITH_TIMEOUT(!w->plans().is_busy(), patient_ms);
        QVERIFY2(timeline.data() == nullptr, "another document's plan is none of this one's");
    }
};

QTEST_MAIN(TestPlanPanels)
#include "test_plan_panels.moc"
