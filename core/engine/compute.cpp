// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/compute.h"

#include <new>

#include <fmt/format.h>

namespace skippipe {

void run_task(const std::string& where, const std::function<void()>& work, const Completion& completed) {
    TaskEnd end{.start_s = steady_s()};
    try {
        work();
    } catch (const std::bad_alloc&) {
        end.error = std::make_exception_ptr(ComputeError(where, "memory ran out"));
    } catch (const std::exception& error) {
        end.error = std::make_exception_ptr(ComputeError(where, error.what()));
    } catch (...) {
        end.error = std::make_exception_ptr(ComputeError(where, "something that is no exception was thrown"));
    }
    end.end_s = steady_s();
    if (completed) completed(end);
    if (end.error) std::rethrow_exception(end.error);
}

void ComputeBackend::lose(int) { throw std::logic_error("this back end cannot go on without a node"); }
void ComputeBackend::go_on(const Replan&) { throw std::logic_error("this back end cannot go on without a node"); }
void ComputeBackend::rejoin(int, int) {}
void ComputeBackend::move(const RankSchedule& schedule, const std::vector<NodeMove>&, const FetchedStates&) {
    follow(schedule);
}
void ComputeBackend::rebuild(int, const std::vector<NeighbourWeights>&, double) {}

std::string name_of(const ComputeTask& task, const std::string& node_id) {
    return fmt::format("{} on {} (stage {})", to_string(task.operation), node_id, task.stage);
}

}  // namespace skippipe
