// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace skippipe {

/// Where a process stands among those that were started together: torchrun's environment, or what Slurm and Open MPI
/// say.
struct LaunchEnvironment {
    int rank = 0, world_size = 1;
    int local_rank = 0, local_world_size = 1;  ///< on this host
    std::string master_address = "127.0.0.1";
    int master_port = 0;            ///< 0: rank 0 chooses one (only where it can tell the others)
    bool agent_store = false;       ///< torchrun's agent hosts the store: rank 0 is a client as well
    std::string launcher;           ///< "torchrun", "slurm", "mpi", for messages
    std::string token;              ///< secret of the run: who has it not can neither read nor write what ranks share
    bool token_is_derived = false;  ///< from the job's number, which others can know: SKIPPIPE_TOKEN was not set

    /// All ranks are on this host: nothing has to be reachable from elsewhere.
    bool one_host() const { return local_world_size == world_size && !agent_store; }
};

/// 128 random bits as 32 hexadecimal digits.
std::string make_token();
/// Takes as long for any two of one length.
bool equal_secret(std::string_view a, std::string_view b);

/// Reads an environment variable; nothing where it is not set.
using Variable = std::function<std::optional<std::string>(const char* name)>;
std::optional<std::string> environment_variable(const char* name);

/// Understands, in this order: torchrun's RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR, MASTER_PORT (the
/// last two also with PET_ before them); Open MPI's OMPI_COMM_WORLD_RANK, _SIZE, _LOCAL_RANK, _LOCAL_SIZE; Slurm's
/// SLURM_PROCID, SLURM_STEP_NUM_TASKS, SLURM_LOCALID, SLURM_STEP_TASKS_PER_NODE, SLURM_NODEID, SLURM_STEP_NODELIST.
/// MASTER_ADDR and MASTER_PORT count under each. Without a port Slurm and MPI ranks agree on one that the job's number
/// fixes; without SKIPPIPE_TOKEN (16 to 128 letters, digits, - and _) on a token that it fixes too. Nothing where no
/// launcher is to be seen. Throws InputError where variables are missing, are no numbers or contradict each other.
std::optional<LaunchEnvironment> launch_environment(const Variable& variable = environment_variable);

/// "localhost", 127.0.0.0/8, ::1.
bool is_loopback(const std::string& address);

/// The address of this host on the way to `host` (a name or an address): what the route says; nothing is sent. Empty
/// where there is no way, or where `host` is this host under a loopback name, as Debian's /etc/hosts has it.
std::string address_towards(const std::string& host);
/// The address by which a network interface is reached, an IPv4 one where it has one. Throws std::runtime_error where
/// there is none.
std::string address_of_interface(const std::string& name);
/// As the host calls itself.
std::string host_name();

}  // namespace skippipe
