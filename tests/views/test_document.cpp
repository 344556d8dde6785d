// SPDX-License-Identifier: GPL-3.0-or-later
#include <future>

#include <QTemporaryDir>
#include <QtTest>

#include "core/experiment/io.h"
#include "core/experiment/schema_member.h"
#include "tests/views/silent_file.h"
#include "views/document/document.h"
#include "views/document/file_reader.h"
#include "views/document/file_worker.h"
#include "views/document/recovery.h"
#include "views/inspector/field_text.h"
#include "views/topology/edits.h"

using namespace skippipe;

namespace {
Experiment small() {
    Experiment e;
    e.name = "Small";
    for (int i = 0; i < 3; ++i) add_node(e, {100.0 * i, 0});
    add_link(e, "node-1", "node-2");
    add_link(e, "node-2", "node-3");
    return e;
}
}  // namespace

class TestDocument : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void each_edit_is_one_command() {
        Document document;
        document.start_new(small());
        const Experiment first = document.experiment();
        document.edit("a", [](Experiment& e) { e.pipeline.stages = 4; });
        document.edit("nothing", [](Experiment&) {});
        document.edit("b", [](Experiment& e) { e.seed = 7; });
        QCOMPARE(document.undo_stack().count(), 2);
        document.undo_stack().undo();
        document.undo_stack().undo();
        QVERIFY(document.experiment() == first);
        QVERIFY(!document.is_modified());
        document.undo_stack().redo();
        QCOMPARE(document.experiment().pipeline.stages, 4);
    }

    void edits_of_one_field_merge() {
        Document document;
        for (int i = 1; i <= 5; ++i)
            document.edit(
                "seed", [i](Experiment& e) { e.seed = static_cast<std::uint64_t>(i + 1); }, "seed");
        QCOMPARE(document.undo_stack().count(), 1);
        document.end_merge();
        document.edit(
            "seed", [](Experiment& e) { e.seed = 40; }, "seed");
        QCOMPARE(document.undo_stack().count(), 2);
        document.edit(
            "seed", [](Experiment& e) { e.seed = 6; }, "seed");  // back to where the command began
        QCOMPARE(document.undo_stack().count(), 1);
    }

    void a_broken_file_opens_and_keeps_its_text() {
        QTemporaryDir folder;
        const auto file = std::filesystem::path(folder.path().toStdString()) / "broken.json";
        const std::string text = "{\"format\": 1, \"name\": \"Kept\", \"pipelin\": {}, \"seed\": \"three\"}";
        write_file_atomically(file, text);
        Document document;
        document.open(read_document(file));
        QCOMPARE(document.experiment().name, std::string("Kept"));
        QVERIFY(document.file_has_faults());
        QVERIFY(has_errors(document.faults()));
        Faults none;
        QCOMPARE(read_file(file, none), text);
        document.save(file);
        QCOMPARE(read_file(std::filesystem::path{file} += ".before-repair", none), text);
        QVERIFY(!document.file_has_faults());
    }

    void saving_gives_the_same_document() {
        QTemporaryDir folder;
        const auto file = std::filesystem::path(folder.path().toStdString()) / "small.json";
        Document document, again;
        document.start_new(small());
        document.edit("name", [](Experiment& e) { e.name = "Other"; });
        QVERIFY(document.is_modified());
        document.save(file);
        QVERIFY(!document.is_modified());
        again.open(read_document(file));
        QVERIFY(again.experiment() == document.experiment());
    }

    /// An editor that knows the file's schema knows it of the saved one too, wherever that lies.
    void saving_keeps_the_schema() {
        QTemporaryDir place;
        const std::filesystem::path folder = place.path().toStdString();
        std::filesystem::create_directories(folder / "deep" / "er");
        const auto schema_of = [](const std::filesystem::path& file) {
            Faults none;
            const auto json = parse_json(read_file(file, none), none);
            return json.contains("$schema") ? json["$schema"].get<std::string>() : std::string{};
        };
        for (const auto& [schema, deeper] :
             {std::pair{"s/e.json", "../../s/e.json"}, std::pair{"https://x.org/e.json", "https://x.org/e.json"}}) {
            write_file_atomically(folder / "e.json", with_schema(to_text(small()), schema));
            Document document;
            document.open(read_document(folder / "e.json"));
            document.edit("name", [](Experiment& e) { e.name = "Other"; });
            document.save(folder / "e.json");
            QCOMPARE(schema_of(folder / "e.json"), std::string(schema));
            document.save(folder / "deep" / "er" / "e.json");
            QCOMPARE(schema_of(folder / "deep" / "er" / "e.json"), std::string(deeper));
            document.save(folder / "again.json");
            QCOMPARE(schema_of(folder / "again.json"), std::string(schema));
            document.start_new(small());
            document.save(folder / "new.json");
            QCOMPARE(schema_of(folder / "new.json"), std::string());
        }
    }

    void unsaved_work_is_found_after_a_crash_only() {
        QTemporaryDir place;
        const std::filesystem::path folder = place.path().toStdString();
        Document document;
        document.open({folder / "mine", small(), {}, "s/e.json"});
        {
            FileWorker files;
            DocumentRecovery recovery(document, files, folder);
            document.edit("seed", [](Experiment& e) { e.seed = 99; });
            recovery.write();
            bool written = false;
            files.ask(
                {}, [] {}, &document, [&](const QString&) { written = true; });
            QTRY_VERIFY(written);
            QVERIFY2(QDir(place.path()).entryList({"*.json"}).size() == 1, "it is there");
            QVERIFY2(DocumentRecovery::find(folder).empty(), "the window that wrote it still lives");
        }
        const auto found = DocumentRecovery::find(folder);
        QCOMPARE(found.size(), std::size_t{1});
        QCOMPARE(found.front().experiment.seed, std::uint64_t{99});
        Document other;
        other.recover(found.front().experiment, found.front().document_file, found.front().schema);
        QVERIFY(other.is_modified() && other.schema() == "s/e.json");
        DocumentRecovery::remove(found.front());
        QVERIFY(DocumentRecovery::find(folder).empty());
        {
            FileWorker files;
            DocumentRecovery recovery(other, files, folder);
            recovery.write();
            recovery.discard();
        }
        QVERIFY2(DocumentRecovery::find(folder).empty(), "a window closed as wished leaves nothing");
    }

    void the_last_edit_is_kept_and_nothing_is_lost_at_the_end() {
        QTemporaryDir place;
        const std::filesystem::path folder = place.path().toStdString();
        Document document;
        document.start_new(small());
        {
            FileWorker files;
            DocumentRecovery recovery(document, files, folder);
            std::promise<void> gate;
            files.ask({}, [&] { gate.get_future().wait(); });  // a slow disk
            for (std::uint64_t seed = 90; seed < 95; ++seed) {
                document.edit("seed", [&](Experiment& e) { e.seed = seed; });
                recovery.write();
            }
            document.edit("seed", [](Experiment& e) { e.seed = 95; });  // still waits for its second
            gate.set_value();
        }
        const auto found = DocumentRecovery::find(folder);
        QCOMPARE(found.size(), std::size_t{1});
        QCOMPARE(found.front().experiment.seed, std::uint64_t{95});
    }

    void of_what_waits_under_one_name_the_last_counts() {
        std::vector<int> done, told;
        QObject listener;
        {
            FileWorker files;
            std::promise<void> gate;
            files.ask({}, [&] { gate.get_future().wait(); });
            for (int i = 0; i < 4; ++i)
                files.ask(
                    i == 2 ? "other" : "one", [&done, i] { done.push_back(i); }, &listener,
                    [&told, i](const QString&) { told.push_back(i); });
            {
                QObject gone;
                files.ask(
                    {}, [&] { done.push_back(9); }, &gone, [&](const QString&) { told.push_back(9); });
            }
            gate.set_value();
            QTRY_COMPARE(told, (std::vector<int>{2, 3}));
        }
        QCOMPARE(done, (std::vector<int>{2, 3, 9}));
    }

    void the_last_file_that_is_asked_for_counts() {
        QTemporaryDir place;
        const std::filesystem::path folder = place.path().toStdString();
        write_file_atomically(folder / "there.json", to_text(small()));
        SilentFile first(folder / "first.json", to_text(small())), last(folder / "last.json", to_text(small()));
        auto reader = std::make_unique<FileReader>();
        QStringList told;
        const auto read = [&](const std::filesystem::path& file) {
            reader->read([file] { read_document(file); },
                         [&told, file](const QString& fault) {
                             told << QString::fromStdString(file.filename().string()) + (fault.isEmpty() ? "" : "!");
                         });
        };
        read(first.path());
        read(folder / "there.json");
        QTRY_COMPARE(told, QStringList{"there.json"});
        first.speak();
        read(folder / "nowhere.json");
        QTRY_COMPARE(told, (QStringList{"there.json", "nowhere.json!"}));
        read(folder / "there.json");
        reader->forget();
        read(last.path());
        QVERIFY2(!last.has_spoken(), "nobody waited");
        reader.reset();
        QVERIFY2(!last.has_spoken(), "nor at the end");
        last.speak();
        QTest::qWait(50);
        QCOMPARE(told, (QStringList{"there.json", "nowhere.json!"}));
    }

    void work_that_cannot_be_kept_is_told_once() {
        QTemporaryDir place;
        write_file_atomically(place.filePath("file").toStdString(), "no folder");
        Document document;
        document.start_new(small());
        FileWorker files;
        DocumentRecovery recovery(document, files, place.filePath("file/recovery").toStdString());
        QSignalSpy failed(&recovery, &DocumentRecovery::failed);
        for (std::uint64_t seed = 7; seed < 9; ++seed) {
            document.edit("seed", [&](Experiment& e) { e.seed = seed; });
            recovery.write();
            bool written = false;
            files.ask(
                {}, [] {}, &document, [&](const QString&) { written = true; });
            QTRY_VERIFY(written);
            QCOMPARE(failed.count(), 1);
        }
        QVERIFY(failed.front().front().toString().contains("file"));
    }

    void faults_speak_of_things() {
        const Experiment e = small();
        QCOMPARE(subject_of("/topology/nodes/1/region", e).nodes, std::set<std::string>{"node-2"});
        QCOMPARE(subject_of("/topology/links/0", e).links.begin()->to, std::string("node-2"));
        QVERIFY(subject_of("/topology/nodes/12", e).empty());
        QVERIFY(subject_of("/pipeline/stages", e).empty());
    }

    void edits_keep_references_whole() {
        Experiment e = small();
        e.failures.push_back({FailureKind::link_cut, "node-1->node-2"});
        e.pipeline.placement = {{"node-1"}, {"node-2", "node-3"}};
        rename(e, "node-2", "berlin");
        QCOMPARE(e.topology.links[1].from, std::string("berlin"));
        QCOMPARE(e.failures[0].target, std::string("node-1->berlin"));
        QCOMPARE(e.pipeline.placement[1][0], std::string("berlin"));
        QVERIFY(!add_link(e, "berlin", "node-1"));
        const std::string text = copy_text(e, {.nodes = {"node-1", "berlin"}});
        const Selection pasted = paste_text(e, text, {10, 10});
        QCOMPARE(pasted.nodes.size(), std::size_t{2});
        QCOMPARE(pasted.links.size(), std::size_t{1});
        QVERIFY(paste_text(e, "no json at all", {}).empty());
        remove_selected(e, {.nodes = {"berlin"}});
        QVERIFY(e.failures.empty());
        QCOMPARE(e.topology.links.size(), std::size_t{1});
    }

    void fields_are_read_within_limits() {
        const Info ratio{.min = 0, .max = 1};
        QVERIFY(!read_field("1.5", ratio, static_cast<double*>(nullptr)).value);
        QVERIFY(!read_field("nan", ratio, static_cast<double*>(nullptr)).value);
        QCOMPARE(*read_field("0.25", ratio, static_cast<double*>(nullptr)).value, 0.25);
        QVERIFY(!read_field("2.5", Info{}, static_cast<int*>(nullptr)).value);
        const auto absent = read_field(" ", Info{}, static_cast<std::optional<int>*>(nullptr));
        QVERIFY(absent.value.has_value() && !absent.value->has_value());
        QCOMPARE(*read_field("5, 3, 3", Info{}, static_cast<std::vector<int>*>(nullptr)).value,
                 (std::vector<int>{5, 3, 3}));
        QCOMPARE(to_field(std::vector<int>{5, 3}), QString("5, 3"));
    }

    void numbers_are_read_with_prefixes_and_units() {
        const Info bandwidth{.unit = "B/s"}, seconds{.unit = "s"};
        const auto read = [](const char* text, const Info& info) {
            return read_field(QString::fromUtf8(text), info, static_cast<double*>(nullptr)).value.value_or(-1);
        };
        QCOMPARE(read("125M", bandwidth), 125e6);
        QCOMPARE(read("125 MB/s", bandwidth), 125e6);
        QCOMPARE(read("1 Gbit/s", bandwidth), 125e6);
        QCOMPARE(read("2e3", bandwidth), 2000.0);
        QCOMPARE(read("20 ms", seconds), 0.02);
        QCOMPARE(read("7 \u00B5s", seconds), 7e-6);
        QCOMPARE(read("20 MB", bandwidth), -1.0);
        QCOMPARE(read("20 m", Info{}), -1.0);
        QCOMPARE(read("20 s s", seconds), -1.0);
        QCOMPARE(read("125M / 2", bandwidth), 62.5e6);
        QCOMPARE(read("1 Gbit/s/2", bandwidth), 62.5e6);
        QCOMPARE(read("20 ms * 1.5", seconds), 0.03);
        QCOMPARE(read("20 ms / 0", seconds), -1.0);
        QCOMPARE(read("/2", seconds), -1.0);
        QCOMPARE(read_factor("/2"), std::optional(0.5));
        QCOMPARE(read_factor("\u00D7 3"), std::optional(3.0));
        QVERIFY(!read_factor("2") && !read_factor("/s") && !read_factor("*") && !read_factor(""));
        QCOMPARE(scaled_field(3, 0.5, Info{}).value, std::optional(2));
        QVERIFY(!scaled_field(3, 1e300, Info{}).value && !scaled_field(0.5, 3.0, Info{.min = 0, .max = 1}).value);
        QCOMPARE(*scaled_field(std::optional<double>(), 2.0, Info{}).value, std::optional<double>());
        // W15: as a person says it, and exactly what it is.
        QCOMPARE(to_field(17'563'648.0, bandwidth), QString("140.509184\u2009Mbit/s"));
        QCOMPARE(to_field(125e6, bandwidth), QString("1\u2009Gbit/s"));
        QCOMPARE(to_field(123456789.0, bandwidth), QString("987.654312\u2009Mbit/s"));
        QCOMPARE(to_field(23.4 * 1e-3, seconds), QString("23.4\u2009ms"));  // not the same to the last bit
        QCOMPARE(to_field(16e9, Info{.unit = "B"}), QString("16\u2009GB"));
        QCOMPARE(to_field(123456789.0123, bandwidth), QString("987654312.0984\u2009bit/s"));
        QCOMPARE(limits_text({.unit = "B/s", .min = 0, .max = 1e9, .above_min = true}),
                 QString("more than 0\u2009bit/s, at most 8\u2009Gbit/s"));
        QCOMPARE(limits_text({.min = 0, .max = 1e6}), QString("0 to 1\u2009000\u2009000"));
        QCOMPARE(to_field(1e9), QString("1000000000"));
        QCOMPARE(to_field(1e18), QString("1e18"));
        QCOMPARE(to_field(1e-5), QString("1e-05"));
        QVERIFY2(read_field("fast", bandwidth, static_cast<double*>(nullptr)).fault.endsWith("bit/s"), "as it is read");
        QCOMPARE(short_text(to_field(17'563'648.0, bandwidth), "B/s"), QString("141\u2009Mbit/s"));
        QCOMPARE(short_text("1\u2009Gbit/s", "B/s"), QString("1\u2009Gbit/s"));
        QCOMPARE(in_unit_shown("20", "1\u2009Gbit/s", "B/s"), QString("20 Gbit/s"));
        QCOMPARE(in_unit_shown(" 2e1 ", "", "B/s"), QString("2e1 bit/s"));
        QCOMPARE(in_unit_shown("20", "1\u2009ms", "s"), QString("20 ms"));
        for (const char* other : {"20 Mbit/s", "/2", "fast", ""})
            QCOMPARE(in_unit_shown(other, "1\u2009Gbit/s", "B/s"), QString(other));
        QCOMPARE(in_unit_shown("20", "16\u2009MB, 17\u2009MB", "B"), QString("20"));
        QCOMPARE(in_unit_shown("20", "4", "samples"), QString("20"));
        QCOMPARE(short_text("58\u2009ms", "s"), QString("58\u2009ms"));
        QCOMPARE(short_text("fast", "B/s"), QString("fast"));
        QCOMPARE(to_field(0.02, seconds), QString("20\u2009ms"));
        QCOMPARE(to_field(0.058, seconds), QString("58\u2009ms"));  // 58 to the bit, though 1000 x 0.058 is not
        QCOMPARE(to_field(90.0, seconds), QString("90\u2009s"));
        QCOMPARE(to_field(2e-5, seconds), QString("20\u2009\u00B5s"));
        for (const double value : {0.0, 0.058, 1.0 / 3, 1e-12, 123.456, 0.0001234})
            QCOMPARE(read(to_field(value, seconds).toUtf8().constData(), seconds), value);
        for (const double value :
             {1.0, 999.0, 1e3, 37.5e6, 4e9, 1.23456e12, 1e15, 0.3, 17'563'648.0, 1e9 / 3, 123456789.0123})
            QCOMPARE(read(to_field(value, bandwidth).toUtf8().constData(), bandwidth), value);
    }
};

QTEST_MAIN(TestDocument)
#include "test_document.moc"
