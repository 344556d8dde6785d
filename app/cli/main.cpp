// SPDX-License-Identifier: GPL-3.0-or-later
#include <exception>
#include <iostream>

#include "app/cli/verbs.h"
#include "core/base/build_info.h"
#include "plugins/planners/all.h"

int main(int argc, char** argv) {
    using namespace skippipe;
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
