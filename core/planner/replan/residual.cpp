// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/replan/residual.h"

#include <algorithm>

#include "core/base/index.h"
#include "core/planner/timeline/simulator.h"

namespace skippipe {

namespace {
constexpr int no_open = -1;

/// Works out what the lost nodes leave of each microbatch.
class ResidualMaker {
public:
    ResidualMaker(const Problem& problem, const Plan& plan, const IterationProgress& progress,
                  const std::vector<NodeIndex>& down, const PerStage<char>& keeps)
        : progress_(progress), keeps_(keeps), stage_of_(stage_of_nodes(plan, progress, problem.nodes())) {
        residual_.at_s = progress.at_s;
        residual_.length = plan.paths.empty() ? 1 : static_cast<int>(plan.paths.front().nodes.size());
        residual_.split_backward = plan.split_backward;
        residual_.down.assign(at(problem.nodes()), 0);
        for (const NodeIndex node : down) residual_.down[node] = 1;
        for (const auto& [node, stage] : progress.lost) residual_.down[node] = 1;
        residual_.held.assign(at(problem.nodes()), 0);
        residual_.line_free_s = progress.line_free_s;
        residual_.stage_end_s = progress.stage_end_s;
        residual_.stage_stepped_s = progress.stage_stepped_s;
        residual_.available_s = progress.available_s;
        residual_.available_s.resize(at(problem.nodes()), 0.0);
        const auto count = plan.paths.size();
        for (const auto& path : plan.paths) {
            residual_.microbatches.push_back(path.microbatch);
            residual_.before.insert(residual_.before.end(), path.nodes.begin(), path.nodes.end());
        }
        residual_.begin.assign(count, Residual::Begin::underway);
        residual_.next_step = progress.steps_done;
        residual_.fresh_s.assign(count, 0.0);
        residual_.forced.assign(count * at(residual_.length), 0);
        residual_.lost.assign(count * at(residual_.length), 0);
        residual_.redo.assign(count * at(residual_.steps()), 0);
        residual_.gone = residual_.redo;
        residual_.resend.assign(count, 0);
        next_.assign(count, no_open);
        pending_ = residual_.redo;
        redo_open_.assign(residual_.redo.size(), no_open);
        for (const auto& [i, step] : progress.redo) pending_[slot(i, step)] = 1;
        for (const auto& [i, step] : progress.gone) residual_.gone[slot(i, step)] = 1;
        for (int k = 0; k < static_cast<int>(progress.open.size()); ++k) {
            const auto& open = progress.open[at(k)];
            if (open.redo)
                redo_open_[slot(open.index, open.step)] = k;
            else if (!open.weight)
                next_[open.index] = k;
        }
    }

    Residual make() {
        for (ReleaseIndex i = 0; i < residual_.count(); ++i) {
            find_next(i);
            run_gone_anew(i);
            find_again(i);
            for (int hop = 0; hop < residual_.length; ++hop) mark_hop(i, hop);
            for (int hop = 0; hop < residual_.length; ++hop) mark_gone(i, hop);
            const auto* redo = residual_.redo.data() + static_cast<std::ptrdiff_t>(slot(i, 0));
            if (residual_.next_step[i] == residual_.steps() &&
                std::find(redo, redo + residual_.steps(), 1) == redo + residual_.steps())
                residual_.begin[i] = Residual::Begin::finished;
        }
        for (int k = 0; k < static_cast<int>(progress_.open.size()); ++k) keep_open(k);
        return std::move(residual_);
    }

private:
    std::size_t slot(ReleaseIndex i, int step) const { return at(i) * at(residual_.steps()) + at(step); }
    NodeIndex node_of(ReleaseIndex i, int step) const {
        return step_node(residual_.before.data() + static_cast<std::ptrdiff_t>(i) * residual_.length, residual_.length,
                         step);
    }
    bool lost(ReleaseIndex i, int step) const { return residual_.down[node_of(i, step)] != 0; }
    /// Whether the result of a step that has been run can be sent again.
    bool has_result(ReleaseIndex i, int step) const {
        return !lost(i, step) && pending_[slot(i, step)] == 0 && !is_gone(i, step);
    }
    /// What an earlier loss took for good.
    bool is_gone(ReleaseIndex i, int step) const { return residual_.gone[slot(i, step)] != 0; }
    /// Whether what has been handed to a step goes on: it has come, or the node that sent it lives.
    bool kept(int k) const {
        const auto& open = progress_.open[at(k)];
        return !lost(open.index, open.step) &&
               (open.ready_s <= progress_.at_s || open.step == 0 || has_result(open.index, open.step - 1));
    }

    /// The first step whose input can still be had: it is there, or the node before it lives and sends it again.
    void find_next(ReleaseIndex i) {
        int& step = residual_.next_step[i];
        int& open = next_[i];
        if (step == residual_.steps()) return;
        if (open == no_open || !kept(open)) {
            const int was = step;
            open = no_open;
            while (step > 0 && !has_result(i, step - 1)) --step;
            // What was being redone there is now what comes next.
            if (step < was && pending_[slot(i, step)] != 0) open = redo_open_[slot(i, step)];
            if (open != no_open && !kept(open)) open = no_open;
        }
        const bool runs = open != no_open && progress_.open[at(open)].running;
        if (step == 0 && !runs) {
            residual_.begin[i] = Residual::Begin::fresh;
            if (open != no_open) residual_.fresh_s[i] = progress_.open[at(open)].ready_s;
            open = no_open;
        } else if (open == no_open) {
            residual_.resend[i] = 1;
        }
    }

    /// A hop that ends once more needs what it had given up.
    void run_gone_anew(ReleaseIndex i) {
        const auto anew = [&](int step) {
            pending_[slot(i, step)] = pending_[slot(i, step)] != 0 || step < residual_.next_step[i];
            residual_.gone[slot(i, step)] = 0;
        };
        for (int hop = 0; hop < residual_.length; ++hop) {
            if (ended(i, hop) || !is_gone(i, back(hop))) continue;
            anew(hop);
            residual_.gone[slot(i, back(hop))] = 0;
            if (hop == 0 && is_gone(i, residual_.length)) anew(residual_.length);
        }
    }

    bool ended(ReleaseIndex i, int hop) const { return back(hop) < residual_.next_step[i]; }
    int back(int hop) const { return 2 * residual_.length - hop; }
    /// Whether a step needs its input once more to be redone.
    bool lacks_input(ReleaseIndex i, int step) const {
        const int open = redo_open_[slot(i, step)];
        return lost(i, step) || (pending_[slot(i, step)] != 0 && (open == no_open || !kept(open)));
    }
    bool would_redo(ReleaseIndex i, int hop) const {
        return lost(i, hop) || pending_[slot(i, hop)] != 0 || pending_[slot(i, back(hop))] != 0 ||
               (hop == 0 && pending_[slot(i, residual_.length)] != 0);
    }
    /// Whether nobody has what passed at a hop that had ended, nor will have: its neighbours cannot compute anything
    /// again.
    bool broken(ReleaseIndex i, int hop) const {
        return ended(i, hop) && (is_gone(i, back(hop)) || (would_redo(i, hop) && again_[at(hop)] == 0));
    }

    /// Which of the hops that had ended are redone as a whole, that is their gradients kept: those whose stage has a
    /// node and whose neighbours have, or get, what they handed on.
    void find_again(ReleaseIndex i) {
        again_.assign(at(residual_.length), 0);
        for (int hop = 0; hop < residual_.length; ++hop)
            again_[at(hop)] = ended(i, hop) && !is_gone(i, back(hop)) && would_redo(i, hop) &&
                              (!lost(i, hop) || keeps_[stage_of_[node_of(i, hop)]] != 0);
        for (bool changed = true; changed;) {
            changed = false;
            for (int hop = 0; hop < residual_.length; ++hop) {
                const bool no_forward = hop > 0 && lacks_input(i, hop) && broken(i, hop - 1);
                const bool no_gradient = lacks_input(i, back(hop)) && broken(i, (hop + 1) % residual_.length);
                const bool no_head = hop == 0 && loss_runs_again(i) && lacks_loss_input(i);
                if (again_[at(hop)] == 0 || !(no_forward || no_gradient || no_head)) continue;
                again_[at(hop)] = 0;
                changed = true;
            }
        }
    }

    /// Whether what the loss left is gone or still to be computed again.
    bool loss_runs_again(ReleaseIndex i) const {
        return residual_.length < residual_.next_step[i] &&
               (lost(i, residual_.length) || pending_[slot(i, residual_.length)] != 0);
    }
    bool lacks_loss_input(ReleaseIndex i) const {
        return lacks_input(i, residual_.length) && broken(i, residual_.length - 1);
    }

    void mark_hop(ReleaseIndex i, int hop) {
        const int next = residual_.next_step[i], loss = residual_.length;
        const bool over = ended(i, hop), gone = lost(i, hop),
                   redone = would_redo(i, hop) && (!over || again_[at(hop)] != 0);
        const auto redo = [&](int step) { return step < next && redone && (gone || pending_[slot(i, step)] != 0); };
        auto* flags = residual_.redo.data() + static_cast<std::ptrdiff_t>(slot(i, 0));
        flags[hop] = redo(hop);
        flags[back(hop)] = redo(back(hop));
        int lost_here = broken(i, hop) ? 1 : 0;
        if (hop == 0 && loss_runs_again(i)) {
            // Head and body of stage 0 step on the same microbatches.
            flags[loss] = over ? again_[0] : (!gone || keeps_[0] != 0) && !lacks_loss_input(i);
            if (flags[loss] == 0) lost_here = 1;
            const bool body_lost = over && (gone || pending_[slot(i, back(hop))] != 0 || is_gone(i, back(hop)));
            if (flags[loss] == 0 && !body_lost) ++residual_.heads_alone;
        }
        const bool head_there = !loss_runs_again(i) && !is_gone(i, loss);
        if (hop == 0 && over && !gone && broken(i, hop) && head_there) ++residual_.heads_alone;
        residual_.lost_gradients += lost_here;
        residual_.lost[at(i * residual_.length + hop)] = lost_here != 0;
        residual_.forced[at(i * residual_.length + hop)] = gone && (!over || again_[at(hop)] != 0);
        if (!gone) return hold(i, hop, !over || flags[back(hop)] != 0);
        const bool ran = hop < progress_.steps_done[i] && pending_[slot(i, hop)] == 0;
        residual_.redone_forwards += (!over || redone) && ran ? 1 : 0;
        residual_.redone_backwards += over && redone && pending_[slot(i, back(hop))] == 0 ? 1 : 0;
    }

    /// What a hop that had ended does not have, and will not.
    void mark_gone(ReleaseIndex i, int hop) {
        const auto mark = [&](int step) {
            auto& gone = residual_.gone[slot(i, step)];
            const bool over = step < residual_.next_step[i];
            gone = over && !residual_.redone(i, step) && (gone != 0 || lost(i, step) || pending_[slot(i, step)] != 0);
        };
        if (!ended(i, hop)) return;
        mark(hop);
        mark(back(hop));
        if (hop == 0) mark(residual_.length);
    }

    /// A living node holds what it has run forward, or runs, and not backward.
    void hold(ReleaseIndex i, int hop, bool backward_left) {
        const int next = residual_.next_step[i], plain = next_[i], redone = redo_open_[slot(i, hop)];
        const bool again = residual_.redone(i, hop),
                   runs_plain = next == hop && plain != no_open && progress_.open[at(plain)].running;
        const bool runs_again = again && redone != no_open && progress_.open[at(redone)].running;
        if (residual_.begin[i] == Residual::Begin::underway && backward_left &&
            ((hop < next && !again) || runs_plain || runs_again))
            ++residual_.held[node_of(i, hop)];
    }

    void keep_open(int k) {
        auto open = progress_.open[at(k)];
        const ReleaseIndex i = open.index;
        if (open.weight) {
            if (lost(i, open.step)) return;
            ++residual_.held[node_of(i, open.step)];  // it has yet to free its memory
        } else if (next_[i] == k) {
            open.redo = false;
        } else if (!open.redo || !residual_.redone(i, open.step) || !kept(k)) {
            return;
        }
        residual_.open.push_back(open);
    }

    const IterationProgress& progress_;
    const PerStage<char>& keeps_;
    PerNode<StageIndex> stage_of_;
    Residual residual_;
    std::vector<char> again_;     ///< [p] of the microbatch in hand: runs again though it had ended
    std::vector<char> pending_;   ///< [T x (2p + 1)] was still to be redone
    std::vector<int> redo_open_;  ///< [T x (2p + 1)] place in progress_.open
    PerRelease<int> next_;        ///< place in progress_.open of its next step, as far as it is kept
};

}  // namespace

std::size_t Residual::operations_left() const {
    std::size_t left = 0;
    for (ReleaseIndex i = 0; i < count(); ++i) {
        left += at(steps() - next_step[i]);
        if (split_backward) left += at(steps() - std::max(next_step[i], length + 1));
        for (int step = 0; step < steps(); ++step)
            if (redone(i, step)) left += split_backward && step > length ? 2 : 1;
    }
    for (const auto& operation : open) left += operation.weight ? 1 : 0;
    return left;
}

PerNode<int> operations_left(const Residual& residual, const std::vector<NodeIndex>& paths, int nodes) {
    PerNode<int> left(at(nodes), 0);
    for (ReleaseIndex i = 0; i < residual.count(); ++i)
        for (int step = 0; step < residual.steps(); ++step) {
            if (step < residual.next_step[i] && !residual.redone(i, step)) continue;
            const auto* path = paths.data() + static_cast<std::ptrdiff_t>(i) * residual.length;
            left[step_node(path, residual.length, step)] += residual.split_backward && step > residual.length ? 2 : 1;
        }
    for (const auto& open : residual.open) {
        const auto* path = paths.data() + static_cast<std::ptrdiff_t>(open.index) * residual.length;
        if (open.weight) ++left[step_node(path, residual.length, open.step)];
    }
    return left;
}

PerStage<char> stages_to_reduce(const Residual& residual, const PerStage<std::vector<NodeIndex>>& stages,
                                const PerNode<int>& left) {
    PerStage<char> reduces(stages.size(), 0);
    for (StageIndex s = 0; at(s) < stages.size(); ++s) {
        const bool runs =
            std::any_of(stages[s].begin(), stages[s].end(), [&](NodeIndex node) { return left[node] > 0; });
        const bool reduced = !residual.stage_stepped_s.empty() && residual.stage_stepped_s[s] >= 0;
        reduces[s] = runs || (residual.stage_end_s[s] >= 0 && !reduced && !stages[s].empty());
    }
    return reduces;
}

bool Residual::holds(ReleaseIndex index, int hop) const {
    for (const auto& operation : open) {
        if (operation.index != index) continue;
        if (operation.weight && operation.step == 2 * length - hop) return true;
        if (operation.running && operation.step == hop && begin[index] == Begin::underway) return true;
    }
    if (begin[index] != Begin::underway) return false;
    const bool backward_left = 2 * length - hop >= next_step[index] || redone(index, 2 * length - hop);
    return backward_left && hop < next_step[index] && !redone(index, hop);
}

int Residual::fixed_hops(ReleaseIndex index) const {
    if (begin[index] == Begin::fresh) return 0;
    return std::min(length, next_step[index] + (resend[index] != 0 ? 0 : 1));
}

PerNode<StageIndex> stage_of_nodes(const Plan& plan, const IterationProgress& progress, int nodes) {
    auto stage_of = stage_of_nodes(plan, nodes);
    for (const auto& [node, stage] : progress.lost) stage_of[node] = stage;
    return stage_of;
}

Residual make_residual(const Problem& problem, const Plan& plan, const IterationProgress& progress,
                       const std::vector<NodeIndex>& down, const PerStage<char>& keeps) {
    return ResidualMaker(problem, plan, progress, down, keeps).make();
}

namespace {

void leave_out(Residual& residual, const IterationProgress& progress, ReleaseIndex i) {
    const int length = residual.length, steps = residual.steps();
    const auto first = [&](std::vector<char>& flags, int a_microbatch) {
        return flags.begin() + static_cast<std::ptrdiff_t>(i) * a_microbatch;
    };
    for (int hop = 0; hop < length; ++hop) {
        const NodeIndex node = residual.before[at(i * length + hop)];
        if (residual.down[node] == 0) residual.held[node] -= residual.holds(i, hop) ? 1 : 0;
        // As it was counted when the rest was made.
        const auto& redo = progress.redo;
        const bool pending = std::find(redo.begin(), redo.end(), MicrobatchStep{i, hop}) != redo.end();
        if (residual.down[node] != 0 && hop < progress.steps_done[i] && !pending) --residual.redone_forwards;
        residual.lost_gradients += residual.lost[at(i * length + hop)] != 0 ? 0 : 1;
    }
    residual.begin[i] = Residual::Begin::finished;
    residual.next_step[i] = steps;
    residual.resend[i] = 0;
    std::fill_n(first(residual.forced, length), length, 0);
    std::fill_n(first(residual.lost, length), length, 1);
    std::fill_n(first(residual.redo, steps), steps, 0);
    std::fill_n(first(residual.gone, steps), steps, 1);
    std::erase_if(residual.open, [&](const OpenOperation& open) { return open.index == i; });
    ++residual.dropped;
}

}  // namespace

void drop_microbatches(Residual& residual, const IterationProgress& progress) {
    for (ReleaseIndex i = 0; i < residual.count(); ++i) {
        if (residual.begin[i] != Residual::Begin::underway || residual.next_step[i] > residual.length) continue;
        const bool loss_runs = std::any_of(residual.open.begin(), residual.open.end(), [&](const OpenOperation& open) {
            return open.index == i && open.running && open.step == residual.length;
        });
        const auto forced = residual.forced.begin() + static_cast<std::ptrdiff_t>(i) * residual.length;
        if (!loss_runs && std::find(forced, forced + residual.length, 1) != forced + residual.length)
            leave_out(residual, progress, i);
    }
}

}  // namespace skippipe
