// SPDX-License-Identifier: GPL-3.0-or-later
#include <QtTest>

#include <csignal>
#include <system_error>

#include <sys/wait.h>
#include <unistd.h>

#include "core/base/subprocess.h"

using namespace skippipe;
using Stream = Subprocess::Stream;
using Read = Subprocess::Read;

namespace {

Subprocess::Options shell(const std::string& script) {
    return {.arguments = {"/bin/sh", "-c", script}, .input = Stream::pipe};
}

std::string line_of(Subprocess& process) {
    std::string line;
    return process.read_line(line, 10) == Read::data ? line : "(none)";
}

}  // namespace

class TestSubprocess : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void talks_both_ways_line_by_line() {
        Subprocess process(shell("while read a; do echo \"got $a\"; echo -n par; echo t; done; echo end; exit 3"));
        QVERIFY(process.write("one\n"));
        QCOMPARE(line_of(process), "got one");
        QCOMPARE(line_of(process), "part");
        std::string line;
        QVERIFY(process.read_line(line, 0.05) == Read::timeout);
        QVERIFY(process.running());
        QVERIFY(process.write("two\n"));
        process.close_input();
        QCOMPARE(line_of(process), "got two");
        QCOMPARE(line_of(process), "part");
        QCOMPARE(line_of(process), "end");
        QVERIFY(process.read_line(line, 10) == Read::closed);
        QCOMPARE(process.wait().code, 3);
        QVERIFY(!process.running());
        QCOMPARE(process.wait().describe(), "exited with 3");
        QVERIFY(!process.write("three\n"));
    }

    void long_lines_and_what_is_left() {
        Subprocess process(shell("head -c 300000 /dev/zero | tr '\\0' x; echo; echo -n rest"));
        QCOMPARE(line_of(process).size(), std::size_t{300'000});
        std::string rest;
        while (process.read(rest, 10) == Read::data) {}
        QCOMPARE(rest, "rest");
        QVERIFY(process.wait().well());
    }

    void environment_is_added_to() {
        ::setenv("SUBPROCESS_KEPT", "kept", 1);
        ::setenv("SUBPROCESS_CHANGED", "old", 1);
        auto options = shell("echo $SUBPROCESS_KEPT $SUBPROCESS_CHANGED $SUBPROCESS_NEW");
        options.environment = {"SUBPROCESS_CHANGED=changed", "SUBPROCESS_NEW=new"};
        Subprocess process(options);
        QCOMPARE(line_of(process), "kept changed new");
    }

    void a_missing_program_is_told() {
        try {
            Subprocess process({.arguments = {"/no/such/program"}});
            QFAIL("it started");
        } catch (const std::system_error& error) {
            QCOMPARE(error.code().value(), ENOENT);
            QVERIFY(QByteArray(error.what()).contains("/no/such/program"));
        }
    }

    void ends_are_described() {
        Subprocess process(shell("kill -9 $$"));
        QCOMPARE(process.wait().signal, SIGKILL);
        QVERIFY(QByteArray(process.wait().describe().c_str()).startsWith("was killed by signal 9"));
    }

    void patience_has_an_end() {
        Subprocess stopped(shell("echo here; kill -STOP $$; echo later"));
        QCOMPARE(line_of(stopped), "here");
        QCOMPARE(stopped.wait_at_most(0.05).signal, SIGKILL);
        Subprocess prompt(shell("exit 3"));
        QCOMPARE(prompt.wait_at_most(60).code, 3);
    }

    void its_own_group_ends_as_one() {
        auto options = shell("sleep 100 & echo $!; wait");
        options.own_group = true;
        Subprocess process(options);
        const auto grandchild = static_cast<pid_t>(std::stol(line_of(process)));
        QCOMPARE(::getpgid(process.pid()), process.pid());
        QCOMPARE(::getpgid(grandchild), process.pid());
        process.signal(SIGKILL);
        QCOMPARE(process.wait().signal, SIGKILL);
        std::string line;
        QVERIFY(process.read_line(line, 10) == Read::closed);  // the grandchild held the pipe too
    }

    void ignores_what_it_is_told_to_ignore() {
        auto options = shell("echo ready; read a; echo alive");
        options.ignored = {SIGTERM};
        Subprocess process(options);
        QCOMPARE(line_of(process), "ready");
        process.signal(SIGTERM);
        QVERIFY(process.write("\n"));
        QCOMPARE(line_of(process), "alive");
    }

    void dies_with_its_parent() {
        int ends[2];
        QVERIFY(::pipe(ends) == 0);
        const pid_t parent = ::fork();
        if (parent == 0) {
            ::close(ends[0]);
            auto* process = new Subprocess({.arguments = {"/bin/sleep", "100"}, .output = Stream::inherit});
            const pid_t pid = process->pid();
            if (::write(ends[1], &pid, sizeof pid) != sizeof pid) ::_exit(1);
            ::kill(::getpid(), SIGKILL);  // no destructor runs
        }
        ::close(ends[1]);
        pid_t child = -1;
        QVERIFY(::read(ends[0], &child, sizeof child) == sizeof child);
        ::close(ends[0]);
        ::waitpid(parent, nullptr, 0);
        const auto gone = [&] {
            QFile status(QString("/proc/%1/stat").arg(child));  // gone, or a zombie where nobody adopts it
            return !status.open(QIODevice::ReadOnly) || status.readAll().contains(") Z ");
        };
        QTRY_VERIFY(gone());
    }

    void is_killed_when_it_is_dropped() {
        pid_t pid = -1;
        {
            Subprocess process({.arguments = {"/bin/sleep", "100"}});
            pid = process.pid();
        }
        QVERIFY(::kill(pid, 0) != 0 && errno == ESRCH);
    }

    void output_of_a_whole_program() {
        const auto fine = run_process({"/bin/sh", "-c", "echo text; echo noise >&2"}, 10, 1000);
        QVERIFY(fine.started && fine.exit_code == 0 && fine.text == "text\n");
        QVERIFY(!run_process({"/no/such/program"}, 10, 1000).started);
        const auto slow = run_process({"/bin/sleep", "100"}, 0.05, 1000);
        QVERIFY(slow.timed_out && slow.exit_code == -1);
        const auto talker = run_process({"/bin/sh", "-c", "while :; do echo text; done"}, 10, 1000);
        QVERIFY(talker.too_long && !talker.timed_out);
    }
};

QTEST_GUILESS_MAIN(TestSubprocess)
#include "test_subprocess.moc"
