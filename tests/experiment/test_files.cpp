// SPDX-License-Identifier: GPL-3.0-or-later
#include <QTemporaryDir>
#include <QTest>

#include <array>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/experiment/io.h"
#include "tests/experiment/samples.h"

using namespace skippipe;
namespace fs = std::filesystem;

class TestFiles : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void init() { QVERIFY(folder_.isValid()); }

    void writing_replaces_the_whole_file_and_leaves_nothing_behind() {
        const fs::path path = at("a.json");
        write_file_atomically(path, std::string(100'000, 'x'));
        fs::permissions(path, fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read);
        write_file_atomically(path, "new\n");
        QCOMPARE(samples::text_of(path), std::string("new\n"));
        QCOMPARE(entries(), 1);
        QVERIFY(fs::status(path).permissions() ==
                (fs::perms::owner_read | fs::perms::owner_write | fs::perms::group_read));
    }

    void a_link_stays_a_link() {
        const fs::path path = at("real.json"), link = at("link.json");
        write_file_atomically(path, "old");
        fs::create_symlink(path, link);
        write_file_atomically(link, "new");
        QVERIFY(fs::is_symlink(link));
        QCOMPARE(samples::text_of(path), std::string("new"));
    }

    void devices_and_pipes_stay_what_they_are() {
        const fs::path pipe = at("pipe");
        QCOMPARE(::mkfifo(pipe.c_str(), 0600), 0);
        const int reader = ::open(pipe.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        QVERIFY(reader >= 0);
        const int before = entries();
        write_file_atomically(pipe, "through");
        std::array<char, 16> text{};
        QCOMPARE(::read(reader, text.data(), text.size()), ssize_t{7});
        QCOMPARE(std::string(text.data()), std::string("through"));
        QVERIFY(fs::is_fifo(pipe));
        write_file_atomically("/proc/self/fd/" + std::to_string(::open(pipe.c_str(), O_WRONLY | O_CLOEXEC)), "linked");
        QCOMPARE(::read(reader, text.data(), text.size()), ssize_t{6});
        ::close(reader);
        QVERIFY_EXCEPTION_THROWN(write_file_atomically("/dev/full", "x"), InputError);
        QVERIFY(fs::is_character_file("/dev/full"));
        QCOMPARE(entries(), before);
    }

    void a_link_to_itself_is_refused() {
        const fs::path link = at("circle.json");
        fs::create_symlink(link, link);
        QVERIFY_EXCEPTION_THROWN(write_file_atomically(link, "x"), InputError);
        QVERIFY(fs::is_symlink(link));
    }

    void a_failed_write_harms_nothing() {
        QVERIFY_EXCEPTION_THROWN(write_file_atomically(at("missing/a.json"), "x"), InputError);
        const fs::path path = at("folder");
        fs::create_directory(path);
        write_file_atomically(path / "inside", "kept");
        const int before = entries();
        QVERIFY_EXCEPTION_THROWN(write_file_atomically(path, "x"), InputError);
        QCOMPARE(samples::text_of(path / "inside"), std::string("kept"));
        QCOMPARE(entries(), before);
    }

    void unreadable_files_are_faults() {
        for (const auto& path : {at("nothing.json"), fs::path(folder_.path().toStdString())}) {
            Faults faults;
            QVERIFY(read_file(path, faults).empty());
            QCOMPARE(faults.size(), std::size_t{1});
            QCOMPARE(faults[0].pointer, path.string());
        }
        Faults faults;
        write_file_atomically(at("large"), std::string(2000, 'x'));
        QVERIFY(read_file(at("large"), faults, {.bytes = 1999}).empty());
        QCOMPARE(faults.size(), std::size_t{1});
        faults.clear();
        QCOMPARE(read_file(at("large"), faults, {.bytes = 2000}).size(), std::size_t{2000});
        QVERIFY(faults.empty());
    }

private:
    fs::path at(const char* name) const { return fs::path(folder_.path().toStdString()) / name; }
    int entries() const {
        return static_cast<int>(
            std::distance(fs::directory_iterator(folder_.path().toStdString()), fs::directory_iterator()));
    }

    QTemporaryDir folder_;
};

QTEST_APPLESS_MAIN(TestFiles)
#include "test_files.moc"
