// SPDX-License-Identifier: GPL-3.0-or-later
// Whatever comes over the lines between coordinator, rank 0 and the other ranks is read or refused; nothing is believed
// that could harm. For long: SKIPPIPE_FUZZ_SECONDS=600, best in the build with sanitizers.
#include <QElapsedTimer>
#include <QTemporaryDir>
#include <QTest>
#include <QThread>

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "core/base/rng.h"
#include "core/engine/build_id.h"
#include "core/engine/moves.h"
#include "core/engine/regroup.h"
#include "core/engine/rest.h"
#include "core/engine/stage_copies.h"
#include "core/engine/state_transfer.h"
#include "core/experiment/io.h"
#include "core/run/coordinator.h"
#include "core/run/session_reports.h"
#include "core/run/span_text.h"
#include "plugins/planners/all.h"

using namespace skippipe;
using namespace std::string_literals;
using nlohmann::json;

namespace {

std::vector<protocol::Message> one_of_each(const std::string& plan_json) {
    const Span span{SpanKind::forward, 1, -1, 1, 2, 0, 0.5, 1.5, 0};
    RecoveryReport recovery{.nodes = {1}, .lost_s = 0.5, .detected_s = 0.7, .changes = {"microbatch 1: n1 -> n2"}};
    recovery.links = {"n0->n1"};
    RegroupReport regrouped{.iterations_done = 1, .lost = {1}, .joined = {2}, .how = "its connection broke"};
    regrouped.plan_json = plan_json;
    const DeviceReport devices{{{"host", "cuda:0", "Card", "GPU-a", {1}, 2, {0.5, 50, 80, 300, 1e9, -1}}}, "no more"};
    return {protocol::Listening{4711},
            protocol::Preparing{"tokenising", 0.5},
            protocol::Hello{build_id(), "{}", 0, "none", {{"host", 2, 2}, {"host", 2, 2, {{1, 0}}}}},
            protocol::Validated{0, 0, 0, 0, {5.5, 8}},
            protocol::Iterated{0, 0, 1.5, 0.1, 64, {355, 64, 1.5, {64, 64}}, {span, span}, devices},
            protocol::Recovered{0, 0, recovery},
            protocol::Rejoined{0, 1.5, {{1, 0}, 0.25}},
            protocol::WentBack{{1, true, 20, 1, 64, {}}, 2, 5, "nodes were lost"},
            protocol::Regrouped{regrouped},
            protocol::PlanSwitched{1, plan_json, "planned anew"},
            protocol::SpeedsChanged{3, 0.1 + 0.2, "n5 takes 3 times as long"},
            protocol::Paused{true},
            protocol::Checkpointed{1, "/nowhere", 100, 0.1, 0.2},
            protocol::Warned{{"data", "what", "why", "remedy", Fault::Severity::warning}},
            protocol::Heartbeat{},
            protocol::Probed{{"{}"}},
            protocol::Evaluated{{1.5}, 64, 1, "none"},
            protocol::Done{false, 1 << 20, true},
            protocol::Failed{{{"a", "b", "c", "d"}}}};
}

std::string bytes_changed(std::string text, Rng& rng) {
    for (int changes = 1 + static_cast<int>(rng.below(4)); changes > 0 && !text.empty(); --changes) {
        const auto at = rng.below(text.size());
        if (rng.below(4) == 0)
            text.erase(at, 1 + rng.below(9));
        else
            text[at] = static_cast<char>(rng.below(2) == 0 ? rng.below(256) : 32 + rng.below(95));
    }
    return text;
}

/// A value somewhere in it becomes another one: of its type, but absurd, or of another type.
std::string value_changed(const std::string& text, Rng& rng) {
    const auto json_end = std::min(text.find('\t'), text.size());  // spans follow
    auto message = json::parse(text.substr(0, json_end));
    const auto places = message.flatten();
    auto place = places.begin();
    std::advance(place, static_cast<std::ptrdiff_t>(rng.below(places.size())));
    static const std::vector<json> numbers{-1, 0, 7, 1'000'000'000, -2'147'483'648LL, 1e300, -1e-300, 0.5},
        others{true, "text", "{\"}", "none", nullptr, json::array(), json::object()};
    const bool number = place.value().is_number() && rng.below(8) > 0;
    const auto& values = number ? numbers : others;
    if (place.key() == "/type") return text;
    message[json::json_pointer(place.key())] = values[rng.below(values.size())];
    return message.dump() + text.substr(json_end);
}

std::string changed(const std::string& text, Rng& rng) {
    return rng.below(2) == 0 ? bytes_changed(text, rng) : value_changed(text, rng);
}

/// Until the time that was asked for is over, at least once.
template <class Round>
void rounds(const Round& round) {
    const double seconds = qEnvironmentVariable("SKIPPIPE_FUZZ_SECONDS").toDouble();
    QElapsedTimer timer;
    timer.start();
    int rounds = 0;
    do round(Rng(static_cast<std::uint64_t>(++rounds)));
    while (static_cast<double>(timer.elapsed()) < 1000 * seconds / 3);
    if (seconds > 0) qInfo("%d rounds", rounds);
}

/// Says these lines, one after the other.
class Scripted final : public RankGroup {
public:
    explicit Scripted(std::vector<std::string> lines) : lines_(std::move(lines)) {}
    Read read(protocol::Message& message, double) override {
        if (next_ == lines_.size()) return Read::closed;
        message = protocol::decode(lines_[next_++]);
        return Read::message;
    }
    bool send(const protocol::Command&) override { return true; }
    std::optional<Fault> lost_rank() override { return std::nullopt; }
    std::string wait(double) override { return ""; }

private:
    std::vector<std::string> lines_;
    std::size_t next_ = 0;
};

/// Has said hello, and stands still until the run has taken its commands.
class Standing final : public RankGroup {
public:
    Standing(std::string hello, bool is_own) : hello_(std::move(hello)), is_own_(is_own) {}
    Read read(protocol::Message& message, double) override {
        if (++reads_ > 75) return Read::closed;
        if (reads_ > 1) {
            QThread::msleep(20);  // the record is looked at for commands several times a second
            return Read::timeout;
        }
        message = protocol::decode(hello_);
        return Read::message;
    }
    bool send(const protocol::Command& command) override {
        if (const auto* ended = std::get_if<protocol::EndRank>(&command)) ends.push_back(ended->rank);
        return true;
    }
    std::optional<Fault> lost_rank() override { return std::nullopt; }
    bool can_kill(int) const override { return is_own_; }
    void kill(int rank, double) override { kills.push_back(rank); }
    std::string wait(double) override { return ""; }

    std::vector<int> ends, kills;

private:
    std::string hello_;
    bool is_own_;
    int reads_ = 0;
};

/// Nobody listens.
class Nobody final : public CoordinatorLink {
public:
    void send(const protocol::Message&) override {}
};

}  // namespace

class TestMessages : public QObject {
    Q_OBJECT
    QTemporaryDir folder_;
    RunJob job_;

private Q_SLOTS:
    void initTestCase() {
        QVERIFY(folder_.isValid());
        job_.experiment =
            load_experiment(std::filesystem::path(SKIPPIPE_SOURCE_DIR) / "tests/data/tiny-training.json").experiment;
        job_.experiment.execution = {
            .clock = Clock::wall, .compute = Compute::cost, .transport = Transport::gloo, .ranks = 2};
        job_.problem = make_problem(job_.experiment);
        PlannerRegistry planners;
        register_planners(planners);
        job_.plan = planners.find("1f1b")->plan(job_.problem, {.steps = 10});
        job_.record = folder_.filePath("record.sqlite").toStdString();
        job_.base_dir = folder_.path().toStdString();
    }

    void they_come_back_as_they_were_sent() {
        for (const auto& message : one_of_each("{}")) {
            const auto text = protocol::encode(message);
            QCOMPARE(protocol::encode(protocol::decode(text)), text);
        }
        for (const protocol::Command& command :
             {protocol::Command(protocol::Stop{}), protocol::Command(protocol::SwitchPlan{"{}"}),
              protocol::Command(protocol::FailNode{3, 60}), protocol::Command(protocol::FailNode{3}),
              protocol::Command(protocol::Extend{500})}) {
            const auto text = protocol::encode(command);
            QCOMPARE(protocol::encode(protocol::decode_command(text)), text);
        }
    }

    void spans_come_back_to_the_last_bit() {
        const std::vector<Span> spans{
            {SpanKind::forward, 1, -1, 1, 2, 0, 1.0 / 3, 0.1 + 0.2, 0},
            {SpanKind::transfer_reduction, 19, 3, 0, -1, 5e-324, 1.7976931348623157e308, 1e-9, 123456789.5}};
        QVERIFY(protocol::read_spans(protocol::to_text(spans)) == spans);
        QVERIFY(protocol::read_spans("").empty());
        const auto text = protocol::to_text({spans.front()});
        for (const auto& wrong :
             {text.substr(0, text.size() - 1), text + "1 ", text.substr(2), "11" + text.substr(1),
              "-1" + text.substr(1), "0 1 -1 1 2 0 nan 1 0 "s, "0 1 -1 1 2 0 inf 1 0 "s, "0 1 -1 1 2 0 1e999 1 0 "s,
              "0 1 99999999999 1 2 0 1 1 0 "s, "0 1 -1 1 2  0 1 1 0 "s, "0 1.5 -1 1 2 0 1 1 0 "s, " " + text})
            QVERIFY_EXCEPTION_THROWN(protocol::read_spans(wrong), std::out_of_range);
    }

    /// Read, and then it says the same again, or refused by an InputError or a PeerFault.
    void changed_lines() {
        std::vector<std::string> messages;
        for (const auto& message : one_of_each("{}")) messages.push_back(protocol::encode(message));
        const auto command = protocol::encode(protocol::Command(protocol::FailNode{3, 60}));
        const auto job = protocol::encode(worker_job(job_));
        const auto position =
            to_text(RankPosition{.iterations_done = 3, .commit = {{1, 2, 3, 4}, {5, 6, 7, 8}}, .switches = 2});
        const auto moves = to_text(std::vector<NodeMove>{{1, 1, 3}, {2, -1, -1}});
        const auto agreement = to_text(Agreement{.iterations_done = 3,
                                                 .commit = {{1, 2}},
                                                 .joined = {1},
                                                 .validation_due = true,
                                                 .validated_at = 2,
                                                 .committed_at = 2,
                                                 .plan_json = "{}",
                                                 .switches = 2,
                                                 .placement = "{}"});
        const RankProgress far{PerRelease<int>{3, 0, 2}, std::vector<char>(3 * 5, 0), {{1, 2, false, true}}};
        const auto progress = to_text(far);
        const DeviceReport gpus{{{"host", "cuda:0", "Card", "GPU-a", {1}, 2, {0.5, 50, 80, 300, 1e9, -1}}}, "no more"};
        const auto readings = to_json_text(gpus);
        const auto copies = to_text(std::vector<CopyHash>{{0, 1, 12345}, {1, 2, ~0ull}});
        int read = 0, refused = 0;
        rounds([&](Rng rng) {
            const auto attempt = [&](const auto& decode) {
                try {
                    decode();
                    ++read;
                } catch (const InputError&) {  // a PeerFault too
                    ++refused;
                }
            };
            for (int i = 0; i < 3'000; ++i) {
                const auto line = changed(messages[rng.below(messages.size())], rng);
                attempt([&] {
                    const auto text = protocol::encode(protocol::decode(line));
                    if (protocol::encode(protocol::decode(text)) != text) throw std::logic_error("it changes: " + line);
                });
                attempt([&] { protocol::decode_command(changed(command, rng)); });
                attempt([&] { agree({changed(position, rng), position}); });
                attempt([&] { read_agreement(changed(agreement, rng)); });
                attempt([&] {
                    const auto told = read_progress(changed(progress, rng), 1, 3, 2);
                    if (told.steps_done.size() != 3 || (!told.again.empty() && told.again.size() != 15))
                        throw std::logic_error("a progress of another size is believed");
                });
                attempt([&] { read_device_report(changed(readings, rng)); });
                attempt([&] {
                    for (const auto& copy : read_copies(changed(copies, rng), job_.problem, 1))
                        if (copy.node < 0 || copy.node >= job_.problem.nodes()) throw std::logic_error("no such node");
                });
                attempt([&] {  // whatever they are, they are looked through before anything is done with them
                    const auto read = read_moves(changed(moves, rng));
                    fault_of_moves(job_.problem, job_.plan.stages, job_.plan.stages, read);
                });
                if (i % 20 == 0) attempt([&] { understand(protocol::decode_job(changed(job, rng))); });
            }
        });
        QVERIFY(read > 1000 && refused > 1000);
    }

    /// JSON has no NaN.
    void a_validation_loss_may_be_no_number() {
        const double none = std::nan("");
        const auto back = protocol::decode(protocol::encode(protocol::Validated{3, 1, 2, 64, {none, none}}));
        const auto* validated = std::get_if<protocol::Validated>(&back);
        QVERIFY(validated && validated->iterations_done == 3);
        QVERIFY(std::isnan(validated->result.loss_nats) && std::isnan(validated->result.bits_per_byte));
    }

    /// A rank that a launcher has started elsewhere is not killed from here: nobody may believe that it is gone for
    /// good.
    void only_who_is_killed_never_comes_back() {
        const auto hello = protocol::encode(one_of_each("{}")[2]);
        const auto node = job_.problem.node_ids[NodeIndex(std::ssize(job_.problem.node_ids) - 1)];
        for (const bool is_own : {false, true}) {
            Recorder recorder(job_.record);
            Standing ranks(hello, is_own);
            std::vector<std::string> warnings;
            RunProgress progress;
            progress.started = [&](RunId run) {
                Reader(job_.record).send_command(run, "fail", json{{"node", node}, {"back_after_s", nullptr}}.dump());
            };
            progress.warned = [&](const Fault& fault) { warnings.push_back(fault.why); };
            coordinate(job_, recorder, ranks, progress);
            QCOMPARE(ranks.ends, is_own ? std::vector<int>{1} : std::vector<int>{});
            QCOMPARE(ranks.kills, ranks.ends);
            const auto refused = std::count_if(warnings.begin(), warnings.end(), [](const std::string& why) {
                return why.find("a launcher has started that rank") != std::string::npos;
            });
            QCOMPARE(refused, is_own ? 0 : 1);
        }
    }

    /// Somebody has started it again after all.
    void who_has_come_back_may_come_back_again() {
        Nobody link;
        Commands commands;
        Spokesman spokesman(job_.problem, link, commands);
        for (const int rank : {1, 2}) commands.put(protocol::EndRank{rank});
        RegroupReport report{.iterations_done = 1, .lost = {1, 2}};
        spokesman.regrouped(report);
        QCOMPARE(spokesman.never_back(), (std::vector<int>{1, 2}));
        report = {.iterations_done = 1, .joined = {1}};
        spokesman.regrouped(report);
        QCOMPARE(spokesman.never_back(), std::vector<int>{2});
    }

    /// A coordinator that hears such things ends its run in an orderly way, or goes on; what it recorded can be read.
    void a_coordinator_hears_changed_messages() {
        const auto plan_json = to_json(job_.plan, job_.problem, nullptr).dump();
        std::vector<std::string> good;
        for (const auto& message : one_of_each(plan_json)) good.push_back(protocol::encode(message));
        const auto hello = good[2];
        int ended = 0, failed = 0;
        rounds([&](Rng rng) {
            Recorder recorder(job_.record);
            for (int run = 0; run < 20; ++run) {
                std::vector<std::string> lines{hello};
                for (int i = 0; i < 12; ++i) {
                    const auto which = rng.below(good.size() - 2);  // Done and Failed come last
                    lines.push_back(rng.below(4) > 0 ? good[which] : value_changed(good[which], rng));
                }
                lines.push_back(good[good.size() - 2]);
                Scripted ranks(lines);
                const auto outcome = coordinate(job_, recorder, ranks, {});
                ++(outcome.state == RunState::failed ? failed : ended);
            }
        });
        QVERIFY2(ended > 0 && failed > 0, qPrintable(QString("%1 ended, %2 failed").arg(ended).arg(failed)));
        Reader reader(job_.record);
        for (const auto& run : reader.runs()) {
            QVERIFY(run.state != RunState::running);
            reader.spans(run.id);
            reader.metrics(run.id);
        }
    }
};

QTEST_GUILESS_MAIN(TestMessages)
#include "test_messages.moc"
