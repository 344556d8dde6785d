// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/engine/launch.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>
#include <random>

#include <fmt/format.h>

#include "core/base/fault.h"

namespace skippipe {

namespace {

class Reader {
public:
    explicit Reader(const Variable& variable) : variable_(variable) {}

    std::optional<std::string> text(std::initializer_list<const char*> names) const {
        for (const char* name : names)
            if (auto value = variable_(name); value && !value->empty()) return value;
        return std::nullopt;
    }
    std::optional<int> number(std::initializer_list<const char*> names, int least, int most) const {
        for (const char* name : names) {
            const auto value = variable_(name);
            if (!value || value->empty()) continue;
            int number = 0;
            const auto [end, error] = std::from_chars(value->data(), value->data() + value->size(), number);
            if (error != std::errc() || end != value->data() + value->size() || number < least || number > most)
                throw InputError(name, fmt::format("{} is not a whole number from {} to {}", *value, least, most),
                                 "the launcher's environment says which rank this is",
                                 "Correct the variable, or unset the launcher's variables to start ranks from here");
            return number;
        }
        return std::nullopt;
    }

private:
    const Variable& variable_;
};

constexpr int most_ranks = 4096;

/// The same on every rank of a job, and seldom that of another: in the range that systems leave free.
int port_of(const std::string& job) {
    std::uint32_t hash = 2166136261u;
    for (const char c : job) hash = (hash ^ static_cast<unsigned char>(c)) * 16777619u;
    return 20000 + static_cast<int>(hash % 10000);
}

/// FNV-1a.
std::uint64_t hash_of(const std::string& text, std::uint64_t hash) {
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211u;
    return hash;
}

std::string hexadecimal(std::uint64_t high, std::uint64_t low) { return fmt::format("{:016x}{:016x}", high, low); }

/// The token that was handed over, else one that the job's number fixes.
void fill_token(LaunchEnvironment& launch, const Reader& read, const std::string& job) {
    if (const auto token = read.text({"SKIPPIPE_TOKEN"})) {
        const bool fine = token->size() >= 16 && token->size() <= 128 &&
                          std::all_of(token->begin(), token->end(), [](unsigned char c) {
                              return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                                     c == '-' || c == '_';
                          });
        if (!fine)  // the value is a secret: it is not repeated
            throw InputError("SKIPPIPE_TOKEN", fmt::format("{} characters that are no token", token->size()),
                             "16 to 128 letters, digits, - and _ keep strangers out of what ranks share",
                             "export SKIPPIPE_TOKEN=$(openssl rand -hex 16) before the launcher");
        launch.token = *token;
    } else {
        launch.token = hexadecimal(hash_of(job, 14695981039346656037u), hash_of(job, 0x9e3779b97f4a7c15u));
        launch.token_is_derived = true;
    }
}

void fill(LaunchEnvironment& launch, const Reader& read) {
    launch.master_address = read.text({"MASTER_ADDR", "PET_MASTER_ADDR"}).value_or(launch.master_address);
    launch.master_port = read.number({"MASTER_PORT", "PET_MASTER_PORT"}, 0, 65535).value_or(launch.master_port);
}

std::optional<LaunchEnvironment> torchrun(const Reader& read) {
    const auto rank = read.number({"RANK"}, 0, most_ranks - 1), world = read.number({"WORLD_SIZE"}, 1, most_ranks);
    if (!rank && !world) return std::nullopt;
    const auto missing = [&](const char* name) {
        throw InputError(
            name, "not set",
            "RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT say together which rank this is and where rank 0 waits",
            fmt::format("Set {}, or unset RANK and WORLD_SIZE to start ranks from here", name));
    };
    if (!rank) missing("RANK");
    if (!world) missing("WORLD_SIZE");
    if (*world > 1 && !read.text({"MASTER_ADDR", "PET_MASTER_ADDR"})) missing("MASTER_ADDR");
    if (*world > 1 && !read.text({"MASTER_PORT", "PET_MASTER_PORT"})) missing("MASTER_PORT");
    LaunchEnvironment launch{.rank = *rank, .world_size = *world, .launcher = "torchrun"};
    fill(launch, read);
    launch.local_rank = read.number({"LOCAL_RANK"}, 0, most_ranks - 1).value_or(0);
    launch.local_world_size =
        read.number({"LOCAL_WORLD_SIZE"}, 1, most_ranks).value_or(is_loopback(launch.master_address) ? *world : 1);
    launch.agent_store = read.text({"TORCHELASTIC_USE_AGENT_STORE"}).value_or("") == "True";
    fill_token(launch, read,
               fmt::format("torchrun {} {}", read.text({"TORCHELASTIC_RUN_ID"}).value_or(""), launch.master_port));
    return launch;
}

/// "gpu[03-04,07],login" -> "gpu03", "r[0-1]n[0,2]" -> "r0n0": where Slurm puts rank 0. Slurm's own tool for it need
/// not be on a compute node. "" where a bracket is not closed.
std::string first_host(std::string_view list) {
    std::string host;
    for (;;) {
        const auto open = list.find_first_of("[,");
        host += list.substr(0, open);
        if (open == std::string_view::npos || list[open] == ',') return host;
        const auto close = list.find(']', open);
        if (close == std::string_view::npos) return "";
        host += list.substr(open + 1, list.find_first_of("-,]", open) - open - 1);
        list.remove_prefix(close + 1);
    }
}

/// Takes a whole number off the front of a text; nothing where it begins otherwise.
std::optional<int> take_number(std::string_view& text) {
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error != std::errc() || number < 1) return std::nullopt;
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    return number;
}

/// "2(x3),1": three hosts with two tasks, one with one. Those of a host; nothing where that cannot be read from it.
std::optional<int> tasks_of_host(std::string_view list, int host) {
    while (!list.empty()) {
        const auto tasks = take_number(list);
        std::optional<int> hosts = 1;
        if (list.starts_with("(x")) {
            list.remove_prefix(2);
            hosts = take_number(list);
            if (!list.starts_with(')')) return std::nullopt;
            list.remove_prefix(1);
        }
        if (!tasks || !hosts) return std::nullopt;
        if (host < *hosts) return tasks;
        host -= *hosts;
        if (!list.starts_with(',')) return std::nullopt;
        list.remove_prefix(1);
    }
    return std::nullopt;
}

/// Ranks on this host, of `world` on `hosts`. Where Slurm does not say: equal shares, and room for this one.
int slurm_local_world(const Reader& read, int world, int hosts, int local_rank) {
    const auto list = read.text({"SLURM_STEP_TASKS_PER_NODE"});
    const auto host = read.number({"SLURM_NODEID"}, 0, most_ranks - 1);
    const auto told = list && host ? tasks_of_host(*list, *host) : std::nullopt;
    return std::max(told.value_or((world + hosts - 1) / hosts), local_rank + 1);
}

std::optional<LaunchEnvironment> slurm(const Reader& read) {
    const auto rank = read.number({"SLURM_PROCID"}, 0, most_ranks - 1),
               world = read.number({"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"}, 1, most_ranks);
    // A batch script has no step of its own: there is nobody to join yet.
    if (!rank || !world || !read.text({"SLURM_STEP_ID"})) return std::nullopt;
    LaunchEnvironment launch{.rank = *rank, .world_size = *world, .launcher = "slurm"};
    launch.local_rank = read.number({"SLURM_LOCALID"}, 0, most_ranks - 1).value_or(0);
    const int hosts = read.number({"SLURM_STEP_NUM_NODES", "SLURM_NNODES"}, 1, most_ranks).value_or(1);
    launch.local_world_size = slurm_local_world(read, *world, hosts, launch.local_rank);
    // Not SLURM_LAUNCH_NODE_IPADDR: that is where srun was typed, a login node perhaps.
    if (hosts > 1)
        launch.master_address = first_host(read.text({"SLURM_STEP_NODELIST", "SLURM_NODELIST"}).value_or(""));
    if (launch.master_address.empty() && !read.text({"MASTER_ADDR", "PET_MASTER_ADDR"}))
        throw InputError("MASTER_ADDR", "not set", "SLURM_STEP_NODELIST does not say where rank 0 is",
                         "Pass it: srun --export=ALL,MASTER_ADDR=FIRST_HOST ...");
    // Clusters number their jobs each on its own, and one machine can be in two.
    std::string step;
    for (const char* name : {"SLURM_CLUSTER_NAME", "SLURM_JOB_ID", "SLURM_STEP_ID"})
        step += read.text({name}).value_or("") + ".";
    launch.master_port = port_of(step);
    fill(launch, read);
    fill_token(launch, read, "slurm " + step);
    return launch;
}

std::optional<LaunchEnvironment> open_mpi(const Reader& read) {
    const auto rank = read.number({"OMPI_COMM_WORLD_RANK"}, 0, most_ranks - 1),
               world = read.number({"OMPI_COMM_WORLD_SIZE"}, 1, most_ranks);
    if (!rank || !world) return std::nullopt;
    LaunchEnvironment launch{.rank = *rank, .world_size = *world, .launcher = "mpi"};
    launch.local_rank = read.number({"OMPI_COMM_WORLD_LOCAL_RANK"}, 0, most_ranks - 1).value_or(0);
    launch.local_world_size = read.number({"OMPI_COMM_WORLD_LOCAL_SIZE"}, 1, most_ranks).value_or(1);
    const auto address = read.text({"MASTER_ADDR", "PET_MASTER_ADDR"});
    if (!address && launch.local_world_size < launch.world_size)
        throw InputError("MASTER_ADDR", "not set", "ranks on several hosts must know where rank 0 is",
                         "Pass it: mpirun -x MASTER_ADDR=FIRST_HOST ...");
    const auto job = read.text({"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}).value_or("");
    launch.master_port = port_of(job);
    fill(launch, read);
    fill_token(launch, read, "mpi " + job);
    return launch;
}

void check(const LaunchEnvironment& launch) {
    const auto refuse = [](const char* name, std::string what, const char* why) {
        throw InputError(name, std::move(what), why, "Correct the launcher's variables");
    };
    if (launch.rank >= launch.world_size)
        refuse("RANK", fmt::format("rank {} of {} ranks", launch.rank, launch.world_size), "ranks count from 0");
    if (launch.local_world_size > launch.world_size)
        refuse("LOCAL_WORLD_SIZE",
               fmt::format("{} ranks on this host of {} in all", launch.local_world_size, launch.world_size),
               "a host has a part of the ranks");
    if (launch.local_rank >= launch.local_world_size)
        refuse("LOCAL_RANK",
               fmt::format("local rank {} of {} on this host", launch.local_rank, launch.local_world_size),
               "local ranks count from 0");
    if (launch.rank > 0 && launch.master_port == 0)
        refuse("MASTER_PORT", "0", "the other ranks must know where rank 0 listens");
}

}  // namespace

std::optional<std::string> environment_variable(const char* name) {
    const char* value = std::getenv(name);
    return value ? std::optional<std::string>(value) : std::nullopt;
}

std::string make_token() {
    std::random_device device;  // the kernel's or the processor's generator
    const auto draw = [&] { return std::uint64_t{device()} << 32 | device(); };
    const auto high = draw();
    return hexadecimal(high, draw());
}

bool equal_secret(std::string_view a, std::string_view b) {
    if (a.size() != b.size()) return false;
    unsigned char difference = 0;
    for (std::size_t i = 0; i < a.size(); ++i) difference |= static_cast<unsigned char>(a[i] ^ b[i]);
    return difference == 0;
}

bool is_loopback(const std::string& address) {
    return address == "localhost" || address == "::1" || address.starts_with("127.");
}

std::optional<LaunchEnvironment> launch_environment(const Variable& variable) {
    const Reader read(variable);
    auto launch = torchrun(read);
    if (!launch) launch = open_mpi(read);  // before Slurm, whose srun starts mpirun's helpers on the other hosts
    if (!launch) launch = slurm(read);
    if (launch) check(*launch);
    return launch;
}

}  // namespace skippipe
