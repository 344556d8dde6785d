// SPDX-License-Identifier: GPL-3.0-or-later
// Which rank this is, by the variables of each launcher. Values as torchrun, Slurm 22.05 and Open MPI 4.1 set them.
#include <QTest>

#include <map>
#include <set>

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>

#include "core/base/fault.h"
#include "core/engine/launch.h"

using namespace skippipe;

namespace {

using Variables = std::map<std::string, std::string>;

std::optional<LaunchEnvironment> launch_of(const Variables& variables) {
    return launch_environment([&](const char* name) {
        const auto found = variables.find(name);
        return found == variables.end() ? std::optional<std::string>() : found->second;
    });
}

Variables with(Variables variables, const Variables& changes) {
    for (const auto& [name, value] : changes) variables[name] = value;
    return variables;
}

Variables without(Variables variables, const std::string& name) {
    variables.erase(name);
    return variables;
}

const Variables torchrun{{"RANK", "3"},
                         {"WORLD_SIZE", "4"},
                         {"LOCAL_RANK", "1"},
                         {"LOCAL_WORLD_SIZE", "2"},
                         {"MASTER_ADDR", "first.example"},
                         {"MASTER_PORT", "29400"},
                         {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
const Variables slurm{
    {"SLURM_PROCID", "3"},  {"SLURM_STEP_NUM_TASKS", "4"},         {"SLURM_NTASKS", "2"},
    {"SLURM_LOCALID", "1"}, {"SLURM_STEP_NUM_NODES", "2"},         {"SLURM_JOB_ID", "17"},
    {"SLURM_STEP_ID", "0"}, {"SLURM_STEP_NODELIST", "gpu[03-04]"}, {"SLURM_LAUNCH_NODE_IPADDR", "192.0.2.9"}};
const Variables open_mpi{{"OMPI_COMM_WORLD_RANK", "1"},
                         {"OMPI_COMM_WORLD_SIZE", "2"},
                         {"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
                         {"OMPI_COMM_WORLD_LOCAL_SIZE", "2"},
                         {"PMIX_NAMESPACE", "309657601"}};

/// The variable that is found at fault; empty where none is.
QString fault_of(const Variables& variables) {
    try {
        launch_of(variables);
        return {};
    } catch (const InputError& error) {
        const auto& fault = error.faults().front();
        return fault.what.empty() || fault.why.empty() || fault.remedy.empty() ? QStringLiteral("incomplete")
                                                                               : QString::fromStdString(fault.pointer);
    }
}

}  // namespace

class TestLaunch : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void without_a_launcher_there_is_nothing() {
        QVERIFY(!launch_of({}));
        QVERIFY(!launch_of({{"MASTER_ADDR", "first"}, {"MASTER_PORT", "1"}, {"SLURM_JOB_ID", "17"}}));
        QVERIFY(!launch_of({{"RANK", ""}, {"WORLD_SIZE", ""}}));  // set to nothing is not set
    }

    /// The token is handed over, or the job's number fixes one, the same on every rank.
    void every_run_has_a_token() {
        const std::string handed_over = "0123456789abcdef0123456789ABCDEF";
        for (const auto& launcher : {torchrun, slurm, open_mpi}) {
            const auto given = launch_of(with(launcher, {{"SKIPPIPE_TOKEN", handed_over}}));
            QCOMPARE(given->token, handed_over);
            QVERIFY(!given->token_is_derived);
            const auto derived = launch_of(launcher);
            QVERIFY(derived->token_is_derived);
            QCOMPARE(derived->token.size(), std::size_t{32});
        }
        QCOMPARE(launch_of(slurm)->token, launch_of(with(slurm, {{"SLURM_PROCID", "1"}}))->token);
        QVERIFY(launch_of(slurm)->token != launch_of(with(slurm, {{"SLURM_JOB_ID", "18"}}))->token);
        for (const char* bad : {"short", "with a blank in its middle", "with/slashes/in/its/middle"})
            QCOMPARE(fault_of(with(torchrun, {{"SKIPPIPE_TOKEN", bad}})), QStringLiteral("SKIPPIPE_TOKEN"));
        QCOMPARE(make_token().size(), std::size_t{32});
        QVERIFY(make_token() != make_token());
    }

    void torchrun_says_everything() {
        const auto launch = launch_of(torchrun);
        QVERIFY(launch);
        QCOMPARE(launch->rank, 3);
        QCOMPARE(launch->world_size, 4);
        QCOMPARE(launch->local_rank, 1);
        QCOMPARE(launch->local_world_size, 2);
        QCOMPARE(launch->master_address, std::string("first.example"));
        QCOMPARE(launch->master_port, 29400);
        QVERIFY(launch->agent_store);
        QCOMPARE(launch->launcher, std::string("torchrun"));
        QVERIFY(!launch_of(with(torchrun, {{"TORCHELASTIC_USE_AGENT_STORE", "False"}}))->agent_store);
    }

    void kubernetes_says_it_with_pet() {
        const auto plain = without(without(torchrun, "MASTER_ADDR"), "MASTER_PORT");
        const auto launch = launch_of(with(plain, {{"PET_MASTER_ADDR", "job-0.job"}, {"PET_MASTER_PORT", "23456"}}));
        QCOMPARE(launch->master_address, std::string("job-0.job"));
        QCOMPARE(launch->master_port, 23456);
        QCOMPARE(launch_of(with(torchrun, {{"PET_MASTER_ADDR", "other"}}))->master_address,
                 std::string("first.example"));
    }

    void ranks_by_hand_share_a_host_where_the_first_is_at_loopback() {
        const Variables two{{"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_PORT", "29400"}};
        for (const char* address : {"127.0.0.1", "127.0.1.1", "localhost", "::1"})
            QCOMPARE(launch_of(with(two, {{"MASTER_ADDR", address}}))->local_world_size, 2);
        QCOMPARE(launch_of(with(two, {{"MASTER_ADDR", "192.0.2.1"}}))->local_world_size, 1);
    }

    void slurm_puts_rank_0_on_the_first_host() {
        const auto launch = launch_of(slurm);
        QVERIFY(launch);
        QCOMPARE(launch->rank, 3);
        QCOMPARE(launch->world_size, 4);
        QCOMPARE(launch->local_rank, 1);
        QCOMPARE(launch->local_world_size, 2);
        QCOMPARE(launch->master_address, std::string("gpu03"));
        QVERIFY(!launch->agent_store);
        QCOMPARE(launch->launcher, std::string("slurm"));
        QCOMPARE(launch_of(with(slurm, {{"SLURM_STEP_NUM_NODES", "1"}}))->master_address, std::string("127.0.0.1"));
        const auto told = launch_of(with(slurm, {{"MASTER_ADDR", "192.0.2.1"}, {"MASTER_PORT", "29400"}}));
        QCOMPARE(told->master_address, std::string("192.0.2.1"));
        QCOMPARE(told->master_port, 29400);
        // A batch script has variables of its job, but is no rank.
        QVERIFY(!launch_of(without(slurm, "SLURM_STEP_ID")));
        QVERIFY(!launch_of(without(slurm, "SLURM_PROCID")));
    }

    /// As many as Slurm says of each host, in its short way: "2(x3)" are three hosts with two.
    void slurm_deals_ranks_out_unevenly_data() {
        QTest::addColumn<QString>("tasks");
        QTest::addColumn<QString>("node");
        QTest::addColumn<QString>("local");
        QTest::addColumn<int>("here");
        const auto row = [](const char* tasks, const char* node, const char* local, int here) {
            QTest::addRow("%s on %s", tasks, node) << tasks << node << local << here;
        };
        row("4,1", "0", "3", 4);
        row("4,1", "1", "0", 1);
        row("2(x2),1", "0", "1", 2);
        row("2(x2),1", "1", "1", 2);
        row("2(x2),1", "2", "0", 1);
        row("1,4", "", "3", 4);  // which host this is is not known
        row("", "0", "3", 4);
        row("nonsense", "0", "3", 4);
        row("4,1", "7", "3", 4);
    }
    void slurm_deals_ranks_out_unevenly() {
        QFETCH(QString, tasks);
        QFETCH(QString, node);
        QFETCH(QString, local);
        QFETCH(int, here);
        const auto launch = launch_of(with(slurm, {{"SLURM_STEP_NUM_TASKS", "5"},
                                                   {"SLURM_STEP_TASKS_PER_NODE", tasks.toStdString()},
                                                   {"SLURM_NODEID", node.toStdString()},
                                                   {"SLURM_LOCALID", local.toStdString()}}));
        QCOMPARE(launch->local_world_size, here);
        QVERIFY(!launch->one_host());
    }

    void slurm_host_lists_data() {
        QTest::addColumn<QString>("list");
        QTest::addColumn<QString>("first");
        const auto row = [](const char* list, const char* first) { QTest::newRow(list) << list << first; };
        row("alpha,beta", "alpha");
        row("alpha", "alpha");
        row("n[1,3-5],m", "n1");
        row("n[007-009]", "n007");
        row("rack[2-3]-n[04-05]", "rack2-n04");
        row("n[1-2].site.example,m", "n1.site.example");
        row("r[0-1]n[0,2]", "r0n0");
        row("r[0-1]n[1,3].site,m", "r0n1.site");
    }
    void slurm_host_lists() {
        QFETCH(QString, list);
        QFETCH(QString, first);
        QCOMPARE(launch_of(with(slurm, {{"SLURM_STEP_NODELIST", list.toStdString()}}))->master_address,
                 first.toStdString());
    }

    void open_mpi_says_it_in_its_own_words() {
        const auto launch = launch_of(open_mpi);
        QVERIFY(launch);
        QCOMPARE(launch->rank, 1);
        QCOMPARE(launch->world_size, 2);
        QCOMPARE(launch->local_rank, 1);
        QCOMPARE(launch->local_world_size, 2);
        QCOMPARE(launch->master_address, std::string("127.0.0.1"));
        QCOMPARE(launch->launcher, std::string("mpi"));
        const auto hosts = with(
            open_mpi,
            {{"OMPI_COMM_WORLD_LOCAL_SIZE", "1"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "0"}, {"MASTER_ADDR", "192.0.2.1"}});
        QCOMPARE(launch_of(hosts)->master_address, std::string("192.0.2.1"));
        QCOMPARE(fault_of(without(hosts, "MASTER_ADDR")), QStringLiteral("MASTER_ADDR"));
    }

    void the_innermost_launcher_counts() {
        // mpirun in a Slurm job: srun starts mpirun's helper on each host, whose rank is not ours.
        QCOMPARE(launch_of(with(slurm, open_mpi))->launcher, std::string("mpi"));
        QCOMPARE(launch_of(with(slurm, torchrun))->launcher, std::string("torchrun"));
    }

    void every_rank_of_a_job_finds_the_same_port() {
        std::set<int> ports;
        for (int rank = 0; rank < 4; ++rank) {
            const auto text = std::to_string(rank);
            ports.insert(launch_of(with(slurm, {{"SLURM_PROCID", text}, {"SLURM_LOCALID", std::to_string(rank % 2)}}))
                             ->master_port);
        }
        QCOMPARE(ports.size(), std::size_t(1));
        QVERIFY(*ports.begin() >= 20000 && *ports.begin() < 30000);
        const int first = launch_of(with(open_mpi, {{"OMPI_COMM_WORLD_RANK", "0"}}))->master_port;
        QCOMPARE(launch_of(open_mpi)->master_port, first);
        QVERIFY(launch_of(with(open_mpi, {{"PMIX_NAMESPACE", "309657602"}}))->master_port != first);
        QVERIFY(launch_of(with(slurm, {{"SLURM_STEP_ID", "1"}}))->master_port != *ports.begin());
        QVERIFY(launch_of(with(slurm, {{"SLURM_CLUSTER_NAME", "other"}}))->master_port != *ports.begin());
    }

    void this_host_under_a_loopback_name_has_no_address() {
        for (const char* host : {"localhost", "127.0.0.1", "127.0.1.1", "::1", "no-such-host.invalid"})
            QCOMPARE(address_towards(host), std::string());
    }

    void the_route_says_which_address_is_ours() {
        ifaddrs* list = nullptr;
        QCOMPARE(::getifaddrs(&list), 0);
        int tried = 0;
        for (const ifaddrs* entry = list; entry; entry = entry->ifa_next) {
            if (!entry->ifa_addr || entry->ifa_addr->sa_family != AF_INET || !(entry->ifa_flags & IFF_UP) ||
                (entry->ifa_flags & IFF_LOOPBACK))
                continue;
            char text[INET_ADDRSTRLEN] = "";
            ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(entry->ifa_addr)->sin_addr, text, sizeof text);
            QCOMPARE(address_towards(text), std::string(text));
            ++tried;
        }
        ::freeifaddrs(list);
        if (tried == 0) QSKIP("this machine has no network but loopback");
    }

    void an_interface_has_its_address() {
        QCOMPARE(address_of_interface("lo"), std::string("127.0.0.1"));
        QVERIFY_EXCEPTION_THROWN(address_of_interface("no-such-card"), std::runtime_error);
    }

    void faults_name_the_variable_data() {
        QTest::addColumn<QString>("base");
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("value");
        QTest::addColumn<QString>("blamed");
        const auto row = [](const char* base, const char* name, const char* value, const char* blamed = "") {
            QTest::addRow("%s %s=%s", base, name, value) << base << name << value << (*blamed ? blamed : name);
        };
        row("torchrun", "RANK", "4");
        row("torchrun", "RANK", "-1");
        row("torchrun", "RANK", "one");
        row("torchrun", "RANK", "1 ");
        row("torchrun", "RANK", "99999999999");
        row("torchrun", "RANK", "");
        row("torchrun", "WORLD_SIZE", "0");
        row("torchrun", "WORLD_SIZE", "1e3");
        row("torchrun", "WORLD_SIZE", "");
        row("torchrun", "WORLD_SIZE", "3", "RANK");
        row("torchrun", "LOCAL_RANK", "2");
        row("torchrun", "LOCAL_RANK", "x");
        row("torchrun", "LOCAL_WORLD_SIZE", "5");
        row("torchrun", "MASTER_PORT", "65536");
        row("torchrun", "MASTER_PORT", "0");
        row("torchrun", "MASTER_PORT", "");
        row("torchrun", "MASTER_ADDR", "");
        row("slurm", "SLURM_PROCID", "4", "RANK");
        row("slurm", "SLURM_STEP_NUM_TASKS", "many");
        row("slurm", "SLURM_STEP_NODELIST", "", "MASTER_ADDR");
        row("slurm", "SLURM_STEP_NODELIST", "n[1", "MASTER_ADDR");
        row("mpi", "OMPI_COMM_WORLD_RANK", "2", "RANK");
        row("mpi", "OMPI_COMM_WORLD_SIZE", "-2");
    }
    void faults_name_the_variable() {
        QFETCH(QString, base);
        QFETCH(QString, name);
        QFETCH(QString, value);
        QFETCH(QString, blamed);
        const auto& variables = base == QStringLiteral("torchrun") ? torchrun
                                : base == QStringLiteral("slurm")  ? slurm
                                                                   : open_mpi;
        QCOMPARE(fault_of(variables), QString());
        QCOMPARE(fault_of(with(variables, {{name.toStdString(), value.toStdString()}})), blamed);
    }
};

QTEST_GUILESS_MAIN(TestLaunch)
#include "test_launch.moc"
