// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/help_desk.h"

#include "views/idle/what_helps.h"

namespace skippipe {
namespace {

constexpr int rest_ms = 200;
constexpr std::size_t most_visits = 5'000;  ///< of nodes by microbatches, in a plan that takes no seconds to explain

std::size_t visits(const Plan& plan) {
    std::size_t count = 0;
    for (const auto& path : plan.paths) count += path.nodes.size();
    return count;
}

}  // namespace

HelpDesk::HelpDesk(QObject* parent) : QObject(parent) {
    rest_.setSingleShot(true);
    rest_.setInterval(rest_ms);
    connect(&rest_, &QTimer::timeout, this, &HelpDesk::ask);
}

void HelpDesk::want(const Subject& subject, const std::shared_ptr<const RunData>& run, const Plan& plan) {
    if (plan_ != nullptr && subject == subject_) return;
    want_nothing();
    subject_ = subject;
    run_ = run;
    plan_ = &plan;
    if (visits(plan) <= most_visits) rest_.start();
}

void HelpDesk::want_nothing() {
    rest_.stop();
    reader_.forget();
    run_.reset();
    plan_ = nullptr;
    answer_ = {};
    asked_ = false;
}

void HelpDesk::ask() {
    if (plan_ == nullptr || asked_) return;
    rest_.stop();
    asked_ = true;
    const auto lines = std::make_shared<Help>();
    reader_.read(
        [lines, thing = subject_.thing, run = run_, plan = plan_] {  // the run holds its plans
            *lines = what_helps(*run->problem, *plan, thing, run->experiment.training.gradient_wire);
        },
        [this, lines](const QString& fault) {
            answer_ = fault.isEmpty() ? *lines : Help{.limit = {}, .changes = {fault}};
            Q_EMIT answered();
        });
    Q_EMIT answered();  // that it is tried
}

namespace {

void add_rows(std::vector<Detail>& rows, const QString& head, const QStringList& lines) {
    for (qsizetype i = 0; i < lines.size(); ++i)
        rows.push_back({i == 0 ? head : QString(QChar(0x00A0)), lines[i], DetailLink::thing});
}

}  // namespace

std::vector<Detail> HelpDesk::answers() const {
    if (plan_ == nullptr) return {};
    const QString name = tr("Would\u00A0help");
    if (!has_answer())
        return {is_busy() ? Detail{name, tr("trying changes…")}
                          : Detail{name, tr("Try changes of this large plan"), DetailLink::helps}};
    std::vector<Detail> rows;
    if (!answer_.limit.isEmpty()) rows.push_back({tr("Limited\u00A0by"), answer_.limit, DetailLink::thing});
    add_rows(rows, name, answer_.changes);
    return rows;
}

std::vector<Detail> HelpDesk::remarks() const {
    if (!has_answer()) return {};
    std::vector<Detail> rows;
    if (!answer_.hardly.isEmpty()) add_rows(rows, tr("Tried"), {answer_.hardly});
    add_rows(rows, tr("Would\u00A0harm"), answer_.longer);
    if (!answer_.bound.isEmpty()) rows.push_back({tr("Bound"), answer_.bound, {}});
    return rows;
}

}  // namespace skippipe
