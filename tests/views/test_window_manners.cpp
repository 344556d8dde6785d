// SPDX-License-Identifier: GPL-3.0-or-later
// What the window owes to who sits at it: files are only looked at when they are opened, what was mended is mended,
// undo works where the hands are, and nothing moves away under them.
#include <fcntl.h>
#include <sys/inotify.h>
#include <unistd.h>

#include <QFileDialog>
#include <QLineEdit>
#include <QListView>
#include <QMenu>
#include <QMenuBar>
#include <QPushButton>
#include <QTemporaryDir>
#include <QtTest>

#include "core/experiment/io.h"
#include "plugins/planners/all.h"
#include "tests/views/shown_window.h"
#include "tests/views/window_experiments.h"
#include "views/theme/file_dialogs.h"
#include "views/window/command_palette.h"

using namespace skippipe;

namespace {

/// How often files of a folder were opened since it was made.
class Openings {
public:
    explicit Openings(const QString& folder) : inotify_(::inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
        ::inotify_add_watch(inotify_, folder.toLocal8Bit().constData(), IN_OPEN);
    }
    ~Openings() { ::close(inotify_); }
    QStringList names() const {
        QStringList names;
        alignas(inotify_event) char bytes[4096];
        for (ssize_t size; (size = ::read(inotify_, bytes, sizeof bytes)) > 0;)
            for (const char* at = bytes; at < bytes + size;) {
                const auto* event = reinterpret_cast<const inotify_event*>(at);
                if ((event->mask & IN_ISDIR) == 0) names << QString::fromLocal8Bit(event->name);
                at += sizeof *event + event->len;
            }
        return names;
    }

private:
    int inotify_;
};

void write(const QString& file, const QByteArray& bytes) {
    QFile out(file);
    QVERIFY(out.open(QIODevice::WriteOnly) && out.write(bytes) == bytes.size());
}

}  // namespace

class TestWindowManners : public QObject {
    Q_OBJECT
    PlannerRegistry planners_;

private Q_SLOTS:
    void initTestCase() { register_planners(planners_); }

    /// Whatever closes the record's file gives up the locks of who reads it, in the whole program.
    void asking_for_a_file_opens_none() {
        QTemporaryDir folder;
        for (const char* name : {"mine.db", "mine.db-wal", "unknown", "a.json"})
            write(folder.filePath(name), QByteArray("SQLite format 3\0", 16));
        const Openings openings(folder.path());
        bool listed = false;
        QTimer::singleShot(0, this, [&] {
            auto* dialog = qobject_cast<QFileDialog*>(QApplication::activeModalWidget());
            QVERIFY(dialog != nullptr);
            const auto* list = dialog->findChild<QListView*>("listView");
            const auto count = [&] { return list->model()->rowCount(list->rootIndex()); };
            QTRY_COMPARE(count(), 4);
            dialog->setViewMode(QFileDialog::Detail);
            QTest::qWait(300);
            dialog->grab();
            listed = true;
            dialog->reject();
        });
        QVERIFY(ask_for_file(nullptr, "Open", folder.path() + '/', "All files (*)").isEmpty());
        QVERIFY(listed);
        QCOMPARE(openings.names(), QStringList());
    }

    /// Few enough entries to be read, in groups; what is seen of the canvas stands under View.
    void menus_are_short() {
        QTemporaryDir folder;
        auto w = shown_window(planners_, folder);
        w->document().start_new(three_linked_nodes());
        const auto menu = [&](const QString& name) -> QMenu* {
            for (auto* action : w->menuBar()->actions())
                if (action->text().remove('&') == name) return action->menu();
            return nullptr;
        };
        const auto entry = [](const QMenu* of, const QString& words) -> QAction* {
            for (auto* action : of->actions())
                if (action->text() == words) return action;
            return nullptr;
        };
        auto *edit = menu("Edit"), *view = menu("View");
        const auto entries = edit->actions();
        QVERIFY(std::count_if(entries.begin(), entries.end(), [](auto* one) { return !one->isSeparator(); }) <= 14);
        QVERIFY(entry(view, "Fit everything") != nullptr && entry(edit, "Fit everything") == nullptr);
        auto *lay_out = entry(edit, "Lay out"), *align = entry(edit, "Align");
        QVERIFY(lay_out != nullptr && entry(lay_out->menu(), "Tidy up") != nullptr);
        QVERIFY(align != nullptr && entry(align->menu(), "Align left") != nullptr);
        Q_EMIT edit->aboutToShow();
        QVERIFY(!align->isEnabled() && !entry(edit, "Link selected")->isEnabled());
        Q_EMIT edit->aboutToHide();
        QVERIFY2(entry(edit, "Link selected")->isEnabled(), "its key says what it needs");
        w->selection().select({.nodes = {w->document().experiment().topology.nodes[0].id,
                                         w->document().experiment().topology.nodes[1].id}});
        Q_EMIT edit->aboutToShow();
        QVERIFY(align->isEnabled() && entry(edit, "Link selected")->isEnabled());
        Q_EMIT edit->aboutToHide();
    }

    /// An unknown key is of the file alone: saved without it, the experiment is planned; so is another that is equal.
    void what_a_save_mended_is_mended() {
        QTemporaryDir folder;
        auto w = shown_window(planners_, folder);
        Experiment e = three_linked_nodes();
        auto document = to_json(e);
        document["pipeline"]["stagess"] = 3;
        const QString file = folder.filePath("mistyped.json");
        write(file, QByteArray::fromStdString(document.dump(2)));
        const auto has_plan = [&] { return w->plans().ready() != nullptr && w->plans().ready()->has_plan; };
        const auto open = [&] {
            w->open(file.toStdString());
            QTRY_VERIFY_WITH_TIMEOUT(w->document().file_has_faults() && !w->plans().is_busy(), patient_ms);
            QVERIFY(!has_plan() && !w->why_not_launch().isEmpty());
        };
        open();
        w->document().start_new(e);
        QTRY_VERIFY_WITH_TIMEOUT(has_plan(), patient_ms);
        QCOMPARE(w->why_not_launch(), QString());
        open();
        QVERIFY(w->save());
        QTRY_VERIFY_WITH_TIMEOUT(has_plan(), patient_ms);
        QCOMPARE(w->why_not_launch(), QString());
    }

    /// After Enter a field has nothing to undo: the key is the document's, without a click elsewhere.
    void a_field_leaves_undo_to_the_document() {
        QTemporaryDir folder;
        auto w = shown_window(planners_, folder);
        w->activateWindow();
        QVERIFY(QTest::qWaitForWindowActive(w.get()));
        w->document().start_new(three_linked_nodes());
        const int before = w->document().experiment().pipeline.microbatches;
        auto* line = w->design_page().findChild<QLineEdit*>("microbatches");
        QVERIFY(line != nullptr && line->isVisible());
        line->setFocus();
        line->selectAll();
        QTest::keyClicks(line, QString::number(before + 5));
        QTest::keyClick(line, Qt::Key_Z, Qt::ControlModifier);
        QVERIFY2(line->text() != QString::number(before + 5), "what is being typed is the field's");
        line->selectAll();
        QTest::keyClicks(line, QString::number(before + 7));
        QTest::keyClick(line, Qt::Key_Return);
        QCOMPARE(w->document().experiment().pipeline.microbatches, before + 7);
        line = w->design_page().findChild<QLineEdit*>("microbatches");
        line->setFocus();
        QTest::keyClick(line, Qt::Key_Z, Qt::ControlModifier);
        QCOMPARE(w->document().experiment().pipeline.microbatches, before);
        QTest::keyClick(line, Qt::Key_Y, Qt::ControlModifier);
        QCOMPARE(w->document().experiment().pipeline.microbatches, before + 7);
    }

    /// Settings, tabs and templates are found by their words, before what would undo an edit of that name.
    void settings_and_tabs_are_found_by_words() {
        QTemporaryDir folder;
        auto w = shown_window(planners_, folder);
        w->document().start_new(three_linked_nodes());
        w->document().edit("Microbatches", [](Experiment& e) { e.pipeline.microbatches += 3; });
        const int edited = w->document().experiment().pipeline.microbatches;
        const auto find = [&](const QString& text) {
            (void)QTest::qWaitFor([&] { return w->findChild<CommandPalette*>() == nullptr; });
            for (auto* action : w->actions())
                if (action->shortcut() == QKeySequence(Qt::CTRL | Qt::Key_K)) action->trigger();
            auto* palette = w->findChild<CommandPalette*>();
            QTest::keyClicks(&palette->line(), text);
            return palette;
        };
        QVERIFY(QTest::qWaitForWindowExposed(w.get()));
        QTest::keyClick(&find("microbatches")->line(), Qt::Key_Return);
        QTRY_COMPARE(w->focusWidget()->objectName(), QString("microbatches"));
        QCOMPARE(w->document().experiment().pipeline.microbatches, edited);
        QTest::keyClick(&find("what if")->line(), Qt::Key_Return);
        QTRY_VERIFY(w->design_page().what_if().isVisible());
        auto* none = find("no such thing");
        QCOMPARE(none->list().count(), 1);
        QVERIFY(none->list().isVisible() && none->list().item(0)->text().contains("called"));
        QTest::keyClick(&none->line(), Qt::Key_Return);
        none->close();
        w->document().start_new(three_linked_nodes());  // so that nothing is to be saved
        QTest::keyClick(&find("authors' 18")->line(), Qt::Key_Return);
        QTRY_COMPARE(w->document().experiment().topology.nodes.size(), std::size_t{18});
    }

    /// What is being started can be stopped as what runs can.
    void a_start_is_stopped() {
        if (!worker_is_built()) QSKIP("skippipe and its worker are not built");
        QTemporaryDir folder;
        auto w = shown_window(planners_, folder);
        w->document().start_new(three_linked_nodes());
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        w->launch();
        QTest::mouseClick(&w->bar().stop_button(), Qt::LeftButton);
        QTRY_VERIFY_WITH_TIMEOUT(w->why_not_launch().isEmpty(), patient_ms);
        QVERIFY2(w->banner().text().contains("stopped before it began"), qPrintable(w->banner().text()));
        QVERIFY(w->feed().runs().empty());
    }

    /// A run that begins takes the window to Watch, unless somebody went on with something else.
    void a_run_that_begins_moves_nothing_away_data() {
        QTest::addColumn<bool>("at_work");
        QTest::newRow("waits") << false;
        QTest::newRow("at work") << true;
    }
    void a_run_that_begins_moves_nothing_away() {
        if (!worker_is_built()) QSKIP("skippipe and its worker are not built");
        QFETCH(bool, at_work);
        QTemporaryDir folder;
        auto w = shown_window(planners_, folder);
        Experiment e = three_linked_nodes();
        e.execution.compute = Compute::cost;
        w->document().start_new(e);
        QTRY_VERIFY_WITH_TIMEOUT(w->plans().ready() != nullptr, patient_ms);
        w->launch();
        if (at_work) QTest::mouseClick(w->design_page().canvas().viewport(), Qt::LeftButton, {}, QPoint(3, 3));
        QTRY_VERIFY_WITH_TIMEOUT(w->watch_page().run() != 0, patient_ms);
        QCOMPARE(w->watch_page().isVisible(), !at_work);
        QCOMPARE(w->banner().text().contains("has begun"), at_work);
        QTRY_VERIFY_WITH_TIMEOUT(w->why_not_launch().isEmpty(), patient_ms);
        QTRY_VERIFY_WITH_TIMEOUT(!w->banner().isVisible(), patient_ms);  // there is nothing to watch any longer
    }
};

QTEST_MAIN(TestWindowManners)
#include "test_window_manners.moc"
