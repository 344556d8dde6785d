// SPDX-License-Identifier: GPL-3.0-or-later
// The machine of a node by name, step by step: texts in tests/data/machines say what is put in and, behind ">", what
// comes out. With SKIPPIPE_REWRITE set they are written anew from what came out; read the difference before you keep
// it.
#include <QTest>

#include <QDir>

#include <algorithm>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "core/engine/node.h"

using namespace skippipe;

namespace {

/// Machines of the nodes that a text names. Nothing passes between them but what the text puts in.
class World {
public:
    /// One command; what came out of it, as text.
    std::string run(const std::string& line) {
        std::istringstream words(line);
        std::string verb;
        words >> verb;
        if (verb == "nodes") return make_nodes(words);
        if (verb == "path") return add_path(words);
        if (verb == "order") return set_order(words);
        if (verb == "split") return plan_.split_backward = true, "";
        if (verb == "again") return run_again(words);
        if (verb == "takes-up") return take_up(words);
        if (verb == "begin") return begin(words);
        if (verb == "arrive" || verb == "end") return put_in(verb == "end", words);
        if (verb == "waiting") return waiting(words);
        throw std::runtime_error("what is \"" + verb + "\"?");
    }

private:
    NodeIndex node(const std::string& name) const { return NodeIndex(index_.at(name)); }
    const std::string& name(int node) const { return names_.at(static_cast<std::size_t>(node)); }

    static Operation operation(const std::string& text) {
        const std::string kinds = "FLBIW";
        const bool again = text.ends_with("#1");
        return {static_cast<OpKind>(kinds.find(text.at(0))), MicrobatchIndex(std::stoi(text.substr(1))),
                static_cast<std::uint8_t>(again ? 1 : 0)};
    }

    /// "again 0: 1 3": in the rest of an iteration these steps of the microbatch run once more. "again -": none does.
    std::string run_again(std::istringstream& words) {
        std::string word;
        words >> word;
        auto& steps = again_.emplace()[word == "-" ? -1 : std::stoi(word)];
        for (int step = 0; words >> step;) steps.push_back(step);
        return "";
    }

    /// "takes-up A 1 F0": held so far, and what it runs.
    std::string take_up(std::istringstream& words) {
        std::string at, runs;
        words >> at;
        auto& rest = rests_[node(at)];
        words >> rest.held;
        if (words >> runs) rest.running = operation(runs);
        return "";
    }

    /// "begin A": it dispatches what it has taken up.
    std::string begin(std::istringstream& words) {
        std::string at;
        words >> at;
        return described(machine(node(at)).begin(number_));
    }

    /// The routes of a whole iteration, or of a rest.
    RouteTable routes() const {
        if (!again_) return RouteTable(plan_);
        Residual residual;
        std::vector<NodeIndex> nodes;
        residual.length = static_cast<int>(plan_.paths.front().nodes.size());
        residual.split_backward = plan_.split_backward;
        for (const auto& path : plan_.paths) {
            residual.microbatches.push_back(path.microbatch);
            residual.begin.push_back(Residual::Begin::underway);
            nodes.insert(nodes.end(), path.nodes.begin(), path.nodes.end());
            const auto steps = again_->find(path.microbatch);
            for (int step = 0; step < residual.steps(); ++step)
                residual.redo.push_back(
                    steps != again_->end() && std::count(steps->second.begin(), steps->second.end(), step) > 0 ? 1 : 0);
        }
        return RouteTable(residual, nodes);
    }

    /// "nodes D:3 A:1": name and memory.
    std::string make_nodes(std::istringstream& words) {
        for (std::string word; words >> word;) {
            const auto colon = word.find(':');
            index_[word.substr(0, colon)] = static_cast<int>(names_.size());
            names_.push_back(word.substr(0, colon));
            memory_.push_back(std::stoi(word.substr(colon + 1)));
        }
        orders_.resize(names_.size());
        return "";
    }

    /// "path 0: D A".
    std::string add_path(std::istringstream& words) {
        std::string word;
        words >> word;
        Path path{MicrobatchIndex(std::stoi(word)), {}};
        while (words >> word) path.nodes.push_back(node(word));
        plan_.paths.push_back(path);
        return "";
    }

    /// "order A: F1 F0 B1 B0".
    std::string set_order(std::istringstream& words) {
        std::string word;
        words >> word;
        auto& order = orders_.at(static_cast<std::size_t>(node(word.substr(0, word.find(':')))));
        order.emplace();
        while (words >> word) order->push_back(operation(word));
        return "";
    }

    NodeMachine& machine(int node) {
        if (!routes_) routes_.emplace(routes());
        const auto& order = orders_.at(static_cast<std::size_t>(node));
        return machines_
            .try_emplace(node, node, memory_.at(static_cast<std::size_t>(node)), order.has_value(),
                         order.value_or(std::vector<Operation>{}), *routes_, rests_[node])
            .first->second;
    }

    /// "arrive A F0 2", "end A F0 3.5": node, operation, seconds.
    std::string put_in(bool ended, std::istringstream& words) {
        std::string at, what;
        double time_s = 0;
        words >> at >> what >> time_s;
        const NodeInput input{ended ? NodeInput::Kind::end : NodeInput::Kind::arrive, operation(what), time_s,
                              number_++};
        try {
            return described(machine(node(at)).handle(input, number_));
        } catch (const std::logic_error& error) {
            return std::string("refused: ") + error.what();
        }
    }

    std::string described(const std::vector<NodeAction>& actions) const {
        std::string text;
        for (const auto& action : actions) text += (text.empty() ? "" : "; ") + describe(action);
        return text.empty() ? "nothing" : text;
    }

    std::string describe(const NodeAction& action) const {
        if (action.kind == NodeAction::Kind::send)
            return "send " + to_string(action.operation) + " -> " + name(action.to);
        std::ostringstream text;
        text << "start " << to_string(action.operation) << " ready " << action.ready_s;
        if (action.next.node >= 0)
            text << " then " << to_string(action.next.operation) << " -> " << name(action.next.node);
        return text.str();
    }

    std::string waiting(std::istringstream& words) {
        std::string at, text;
        words >> at;
        for (const auto& waiting : machine(node(at)).waiting()) text += to_string(waiting.operation) + " ";
        for (const auto& parked : machine(node(at)).parked()) text += "(" + to_string(parked.operation) + ") ";
        const auto& running = machine(node(at)).running();
        return text + "held " + std::to_string(machine(node(at)).held()) + " runs " +
               (running ? to_string(*running) : "nothing");
    }

    Plan plan_;
    std::map<std::string, int> index_;
    std::vector<std::string> names_;
    std::vector<int> memory_;
    std::vector<std::optional<std::vector<Operation>>> orders_;
    std::optional<RouteTable> routes_;
    std::optional<std::map<int, std::vector<int>>> again_;  ///< by microbatch, where this is a rest
    std::map<int, NodeRest> rests_;
    std::map<int, NodeMachine> machines_;
    std::uint64_t number_ = 0;
};

std::string trimmed(std::string text) {
    text.erase(text.find_last_not_of(' ') + 1);
    return text;
}

}  // namespace

class TestMachine : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void texts_data() {
        QTest::addColumn<QString>("file");
        const QDir folder(SKIPPIPE_SOURCE_DIR "/tests/data/machines");
        for (const auto& name : folder.entryList({"*.txt"}, QDir::Files))
            QTest::newRow(qPrintable(name)) << folder.filePath(name);
    }

    void texts() {
        QFETCH(QString, file);
        std::ifstream in(file.toStdString());
        std::string written;
        World world;
        int line_number = 0, checked = 0;
        const bool rewrite = qEnvironmentVariableIsSet("SKIPPIPE_REWRITE");
        for (std::string line; std::getline(in, line);) {
            ++line_number;
            if (line.empty() || line[0] == '#') {
                written += line + "\n";
                continue;
            }
            const auto mark = line.find("> ");
            const auto command = trimmed(line.substr(0, mark));
            const auto expected = mark == std::string::npos ? "" : line.substr(std::min(line.size(), mark + 2));
            const auto found = world.run(command);
            written += command;
            if (!found.empty())
                written += std::string(command.size() < 24 ? 24 - command.size() : 1, ' ') + "> " + found;
            written += "\n";
            if (found.empty() && expected.empty()) continue;
            ++checked;
            if (!rewrite)
                QVERIFY2(found == expected,
                         qPrintable(QString("line %1: %2\nexpected %3\nfound    %4")
                                        .arg(line_number)
                                        .arg(QString::fromStdString(command), QString::fromStdString(expected),
                                             QString::fromStdString(found))));
        }
        QVERIFY(checked > 0);
        if (rewrite) std::ofstream(file.toStdString()) << written;
    }
};

QTEST_APPLESS_MAIN(TestMachine)
#include "test_machine.moc"
