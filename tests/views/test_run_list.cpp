// SPDX-License-Identifier: GPL-3.0-or-later
// The run list owns tags and notes: what is typed there is in the record.
#include <QClipboard>
#include <QHeaderView>
#include <QMenu>
#include <QTemporaryDir>
#include <QtTest>

#include <fstream>

#include "core/experiment/io.h"
#include "core/record/checkpoints.h"
#include "core/record/schema.h"
#include "views/runs/run_list.h"
#include "views/theme/below_delegate.h"

using namespace skippipe;

namespace {

constexpr int patient_ms = 60'000;

RunId record_run(Recorder& recorder, const std::string& name) {
    RunStart start;
    start.name = name;
    start.planner = "gpipe";
    start.experiment_json = start.plan_json = start.versions_json = start.machine_json = "{}";
    start.iterations = 1;
    const RunId id = recorder.begin(start);
    recorder.finish(id, RunState::finished, {}, "{}");
    return id;
}

}  // namespace

class TestRunList : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void init() {
        folder_ = std::make_unique<QTemporaryDir>();
        file_ = folder_->filePath("record.sqlite").toStdString();
        Recorder recorder(file_);
        first_ = record_run(recorder, "first");
        second_ = record_run(recorder, "second");
    }

    void tags_and_note_are_stored_and_told_again() {
        {
            RunFeed feed(file_);
            RunList list(feed);
            list.select({first_});
            QTRY_VERIFY_WITH_TIMEOUT(list.note().isEnabled() && list.tags().isEnabled(), patient_ms);
            QTest::keyClicks(&list.tags(), " slow , baseline,");
            QTest::keyClick(&list.tags(), Qt::Key_Return);
            QTest::keyClicks(&list.note(), "node 3 waits ");
            QTRY_COMPARE_WITH_TIMEOUT(Reader(file_).run(first_)->note, std::string("node 3 waits "), patient_ms);
            QTRY_COMPARE(list.tags().text(), QString("baseline, slow"));
            QCOMPARE(list.note().toPlainText(), QString("node 3 waits "));
            QTest::keyClicks(&list.note(), "for 7");  // the cursor stays where it was typed
            QTRY_COMPARE_WITH_TIMEOUT(Reader(file_).run(first_)->note, std::string("node 3 waits for 7"), patient_ms);
        }
        QCOMPARE(Reader(file_).run(first_)->tags, (std::vector<std::string>{"baseline", "slow"}));
        RunFeed feed(file_);
        RunList list(feed);
        list.select({first_});
        QTRY_COMPARE_WITH_TIMEOUT(list.tags().text(), QString("baseline, slow"), patient_ms);
        QCOMPARE(list.note().toPlainText(), QString("node 3 waits for 7"));
    }

    void what_is_typed_goes_to_the_run_it_was_typed_for() {
        RunFeed feed(file_);
        RunList list(feed);
        QTRY_VERIFY_WITH_TIMEOUT(feed.run(first_) != nullptr, patient_ms);
        list.select({first_});
        QTest::keyClicks(&list.note(), "of the first");
        QTest::keyClicks(&list.tags(), "one");
        list.select({second_});
        QCOMPARE(list.note().toPlainText(), QString());
        QCOMPARE(list.tags().text(), QString());
        QTest::keyClicks(&list.note(), "of the second");
        list.select({first_, second_});
        QVERIFY2(!list.note().isEnabled() && !list.tags().isEnabled(), "two runs have no one note");
        Reader reader(file_);
        QTRY_COMPARE_WITH_TIMEOUT(reader.run(second_)->note, std::string("of the second"), patient_ms);
        QCOMPARE(reader.run(first_)->note, std::string("of the first"));
        QCOMPARE(reader.run(first_)->tags, std::vector<std::string>{"one"});
        QCOMPARE(reader.run(second_)->note, std::string("of the second"));
        QVERIFY(reader.run(second_)->tags.empty());
    }

    void what_is_typed_last_is_stored_when_the_list_goes() {
        {
            RunFeed feed(file_);
            RunList list(feed);
            QTRY_VERIFY_WITH_TIMEOUT(feed.run(second_) != nullptr, patient_ms);
            list.select({second_});
            QTest::keyClicks(&list.note(), "at the end");
        }
        QCOMPARE(Reader(file_).run(second_)->note, std::string("at the end"));
    }

    /// Resume is there for whoever was interrupted and has a checkpoint; else it says why not.
    void an_interrupted_run_is_offered_to_go_on() {
        const RunId failed = [&] {
            Recorder recorder(file_);
            const RunId id = recorder.begin({.name = "third", .planner = "gpipe", .iterations = 60});
            recorder.iteration_done(id, 45, 1);
            recorder.finish(id, RunState::failed, {.iterations_done = 45}, "{}");
            return id;
        }();
        RunFeed feed(file_);
        RunList list(feed);
        QTRY_VERIFY_WITH_TIMEOUT(feed.run(failed) != nullptr, patient_ms);
        auto& resume = list.resume_button();
        QVERIFY(!resume.isEnabled() && resume.toolTip().contains("Select one run"));
        list.select({first_});
        QVERIFY(!resume.isEnabled() && resume.toolTip().contains("has finished"));
        list.select({failed});
        QVERIFY2(!resume.isEnabled() && resume.toolTip().contains("no checkpoint"), qPrintable(resume.toolTip()));

        const auto place = checkpoints_path(file_, failed) / checkpoint_name(40);
        std::filesystem::create_directories(place);
        std::ofstream{place / checkpoint_manifest} << "{}";
        Reader(file_).set_note(failed, "looked at again");  // what changes beside the record is seen with it
        QTRY_VERIFY_WITH_TIMEOUT(resume.isEnabled(), patient_ms);
        QVERIFY2(resume.toolTip().contains("iteration 40 of 60"), qPrintable(resume.toolTip()));
        QSignalSpy asked(&list, &RunList::resume_requested);
        resume.click();
        QCOMPARE(asked.size(), 1);
        QCOMPARE(asked[0][0].toLongLong(), failed);
        list.set_hindrance("Run 9 goes on; stop it first");
        QVERIFY(!resume.isEnabled());
        QCOMPARE(resume.toolTip(), QString("Run 9 goes on; stop it first"));
    }

    /// The pinned run and hidden ones are the same after a restart, unless the record was begun anew.
    void marks_outlive_the_list() {
        QStringList kept;
        {
            RunFeed feed(file_);
            RunList list(feed);
            QTRY_VERIFY_WITH_TIMEOUT(feed.run(first_) != nullptr, patient_ms);
            QSignalSpy marked(&list, &RunList::marks_changed);
            list.select({first_});
            list.pin_button().click();
            QCOMPARE(list.baseline(), first_);
            list.select({second_});
            QTest::keyClick(&list.view(), Qt::Key_H);
            QVERIFY(list.marks().hides(second_) && !list.marks().hides(first_));
            QCOMPARE(marked.size(), 2);
            kept = to_words(list.marks());
        }
        QCOMPARE(kept.size(), 2);
        QVERIFY(marks_of(kept).baseline.id == first_);
        QCOMPARE(marks_of({"", "no run", "7 "}).hidden.size(), 1U);
        RunFeed feed(file_);
        RunList list(feed);
        list.set_marks(marks_of(kept));  // before the record was looked at
        QTRY_VERIFY_WITH_TIMEOUT(feed.run(first_) != nullptr, patient_ms);
        QCOMPARE(list.baseline(), first_);
        QVERIFY(list.marks().hides(second_));
        auto runs = feed.runs();
        for (auto& run : runs) run.started_utc = "2001-01-01T00:00:00Z";
        QCOMPARE(still_there(list.marks(), runs), RunMarks{});
    }

    void columns_are_chosen_at_their_heads() {
        RunFeed feed(file_);
        RunList list(feed);
        list.resize(700, 500);
        list.show();
        auto* header = list.view().horizontalHeader();
        Q_EMIT header->customContextMenuRequested({10, 10});
        auto* menu = list.view().findChild<QMenu*>("columns");
        QVERIFY(menu != nullptr);
        QCOMPARE(menu->actions().size(), RunTable::columns - RunTable::state);
        QCOMPARE(menu->actions()[RunTable::speed - RunTable::state]->text(), QString("Tokens/s"));
        QVERIFY2(list.view().isColumnHidden(RunTable::speed), "at first there are those that fit");
        menu->actions()[RunTable::speed - RunTable::state]->trigger();
        QVERIFY(!list.view().isColumnHidden(RunTable::speed));
        menu->actions()[RunTable::validation_loss - RunTable::state]->trigger();
        QVERIFY(list.view().isColumnHidden(RunTable::validation_loss));
        QVERIFY(!list.view().isColumnHidden(RunTable::number));
        menu->close();
    }

    /// A second line tells runs of one name apart, by what differs between them first; it is what they were trained
    /// with.
    void a_second_line_tells_runs_apart() {
        RunInfo run;
        run.planner = "gpipe";
        QCOMPARE(runs_told({run}).front(), QString("running, seed 1, gpipe"));
        auto going = run;
        going.iterations = 60, going.iterations_done = 37;
        QCOMPARE(runs_told({going}).front(), QString("running, 37 of 60, seed 1, gpipe"));
        run.id = 1;
        run.state = RunState::finished;
        run.skip_ratio = 1. / 3;
        run.seed = 7;
        RunInfo other = run, namesake = run;
        other.name = "another";
        namesake.id = 3;
        namesake.planner = "1f1b";
        // In one order in all rows.
        const std::vector<QString> told{"gpipe, skip 0.333, seed 7", "gpipe, skip 0.333, seed 7",
                                        "1f1b, skip 0.333, seed 7"};
        QCOMPARE(runs_told({run, other, namesake}), told);
        RunInfo tagged = run;
        tagged.tags = {star_tag, "slow"};
        QCOMPARE(runs_told({tagged}).front(), QString("skip 0.333, seed 7, gpipe"));
        RunTable table;
        tagged.note = "warm";
        table.set_runs({tagged});
        QCOMPARE(table.index(0, RunTable::name).data(RunTable::chips_role).toStringList(),
                 (QStringList{QString::fromUtf8("✎"), "slow"}));
        QVERIFY(table.index(0, RunTable::name).data(Qt::ToolTipRole).toString().contains("Tags: slow"));
        QCOMPARE(table.index(0, RunTable::tags).data().toString(), QString("slow"));
        const auto says = [&](int row) {
            return table.index(row, RunTable::name).data(RunTable::told_role).toString();
        };
        table.set_runs({run});
        QCOMPARE(says(0), QString("skip 0.333, seed 7, gpipe"));
        QVERIFY(table.index(0, RunTable::planner).data(RunTable::told_role).isNull());
        QSignalSpy changed(&table, &RunTable::dataChanged);
        table.set_runs({namesake, run});  // of the old one other things tell now
        QCOMPARE(says(0), told[2]);
        QCOMPARE(says(1), told[0]);
        QCOMPARE(changed.back()[1].toModelIndex().row(), 1);
        namesake.planner = "gpipe";
        namesake.seed = 8;
        namesake.note = "warm caches";
        table.set_runs({namesake, run});
        QCOMPARE(says(1), QString("seed 7, skip 0.333, gpipe"));
        const QString tip = table.index(0, RunTable::name).data(Qt::ToolTipRole).toString();
        QVERIFY2(tip.contains("seed 8, skip 0.333, gpipe") && tip.endsWith("warm caches"), qPrintable(tip));
    }

    /// What has no room is left out by whole parts.
    void parts_stay_whole() {
        const QFontMetrics font(small_font());
        const QString words = "skip 0.33, seed 2, skippipe-joint";
        const int all = font.horizontalAdvance(words), two = font.horizontalAdvance("skip 0.33, seed 2");
        QCOMPARE(lines_of_parts(words, font, all, 1), QStringList{words});
        QCOMPARE(lines_of_parts(words, font, all - 1, 2), (QStringList{"skip 0.33, seed 2", "skippipe-joint"}));
        QCOMPARE(lines_of_parts(words, font, two, 2), (QStringList{"skip 0.33, seed 2", "skippipe-joint"}));
        QCOMPARE(lines_of_parts(words, font, all - 1, 1), QStringList{QString::fromUtf8("skip 0.33, seed 2, …")});
        QCOMPARE(lines_of_parts(words, font, two, 1), QStringList{QString::fromUtf8("skip 0.33, …")});
        QVERIFY(lines_of_parts({}, font, 10, 1).isEmpty());
    }

    /// As wide as the list is in a window of 1024 pixels, of 1280 and of 1600: what tells runs apart is there whole,
    /// and as soon as it has room how long an iteration is.
    void what_tells_runs_apart_is_seen_whole() {
        apply_theme(*qApp, false);
        Experiment experiment;
        experiment.pipeline.skip_ratio = 0.33;
        {
            Recorder recorder(file_);
            const RunId id = recorder.begin(
                {.name = "third", .planner = "skippipe-joint", .experiment_json = to_text(experiment), .seed = 2});
            recorder.finish(id, RunState::finished, {}, "{}");
        }
        RunFeed feed(file_);
        RunList list(feed);
        for (const auto& [width, height] :
             {std::pair{279, BelowDelegate::row}, {374, BelowDelegate::row}, {470, BelowDelegate::row}}) {
            list.resize(width, 500);
            list.show();
            QVERIFY(QTest::qWaitForWindowExposed(&list));
            QTRY_COMPARE(list.view().model()->rowCount(), 3);
            QTRY_COMPARE(list.view().rowHeight(0), height);
            QCOMPARE(list.view().isColumnHidden(RunTable::validation_loss), width < 374);
            QVERIFY(!list.view().isColumnHidden(RunTable::iteration_time));
            const auto index = list.view().model()->index(0, RunTable::name);
            const auto* delegate = static_cast<const BelowDelegate*>(list.view().itemDelegateForIndex(index));
            const auto lines = lines_of_parts(index.data(RunTable::told_role).toString(), QFontMetrics(small_font()),
                                              delegate->room_across(), height == BelowDelegate::row ? 1 : 2);
            QCOMPARE(lines.join(", "), QString("seed 2, skippipe-joint"));
            if (width != 279) continue;
            // They go on below the figures, whichever cell is painted anew.
            QTRY_VERIFY(list.view().visualRect(index).width() > 0);
            const auto inked = [&](const QImage& image) {
                int ink = 0;
                for (int y = 0; y < image.height(); ++y)
                    for (int x = 0; x < image.width(); ++x)
                        ink += contrast(image.pixelColor(x, y), theme().surface) > 3;
                return ink;
            };
            const QRect beside = list.view().visualRect(index.siblingAtColumn(RunTable::iteration_time));
            const QRect below = beside.adjusted(0, beside.height() / 2 + 2, 0, -1);
            QVERIFY2(inked(list.view().viewport()->grab(below).toImage()) > 20, "words below an empty figure");
        }
    }

    /// What failed says so in red; of what finished nothing is red.
    void failures_are_red() {
        RunInfo good, bad;
        good.id = 1, bad.id = 2;
        good.state = RunState::finished, bad.state = RunState::failed;
        RunTable table;
        table.set_runs({bad, good});
        const auto colour = [&](int row) {
            return table.index(row, RunTable::name).data(RunTable::told_colour_role).value<QColor>();
        };
        QCOMPARE(colour(0), theme().bad);
        QVERIFY(!colour(1).isValid());
        QVERIFY(table.index(0, RunTable::name).data(RunTable::told_role).toString().startsWith("failed, "));
        // Of namesakes that all failed their seeds are told first, and those are no failure.
        RunInfo other = bad;
        other.id = 3, other.seed = 2;
        RunTable namesakes;
        namesakes.set_runs({other, bad});
        const auto first = namesakes.index(0, RunTable::name);
        QCOMPARE(first.data(RunTable::told_role).toString().startsWith("failed"),
                 first.data(RunTable::told_colour_role).isValid());
        RunFeed feed(file_);
        RunList list(feed);
        QStyleOptionViewItem cell;
        cell.initFrom(&list);
        cell.rect = {0, 0, 200, BelowDelegate::row};
        const auto red = [&](int row) {
            QPixmap drawn(cell.rect.size());
            drawn.fill(theme().surface);
            QPainter painter(&drawn);
            BelowDelegate(RunTable::told_role, nullptr, RunTable::told_colour_role)
                .paint(&painter, cell, table.index(row, RunTable::name));
            int count = 0;
            const QImage image = drawn.toImage();
            for (int y = 0; y < image.height(); ++y)
                for (int x = 0; x < image.width(); ++x) {
                    const QColor is = image.pixelColor(x, y);
                    count += is.red() - is.green() > 60;
                }
            return count;
        };
        QVERIFY(red(0) > 10);
        QCOMPARE(red(1), 0);
    }

    /// Where nobody has chosen: runs that tell of each other, not the newest of whatever.
    void runs_worth_comparing_are_of_one_experiment() {
        const auto run = [](RunId id, const char* name, int done = 1) {
            RunInfo info;
            info.id = id;
            info.name = name;
            info.iterations_done = done;
            return info;
        };
        const std::vector<RunInfo> mixed{run(9, "churn"), run(8, "quick", 0), run(7, "quick"),
                                         run(6, "quick"), run(5, "authors"),  run(4, "quick"),
                                         run(3, "churn"), run(2, "quick"),    run(1, "quick")};
        QCOMPARE(worth_comparing(mixed), (std::vector<RunId>{9, 3}));
        QCOMPARE(worth_comparing({mixed.begin() + 1, mixed.end()}), (std::vector<RunId>{7, 6, 4, 2}));
        QCOMPARE(worth_comparing({mixed[0], mixed[1], mixed[4]}), (std::vector<RunId>{9, 8}));
        QCOMPARE(worth_comparing({mixed[0]}), std::vector<RunId>{9});
        QVERIFY(worth_comparing({}).empty());
        // The pinned one is among them.
        QCOMPARE(worth_comparing({mixed.begin() + 1, mixed.end()}, 5), (std::vector<RunId>{7, 6, 4, 5}));
        QCOMPARE(worth_comparing(mixed, 5), (std::vector<RunId>{9, 3, 5}));
        QCOMPARE(worth_comparing(mixed, 3), (std::vector<RunId>{9, 3}));
        QCOMPARE(worth_comparing(mixed, 77), (std::vector<RunId>{9, 3}));
    }

    /// As wide as the list is in a window of 1280 pixels: nothing has to be scrolled to.
    void the_first_columns_fit() {
        RunFeed feed(file_);
        RunList list(feed);
        list.resize(470, 500);
        list.show();
        QVERIFY(QTest::qWaitForWindowExposed(&list));
        QTRY_COMPARE(list.view().model()->rowCount(), 2);
        auto* header = list.view().horizontalHeader();
        QCOMPARE(header->count() - header->hiddenSectionCount(), 6);
        QVERIFY2(header->length() <= list.view().viewport()->width(),
                 qPrintable(QString("%1 of %2").arg(header->length()).arg(list.view().viewport()->width())));
    }

    /// In windows of 1024 to 3840 pixels the first columns fill the list, no more and no less.
    void the_first_columns_fill_the_list() {
        RunFeed feed(file_);
        RunList list(feed);
        for (const int width : {362, 470, 820, 1400}) {
            list.resize(width, 500);
            list.show();
            QVERIFY(QTest::qWaitForWindowExposed(&list));
            QTRY_COMPARE(list.view().model()->rowCount(), 2);
            QTRY_COMPARE(list.view().horizontalHeader()->length(), list.view().viewport()->width());
        }
    }

    /// Chosen among what differs between the selected runs; read for all of them, and for those that come.
    void a_parameter_is_a_column() {
        const auto record = [this](double ratio) {
            Experiment experiment;
            experiment.pipeline.skip_ratio = ratio;
            Recorder recorder(file_);
            const RunId id = recorder.begin({.name = "swept", .experiment_json = to_text(experiment)});
            recorder.finish(id, RunState::finished, {}, "{}");
            return id;
        };
        const RunId a = record(0.25), b = record(0.5);
        RunFeed feed(file_);
        RunList list(feed);
        list.resize(700, 500);
        list.show();
        QTRY_VERIFY_WITH_TIMEOUT(feed.run(b) != nullptr, patient_ms);
        feed.watch(a);
        feed.watch(b);
        QTRY_VERIFY_WITH_TIMEOUT(feed.data(a) != nullptr && feed.data(b) != nullptr, patient_ms);
        list.select({a, b});
        auto* header = list.view().horizontalHeader();
        Q_EMIT header->customContextMenuRequested({10, 10});
        auto* menu = list.view().findChild<QMenu*>("columns");
        QVERIFY(menu != nullptr);
        auto* more = menu->findChild<QMenu*>("parameter_columns");
        QVERIFY(more != nullptr && !more->isEmpty());
        QSignalSpy changed(&list, &RunList::columns_changed);
        for (auto* action : more->actions())
            if (action->text() == "Skip ratio") action->trigger();
        menu->close();
        QCOMPARE(changed.size(), 1);
        QCOMPARE(list.parameter_columns(), QStringList{"/pipeline/skip_ratio"});
        const auto shown = [&](RunId id) {
            const auto& model = *list.view().model();
            for (int row = 0; row < model.rowCount(); ++row)
                if (model.index(row, 0).data(RunTable::run_role).toLongLong() == id)
                    return model.index(row, RunTable::columns).data().toString();
            return QString("no such run");
        };
        QTRY_COMPARE_WITH_TIMEOUT(shown(a), QString("0.25"), patient_ms);
        QCOMPARE(shown(b), QString("0.5"));
        QCOMPARE(shown(first_), QString());  // its experiment says nothing of it
        const RunId c = record(0.125);
        feed.poll();
        QTRY_COMPARE_WITH_TIMEOUT(shown(c), QString("0.125"), patient_ms);
        list.view().sortByColumn(RunTable::columns, Qt::AscendingOrder);
        list.set_parameter_columns({});
        QCOMPARE(list.view().model()->columnCount(), int(RunTable::columns));
    }

    void runs_are_starred_archived_and_deleted_with_undo() {
        RunFeed feed(file_);
        {
            RunList list(feed);
            QTRY_VERIFY_WITH_TIMEOUT(feed.run(first_) != nullptr, patient_ms);
            const auto* model = list.view().model();
            const auto choose = [&](const char* words) {
                Q_EMIT list.view().customContextMenuRequested({5, 5});
                auto* menu = list.view().findChild<QMenu*>("run_menu");
                QAction* found = nullptr;
                for (auto* action : menu->actions())
                    if (action->text() == words) found = action;
                if (found != nullptr) found->trigger();
                delete menu;
                return found != nullptr;
            };
            list.select({first_});
            QVERIFY(choose("Star"));
            QTRY_COMPARE_WITH_TIMEOUT(Reader(file_).run(first_)->tags, std::vector<std::string>{star_tag}, patient_ms);
            QTRY_VERIFY(model->index(1, RunTable::name).data().toString() == QString::fromUtf8("★ first"));
            QVERIFY(choose("Archive"));
            QTRY_COMPARE(model->rowCount(), 1);
            list.findChild<QLineEdit*>("run_filter")->setText("archived");
            QCOMPARE(model->rowCount(), 1);
            list.select({first_});
            QVERIFY(choose("Take out of the archive"));
            QTRY_COMPARE(model->rowCount(), 0);
            list.findChild<QLineEdit*>("run_filter")->clear();
            QTRY_COMPARE(model->rowCount(), 2);

            QSignalSpy removed(&list, &RunList::removed);
            list.select({first_});
            QTest::keyClick(&list.view(), Qt::Key_Delete);
            QCOMPARE(removed.size(), 1);
            QCOMPARE(removed[0][0].toString(), QString("Run %1 is deleted").arg(first_));
            QCOMPARE(model->rowCount(), 1);
            // Nothing but whoever tells of it ends the time in which it can be undone.
            for (const auto* timer : list.findChildren<QTimer*>()) QVERIFY(!timer->isActive());
            list.select({second_});
            QTest::keyClick(&list.view(), Qt::Key_Z, Qt::ControlModifier);
            QCOMPARE(model->rowCount(), 2);
            QCOMPARE(list.selected(), std::vector<RunId>{first_});
            list.select({second_});
            QVERIFY(choose("Copy as command"));
            const QString command = QGuiApplication::clipboard()->text();
            QVERIFY2(command.startsWith(QString("skippipe export %1 --format plan").arg(second_)), qPrintable(command));
            QVERIFY(command.contains(QString::fromStdString("--db '" + file_.string() + "'")));
            QVERIFY(choose("Delete"));
            QVERIFY(Reader(file_).run(second_).has_value());  // it can still be undone
        }
        QTRY_VERIFY_WITH_TIMEOUT(!Reader(file_).run(second_).has_value(), patient_ms);
        QVERIFY(Reader(file_).run(first_).has_value());
    }

    /// Those that stay are selected as before when a run is gone from the record.
    void a_deletion_leaves_the_selection() {
        RunFeed feed(file_);
        RunList list(feed);
        QTRY_VERIFY_WITH_TIMEOUT(feed.run(first_) != nullptr, patient_ms);
        list.remove_later({first_});
        list.select({second_});
        list.remove_now();
        list.undo_removal();  // too late
        QTRY_VERIFY_WITH_TIMEOUT(feed.run(first_) == nullptr, patient_ms);
        QCOMPARE(list.selected(), std::vector<RunId>{second_});
        QCOMPARE(list.view().model()->rowCount(), 1);
        QVERIFY(!Reader(file_).run(first_).has_value());
    }

    /// Whoever goes on with a run that waits to be deleted wants it.
    void a_deleted_run_that_goes_on_comes_back() {
        RunFeed feed(file_);
        RunList list(feed);
        QTRY_VERIFY_WITH_TIMEOUT(feed.run(first_) != nullptr, patient_ms);
        QSignalSpy restored(&list, &RunList::restored);
        list.remove_later({first_});
        QCOMPARE(list.view().model()->rowCount(), 1);
        {
            auto database = record::open(file_, record::OpenMode::existing);
            database.exec("UPDATE runs SET state = 'running' WHERE id = " + std::to_string(first_));
        }
        QTRY_COMPARE_WITH_TIMEOUT(list.view().model()->rowCount(), 2, patient_ms);
        QCOMPARE(restored.size(), 1);
        list.remove_now();
        QVERIFY(Reader(file_).run(first_).has_value());
    }

    /// The filter reads what rows say; who looks for a run keeps those that are compared.
    void a_filter_reads_rows_and_keeps_the_selection() {
        RunId none = 0, some = 0;
        {
            Recorder recorder(file_);
            for (const double ratio : {0., 0.33}) {
                Experiment experiment;
                experiment.pipeline.skip_ratio = ratio;
                const RunId id = recorder.begin(
                    {.name = "third", .experiment_json = to_text(experiment), .plan_json = "{}", .seed = 20});
                recorder.finish(id, RunState::finished, {}, "{}");
                (ratio > 0 ? some : none) = id;
            }
        }
        RunFeed feed(file_);
        RunList list(feed);
        list.resize(470, 500);
        list.show();
        QTRY_VERIFY_WITH_TIMEOUT(feed.run(some) != nullptr, patient_ms);
        auto* field = list.findChild<QLineEdit*>("run_filter");
        const auto* model = list.view().model();
        const auto found = [&](const QString& words) {
            field->setText(words);
            std::vector<RunId> runs;
            for (int row = 0; row < model->rowCount(); ++row)
                runs.push_back(model->index(row, 0).data(RunTable::run_role).toLongLong());
            std::sort(runs.begin(), runs.end());
            return runs;
        };
        QCOMPARE(found("skip 0"), std::vector<RunId>{none});
        QCOMPARE(found("skip 0.3"), std::vector<RunId>{some});
        QCOMPARE(found("third seed 20"), (std::vector<RunId>{none, some}));
        QCOMPARE(found("skip 0,"), std::vector<RunId>{none});  // as a row has it
        QCOMPARE(found("skip 0.33, seed 20"), std::vector<RunId>{some});
        QCOMPARE(found("third,seed 20"), (std::vector<RunId>{none, some}));
        QCOMPARE(found("seed 2"), std::vector<RunId>{});
        QCOMPARE(found(QString("run %1").arg(first_)), std::vector<RunId>{first_});
        field->clear();
        list.select({first_, second_});
        QSignalSpy changed(&list, &RunList::selection_changed);
        QVERIFY(found("nowhere").empty());
        QCOMPARE(list.selected(), (std::vector<RunId>{first_, second_}));
        QCOMPARE(list.selected_out_of_sight(), 2U);
        QVERIFY(!list.view().isVisible());
        bool told = false;
        for (const auto* label : list.findChildren<QLabel*>())
            told = told || (label->isVisible() && label->text() == QString::fromUtf8("No run matches “nowhere”"));
        QVERIFY(told);
        // What is out of sight is not deleted.
        QSignalSpy removed(&list, &RunList::removed);
        QTest::keyClick(&list.view(), Qt::Key_Delete);
        QCOMPARE(removed.size(), 0);
        list.findChild<QPushButton*>("clear_filter")->click();
        QCOMPARE(model->rowCount(), 4);
        QCOMPARE(list.selected(), (std::vector<RunId>{first_, second_}));
        QCOMPARE(list.view().selectionModel()->selectedRows().size(), 2);
        QCOMPARE(found("second"), std::vector<RunId>{second_});
        list.select({second_});  // another choice takes the place of what is out of sight
        field->clear();
        QCOMPARE(list.selected(), std::vector<RunId>{second_});
    }

    /// Of a pinned run and those compared one is the baseline.
    void one_run_is_marked_as_the_baseline() {
        RunFeed feed(file_);
        RunList list(feed);
        QTRY_VERIFY_WITH_TIMEOUT(feed.run(second_) != nullptr, patient_ms);
        RunId third = 0;
        {
            Recorder recorder(file_);
            third = record_run(recorder, "third");
        }
        feed.poll();
        QTRY_VERIFY_WITH_TIMEOUT(feed.run(third) != nullptr, patient_ms);
        list.set_marks({.baseline = {third, feed.run(third)->started_utc}});
        const auto marked = [&] {
            std::vector<RunId> runs;
            const auto* model = list.view().model();
            for (int row = 0; row < model->rowCount(); ++row)
                if (model->index(row, RunTable::number).data().toString().startsWith(QString::fromUtf8("◆")))
                    runs.push_back(model->index(row, 0).data(RunTable::run_role).toLongLong());
            return runs;
        };
        QCOMPARE(marked(), std::vector<RunId>{third});
        // The pinned one keeps its mark; what stands in for it has a hollow one.
        const auto hollow = [&] {
            std::vector<RunId> runs;
            const auto* model = list.view().model();
            for (int row = 0; row < model->rowCount(); ++row)
                if (model->index(row, RunTable::number).data().toString().startsWith(QString::fromUtf8("◇")))
                    runs.push_back(model->index(row, 0).data(RunTable::run_role).toLongLong());
            return runs;
        };
        list.select({first_, second_});
        QCOMPARE(marked(), std::vector<RunId>{third});
        QCOMPARE(hollow(), std::vector<RunId>{first_});
        list.select({first_, third});
        QCOMPARE(marked(), std::vector<RunId>{third});
        QVERIFY(hollow().empty());
        // Whichever row is pointed at can be the baseline.
        list.resize(470, 500);
        list.show();
        const auto choose = [&](RunId id, const QString& words) {
            const auto* model = list.view().model();
            for (int row = 0; row < model->rowCount(); ++row)
                if (model->index(row, 0).data(RunTable::run_role).toLongLong() == id)
                    Q_EMIT list.view().customContextMenuRequested(
                        list.view().visualRect(model->index(row, RunTable::name)).center());
            auto* menu = list.view().findChild<QMenu*>("run_menu");
            QAction* action = menu == nullptr ? nullptr : menu->actions().front();
            const bool is_it = action != nullptr && action->text() == words;
            if (is_it) action->trigger();
            delete menu;
            return is_it;
        };
        QVERIFY(choose(second_, QString("Run %1 as baseline").arg(second_)));
        QCOMPARE(list.baseline(), second_);
        QVERIFY(choose(second_, "No baseline"));
        QCOMPARE(list.baseline(), 0);
        // A press says what it did, and the next one takes it back: it does not go on to another run.
        list.select({first_, second_, third});
        auto& pin = list.pin_button();
        pin.click();
        QCOMPARE(list.baseline(), third);
        QCOMPARE(pin.text(), QString("Run %1 is baseline").arg(third));
        pin.click();
        QCOMPARE(list.baseline(), 0);
        QCOMPARE(pin.text(), QString("Run %1 as baseline").arg(third));
        const auto* stand_in = list.findChild<QLabel*>("baseline_stand_in");
        QVERIFY(stand_in->isHidden());
        list.pin(third);
        list.select({first_, second_});
        QCOMPARE(stand_in->text(),
                 QString("Run %1, the baseline, is not selected: compared with run %2").arg(third).arg(first_));
        QVERIFY(stand_in->isVisible());
    }

    /// Escape empties the filter; after a deletion what stands below is selected, of the last one what is above.
    void keys_go_on_where_they_are() {
        RunId third = 0;
        {
            Recorder recorder(file_);
            third = record_run(recorder, "third");
        }
        RunFeed feed(file_);
        RunList list(feed);
        list.resize(470, 500);
        list.show();
        QTRY_VERIFY_WITH_TIMEOUT(feed.run(third) != nullptr, patient_ms);
        auto* field = list.findChild<QLineEdit*>("run_filter");
        QTest::keyClicks(field, "nowhere");
        QTest::keyClick(field, Qt::Key_Escape);
        QVERIFY(field->text().isEmpty());
        QCOMPARE(list.view().model()->rowCount(), 3);
        list.select({second_});
        QTest::keyClick(&list.view(), Qt::Key_Delete);
        QCOMPARE(list.selected(), std::vector<RunId>{first_});
        QTest::keyClick(&list.view(), Qt::Key_Delete);
        QCOMPARE(list.selected(), std::vector<RunId>{third});
    }

    /// The star and the archive have marks and commands of their own: the field of tags leaves them as they are.
    void the_field_of_tags_has_no_star() {
        RunFeed feed(file_);
        RunList list(feed);
        QTRY_VERIFY_WITH_TIMEOUT(feed.run(first_) != nullptr, patient_ms);
        feed.set_tags(first_, {"slow", star_tag});
        QTRY_VERIFY_WITH_TIMEOUT(feed.run(first_)->tags.size() == 2, patient_ms);
        list.select({first_});
        QTRY_COMPARE(list.tags().text(), QString("slow"));
        QTest::keyClicks(&list.tags(), ", warm");
        QTest::keyClick(&list.tags(), Qt::Key_Return);
        QTRY_COMPARE_WITH_TIMEOUT(Reader(file_).run(first_)->tags, (std::vector<std::string>{"slow", star_tag, "warm"}),
                                  patient_ms);
        QTRY_COMPARE(list.tags().text(), QString("slow, warm"));
    }

    void an_eye_hides_a_run_and_leaves_the_selection() {
        RunFeed feed(file_);
        RunList list(feed);
        list.resize(700, 500);
        list.show();
        QTRY_VERIFY_WITH_TIMEOUT(feed.run(first_) != nullptr, patient_ms);
        list.select({first_, second_});
        const auto* model = list.view().model();
        const QPoint eye = list.view().visualRect(model->index(0, RunTable::eye)).center();
        QTest::mouseClick(list.view().viewport(), Qt::LeftButton, {}, eye);
        QVERIFY(list.marks().hides(second_));  // the newest comes first
        QCOMPARE(list.selected().size(), 2U);
        QTest::mouseClick(list.view().viewport(), Qt::LeftButton, {}, eye);
        QVERIFY(!list.marks().hides(second_));
        // What the other is held against has a mark of its own, pinned or not.
        const auto has_mark = [&](int row) {
            return model->index(row, RunTable::number).data().toString().startsWith(QString::fromUtf8("◇"));
        };
        QVERIFY(has_mark(1) && !has_mark(0));
        list.select({second_});
        QVERIFY(!has_mark(1) && !has_mark(0));
        list.select({first_, second_});
        list.pin_button().click();
        const auto mark = model->index(0, RunTable::number);  // not the one that they are held against already
        QVERIFY(mark.data().toString().startsWith(QString::fromUtf8("◆")));
        QVERIFY2(list.view().fontMetrics().horizontalAdvance("◆ 9999") < list.view().columnWidth(RunTable::number),
                 "a pinned run's number is cut");
    }

private:
    std::unique_ptr<QTemporaryDir> folder_;
    std::filesystem::path file_;
    RunId first_ = 0, second_ = 0;
};

QTEST_MAIN(TestRunList)
#include "test_run_list.moc"
