// SPDX-License-Identifier: GPL-3.0-or-later
#include <exception>
#include <iostream>

#include <fcntl.h>
#include <unistd.h>

#include "app/cli/verbs.h"
#include "core/base/build_info.h"
#include "plugins/planners/all.h"

namespace {

using namespace skippipe;

/// What is said where standard output is closed must fail, not land in the next file that is opened.
void hold_standard_output() {
    if (::fcntl(STDOUT_FILENO, F_GETFD) >= 0) return;
    const int full = ::open("/dev/full", O_WRONLY);
    if (full < 0 || full == STDOUT_FILENO) return;
    ::dup2(full, STDOUT_FILENO);
    ::close(full);
}

int run_verb(int argc, char** argv) {
    PlannerRegistry planners;
    register_planners(planners);
    cli::Context context{planners, false, default_record_path()};
    CLI::App app{"Plan, train and compare pipelines of unequal, far-apart, unreliable machines", "skippipe"};
    app.set_version_flag("--version", version);
    app.require_subcommand(1);
    app.fallthrough();
    app.add_option("--db", context.record, "Record to write and read")->capture_default_str();
    cli::add_validate(app, context);
    cli::add_models(app, context);
    cli::add_plan(app, context);
    cli::add_replan(app, context);
    cli::add_probe(app, context);
    cli::add_run(app, context);
    cli::add_runs(app, context);
    cli::add_sweep(app, context);
    cli::add_worth(app, context);
    cli::add_control(app, context);
    cli::add_fork(app, context);
    cli::add_evaluate(app, context);
    cli::add_log(app, context);
    cli::add_export(app, context);
    cli::add_report(app, context);
    cli::add_import(app, context);
    cli::add_torture(app, context);
    cli::add_bench(app, context);
    try {
        app.parse(argc, argv);
        return context.exit_code;
    } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? cli::fine : cli::bad_input;
    } catch (const InputError& error) {
        cli::report(error.faults(), context.json);
        return cli::bad_input;
    } catch (const std::exception& error) {
        std::cerr << "error: " << error.what() << '\n';
        return cli::run_failed;
    }
}

}  // namespace

int main(int argc, char** argv) {
    hold_standard_output();
    const int code = run_verb(argc, argv);
    if (code != cli::fine || std::cout.flush()) return code;
    std::cerr << "error: what was to be said cannot be written to standard output\n";
    return cli::run_failed;
}
