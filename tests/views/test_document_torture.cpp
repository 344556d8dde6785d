// SPDX-License-Identifier: GPL-3.0-or-later
// Work is never lost: a thousand random edits come undone to the byte, a save that is killed leaves a whole file, and
// files that are not what they should be open with their faults named.
#include <csignal>
#include <ctime>

#include <sys/wait.h>
#include <unistd.h>

#include <QTemporaryDir>
#include <QtTest>

#include "core/base/rng.h"
#include "core/experiment/io.h"
#include "views/document/document.h"
#include "views/topology/edits.h"
#include "views/topology/failure_edits.h"
#include "views/topology/layouts.h"

using namespace skippipe;

namespace {

const std::filesystem::path experiments = SKIPPIPE_SOURCE_DIR "/resources/experiments";

std::string text_of_file(const std::filesystem::path& file) {
    Faults faults;
    std::string text = read_file(file, faults);
    return has_errors(faults) ? std::string{} : text;
}

/// Nodes, regions and links drawn by chance, as a rubber band would select them.
Selection some_of(const Experiment& e, Rng& rng, std::uint64_t most) {
    Selection s;
    const auto& t = e.topology;
    for (std::uint64_t i = 0; i < 1 + rng.below(most); ++i) {
        if (!t.nodes.empty()) s.nodes.insert(t.nodes[rng.below(t.nodes.size())].id);
        if (!t.regions.empty() && rng.below(3) == 0) s.regions.insert(t.regions[rng.below(t.regions.size())].id);
        if (!t.links.empty() && rng.below(3) == 0) {
            const auto& link = t.links[rng.below(t.links.size())];
            s.links.insert({link.from, link.to});
        }
    }
    return s;
}

/// One edit as the window makes it.
void edit_by_chance(Experiment& e, Rng& rng, int number) {
    auto& t = e.topology;
    const Point at{std::round(1000 * rng.uniform()), std::round(600 * rng.uniform())};
    const auto any_node = [&] { return t.nodes.empty() ? std::string{} : t.nodes[rng.below(t.nodes.size())].id; };
    switch (rng.below(14)) {
        case 0: add_node(e, at, t.regions.empty() ? "" : t.regions[rng.below(t.regions.size())].id); break;
        case 1: add_region(e, at); break;
        case 2: add_link(e, any_node(), any_node()); break;
        case 3: remove_selected(e, some_of(e, rng, 1)); break;
        case 4:
            if (!t.nodes.empty()) rename(e, any_node(), "renamed-" + std::to_string(number));
            break;
        case 5: paste_text(e, copy_text(e, some_of(e, rng, 2)), {40, 40}); break;
        case 6: {
            const auto id = any_node();
            if (!id.empty()) move_nodes(e, {{id, at}});
            break;
        }
        case 7: e.pipeline.skip_ratio = rng.uniform(); break;
        case 8: e.pipeline.stages = 1 + static_cast<int>(rng.below(9)); break;
        case 9: link_all(e, some_of(e, rng, 4)); break;
        case 10:
            if (!t.nodes.empty()) e.failures.push_back(new_failure(e, FailureKind::crash, any_node(), 1));
            break;
        case 11:
            if (!e.failures.empty()) remove_failure(e, rng.below(e.failures.size()));
            break;
        case 12: keep_places(e); break;
        default: e.seed = rng.next() >> 12;
    }
}

/// A file that is not what it should be: cut, bent, of other types, too deep, no text at all.
std::string make_hostile(std::string text, Rng& rng, int kind) {
    const auto place = [&] { return rng.below(text.size()); };
    const auto swap_all = [&](std::string_view what, std::string_view by) {
        for (std::size_t at = 0; (at = text.find(what, at)) != std::string::npos; at += by.size())
            text.replace(at, what.size(), by);
    };
    switch (kind % 12) {
        case 0: return text.substr(0, place());
        case 1: text[place()] = static_cast<char>(rng.below(256)); return "{" + text;
        case 2: swap_all("\"nodes\"", "\"nodez\""); break;
        case 3: swap_all("\"latency_s\": 0", "\"latency_s\": -1e999"); break;
        case 4: return std::string(20'000, '[') + text;
        case 5: swap_all("\"region\": \"", "\"region\": \"\\u0000"); break;
        case 6: swap_all("\"id\": \"n", "\"id\": \"same\", \"was\": \"n"); break;
        case 7: swap_all("\"stages\": ", "\"stages\": [[[\"six\"]]], \"stages\": -99999999999"); break;
        case 8:
            for (auto& letter : text) letter = static_cast<char>(rng.below(256));
            break;
        case 9: swap_all("\"format\": 1", "\"format\": " + std::to_string(2 + rng.below(1'000))); break;
        case 10: {
            const auto from = place();
            text.erase(from, std::min<std::size_t>(1 + rng.below(200), text.size() - from));
            return text + text;
        }
        default: return {};
    }
    return text;
}

}  // namespace

class TestDocumentTorture : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void a_thousand_random_edits_come_undone_to_the_byte() {
        constexpr int edits = 1000;
        Document document;
        document.open(read_document(experiments / "quick-start.json"));
        const std::string first = to_text(document.experiment());
        Rng rng(19);
        for (int i = 0; i < edits; ++i)
            document.edit("Edit", [&](Experiment& e) {
                edit_by_chance(e, rng, i);
                // What grows without end would test the machine and not the window.
                while (e.topology.nodes.size() > 60) remove_selected(e, {.nodes = {e.topology.nodes.back().id}});
            });
        const int commands = document.undo_stack().count();
        QVERIFY2(commands > edits / 2, qPrintable(QString::number(commands)));
        const std::string last = to_text(document.experiment());
        QVERIFY(last != first);
        while (document.undo_stack().canUndo()) document.undo_stack().undo();
        QVERIFY2(to_text(document.experiment()) == first, "all undone");
        QVERIFY(!document.is_modified());
        while (document.undo_stack().canRedo()) document.undo_stack().redo();
        QVERIFY2(to_text(document.experiment()) == last, "all done again");
    }

    void a_killed_save_leaves_a_whole_file() {
        constexpr int kills = 100;
        QTemporaryDir folder;
        const std::filesystem::path file = folder.filePath("saved.json").toStdString();
        Experiment e = load_experiment(experiments / "authors-42.json").experiment;
        write_file_atomically(file, to_text(e));
        Rng rng(7);
        std::set<std::string> names;
        for (int kill = 0; kill < kills; ++kill) {
            int saved[2];
            QCOMPARE(::pipe(saved), 0);
            const pid_t child = ::fork();
            QVERIFY(child >= 0);
            if (child == 0) {
                Document document;
                document.start_new(e);
                for (int i = 0;; ++i) {
                    document.edit("Name",
                                  [&](Experiment& x) { x.name = std::to_string(kill) + "/" + std::to_string(i); });
                    document.save(file);
                    if (i == 0 && ::write(saved[1], "1", 1) != 1) ::_exit(1);
                }
            }
            // One save at least; the kill falls into one of those after it.
            ::close(saved[1]);
            char first = 0;
            QCOMPARE(::read(saved[0], &first, 1), ssize_t{1});
            ::close(saved[0]);
            const timespec moment{0, static_cast<long>(rng.below(8'000'000))};
            ::nanosleep(&moment, nullptr);
            QCOMPARE(::kill(child, SIGKILL), 0);
            QCOMPARE(::waitpid(child, nullptr, 0), child);
            const std::string text = text_of_file(file);
            const auto parsed = parse_experiment(text);
            QVERIFY2(parsed.faults.empty() && to_text(parsed.experiment) == text, "whole, and nothing but it");
            names.insert(parsed.experiment.name);
        }
        QCOMPARE(static_cast<int>(names.size()), kills);
    }

    void two_hundred_hostile_files_open_with_their_faults() {
        constexpr int files = 204;
        QTemporaryDir folder;
        const std::string quick = text_of_file(experiments / "quick-start.json");
        Rng rng(204);
        int named = 0, refused = 0;
        for (int i = 0; i < files; ++i) {
            const std::filesystem::path file = folder.filePath(QString("%1.json").arg(i)).toStdString();
            const std::string text = make_hostile(quick, rng, i);
            write_file_atomically(file, text);
            const auto begin = std::clock();
            Document document;
            try {
                document.open(read_document(file));
                named += has_errors(document.faults());
                QVERIFY2(has_errors(document.faults()), qPrintable(QString::number(i)));
                for (const auto& fault : document.faults())
                    QVERIFY2(!fault.what.empty(), "each fault says what is wrong");
            } catch (const InputError& error) {
                ++refused;
                QVERIFY(!std::string(error.what()).empty());
            }
            QCOMPARE(text_of_file(file), text);
            QVERIFY2(std::clock() - begin < CLOCKS_PER_SEC, "each in less than a second of work");
        }
        QCOMPARE(named + refused, files);
        QVERIFY2(named > files / 2, qPrintable(QString::number(named)));
    }
};

QTEST_GUILESS_MAIN(TestDocumentTorture)
#include "test_document_torture.moc"
