// SPDX-License-Identifier: GPL-3.0-or-later
// Why nodes idle: causes of what is selected, and stages and nodes beside each other.
#include <algorithm>
#include <numeric>
#include <set>

#include <QActionGroup>
#include <QMenu>
#include <QTabBar>
#include <QToolButton>

#include "core/analysis/device_use.h"
#include "views/runs/run_table.h"
#include "views/theme/beside_tabs.h"
#include "views/theme/numbers.h"
#include "views/timeline/legend.h"
#include "views/window/watch_page.h"

namespace skippipe {

/// Why nodes idle: by cause of what is selected, and of all stages and nodes beside each other.
QWidget* WatchPage::idle_tabs() {
    auto* tabs = idle_tabs_ = new QTabWidget;
    tabs->setDocumentMode(true);
    tabs->setObjectName("idle_tabs");
    tabs->addTab(idle_, tr("Causes"));
    by_stage_->findChild<QTableWidget*>()->setObjectName("idle_by_stage");
    tabs->addTab(by_stage_, tr("By stage"));
    tabs->addTab(by_node_, tr("By node"));
    tabs->setTabVisible(tabs->addTab(devices_, tr("Devices")), false);
    scope_->setObjectName("idle_scope");
    scope_->setAccessibleName(tr("Idle times of"));
    scope_->setToolTip(tr("Idle times of the whole run, or of what the timeline has in sight"));
    scope_->setPopupMode(QToolButton::InstantPopup);
    scope_->setMenu(new QMenu(scope_));
    auto* scopes = new QActionGroup(scope_);
    for (const auto& [words, of_sight] : {std::pair{tr("Whole run"), false}, {tr("In sight"), true}}) {
        auto* action = scope_->menu()->addAction(words);
        action->setCheckable(true);
        scopes->addAction(action);
        connect(action, &QAction::toggled, this, [this, words = words, of_sight = of_sight](bool on) {
            if (!on) return;
            of_sight_ = of_sight;
            scope_->setText(words);
            show_idle();
            show_splits();
        });
        action->setChecked(!of_sight);
    }
    tabs->setCornerWidget(scope_);
    tabs->tabBar()->setStyleSheet("QTabBar::tab{padding:5px 8px 4px 8px;}");  // whole beside it at 1024 pixels
    constexpr int both = 2 * 420;   // each as wide as in a window of 1280 pixels
    constexpr int both_rows = 640;  ///< pixels: causes and below them stages, none of them scrolled
    auto* parts = new BesideTabs(*tabs, *by_node_, BesideTabs::Side::right, both);
    parts->insertWidget(0, new BesideTabs(*tabs, *by_stage_, BesideTabs::Side::below, both_rows));
    connect(&zoom_, &TimeZoom::changed, this, [this] {
        if (!is_of_sight()) return;
        show_idle();
        show_splits();
    });
    connect(helps_, &HelpDesk::answered, this, &WatchPage::show_selected);
    connect(by_stage_, &SplitTable::chosen, this,
            [this](int stage) { selection_.select(stage < 0 ? Selection{} : Selection{.stage = stage}); });
    connect(by_node_, &SplitTable::chosen, this, [this](int node) {
        if (node < 0 || !shown_) return selection_.clear();
        selection_.select({.nodes = {shown_->lanes->lanes()[static_cast<std::size_t>(node)].name}});
    });
    connect(idle_, &IdlePanel::chosen, this, &WatchPage::find_waits);
    connect(find_, &FindBar::looked, this, [this] {
        const auto* found = find_->found();
        const bool one = found != nullptr && found->query.causes.size() == 1 && found->query.kinds.empty();
        idle_->mark(one ? std::optional(found->query.causes.front()) : std::nullopt);
    });
    return parts;
}

/// Those of the node or stage whose causes are shown stand out in the timeline; asked for once more, none do.
void WatchPage::find_waits(IdleCause cause) {
    const auto& now = selection_.now();
    QString words = QString::fromStdString(query_words(cause));
    if (now.nodes.size() == 1)
        words += ' ' + QString::fromStdString(*now.nodes.begin());
    else if (now.stage)
        words += QStringLiteral(" stage %1").arg(*now.stage);
    if (find_->isVisible() && find_->typed() == words) return find_->close_bar();
    find_->open();
    find_->look_for(words);
}

bool WatchPage::is_of_sight() const { return of_sight_ && shown_ && shown_->problem; }

/// Of all iterations that were explained, or of what is in sight: sums of the lanes there.
std::vector<IdleSplit> WatchPage::node_splits() const {
    if (!is_of_sight()) return split_nodes(shown_->node_idle_s, shown_->node_busy_s);
    std::vector<IdleSplit> splits;
    for (int lane = 0; lane < static_cast<int>(shown_->lanes->lanes().size()); ++lane) {
        const auto sum = shown_->lanes->statistics(lane, lane, std::max(zoom_.begin(), 0.0),
                                                   std::min(zoom_.end(), shown_->lanes->extent_s()));
        splits.push_back({sum.busy_s, sum.idle_s});
    }
    return splits;
}

void WatchPage::show_splits() {
    std::vector<SplitTable::Row> nodes, stages;
    if (shown_ && shown_->problem) {
        const auto splits = node_splits();
        std::vector<int> stage_of;
        for (std::size_t lane = 0; lane < shown_->lanes->lanes().size() && lane < splits.size(); ++lane) {
            stage_of.push_back(shown_->lanes->lanes()[lane].stage);
            nodes.push_back({QString::fromStdString(shown_->lanes->lanes()[lane].name), splits[lane]});
        }
        const auto by_stage = split_stages(splits, stage_of);
        for (std::size_t stage = 0; stage < by_stage.size(); ++stage)
            stages.push_back({tr("Stage %1").arg(stage), by_stage[stage]});
    }
    by_node_->show_rows(nodes, tr("All nodes"));
    by_stage_->show_rows(stages, tr("All stages"));
}

/// The legend has the causes of this run, the longest first; while none is known, all.
void WatchPage::show_drawn_causes() {
    const auto shares = shown_->idle_share;
    auto causes = drawn_causes();
    const auto share_of = [&](IdleCause cause) { return shares[static_cast<std::size_t>(cause)]; };
    if (std::any_of(causes.begin(), causes.end(), [&](IdleCause cause) { return share_of(cause) > 0; })) {
        std::erase_if(causes, [&](IdleCause cause) { return !(share_of(cause) > 0); });
        std::stable_sort(causes.begin(), causes.end(),
                         [&](IdleCause a, IdleCause b) { return share_of(a) > share_of(b); });
    }
    const bool some_down =
        !shown_->lanes->losses().empty() || shown_->idle_share[static_cast<std::size_t>(IdleCause::node_down)] > 0;
    if (causes == drawn_causes_ && some_down == drawn_down_) return;
    drawn_causes_ = std::move(causes);
    drawn_down_ = some_down;
    drawn_->show_causes(drawn_causes_, drawn_down_);
}

/// A node that is selected alone has its stage told as well.
void WatchPage::mark_splits() {
    const auto& now = selection_.now();
    std::optional<int> node, stage = now.stage;
    if (shown_ && now.nodes.size() == 1)
        for (std::size_t lane = 0; lane < shown_->lanes->lanes().size(); ++lane)
            if (shown_->lanes->lanes()[lane].name == *now.nodes.begin()) node = static_cast<int>(lane);
    if (const int served = node ? shown_->lanes->lanes()[static_cast<std::size_t>(*node)].stage : -1;
        !stage && served >= 0)
        stage = served;
    by_stage_->mark(stage);
    by_node_->mark(node);
}

/// Beside the causes the devices of what is selected, in their tab all of them.
void WatchPage::show_devices() {
    const auto all = shown_ ? device_use(shown_->devices) : std::vector<DeviceReading>{};
    idle_tabs_->setTabVisible(idle_tabs_->indexOf(devices_), !all.empty());
    if (all.empty() || !shown_->problem) return idle_->show_devices({}, {});
    const auto& names = shown_->problem->node_ids;
    devices_->show_devices(all, names);
    const auto& selected = selection_.now();
    std::set<int> nodes;
    for (std::size_t node = 0; node < names.size(); ++node) {
        const bool of_stage = selected.stage && node < shown_->lanes->lanes().size() &&
                              shown_->lanes->lanes()[node].stage == *selected.stage;
        if (selected.nodes.empty() ? of_stage : selected.nodes.contains(names[node]))
            nodes.insert(static_cast<int>(node));
    }
    const bool some = selected.stage || !selected.nodes.empty();
    const auto devices = some ? devices_of_nodes(all, nodes) : all;
    const auto words = devices.size() == 1 ? device_words(devices.front(), names) + "\n\n" : QString{};
    idle_->show_devices(busy_words(devices), words + busy_meaning());
}

void WatchPage::show_area_idle(const TimelineArea& area) {
    auto shares = area.statistics.idle_s;
    for (double& share : shares) share /= area.statistics.seconds;
    const QString idle = percent(std::accumulate(shares.begin(), shares.end(), 0.0));
    const auto& lanes = timeline_->data()->lanes();
    idle_->show_shares(
        area.lanes.size() == 1
            ? tr("Why %1 idles %2 of the area")
                  .arg(QString::fromStdString(lanes[static_cast<std::size_t>(area.lanes.front())].name), idle)
            : tr("Why %1 nodes idle %2 of the area").arg(area.lanes.size()).arg(idle),
        shares);
}

void WatchPage::show_idle() {
    const RunData* data = shown_.get();
    if (data == nullptr || data->explained_iterations == 0) {
        idle_->show_nothing(data != nullptr && did_nothing(data->info)
                                ? did_nothing_words(data->info)
                                : tr("Causes appear after the first whole iteration"));
        return;
    }
    if (const auto& area = timeline_->area(); area && area->statistics.seconds > 0) return show_area_idle(*area);
    const QString of_what = is_of_sight() ? tr("time in sight") : tr("run");
    const auto show = [&](const QString& who, const IdleSplit& split) {
        idle_->show_shares(tr("Why %1 %2 of the %3").arg(who, percent(split.idle_share()), of_what), split.shares());
    };
    const auto& nodes = selection_.now().nodes;
    const auto splits = data->problem ? node_splits() : std::vector<IdleSplit>{};
    if (nodes.size() == 1 && data->problem)
        for (std::size_t node = 0; node < std::min(data->problem->node_ids.size(), splits.size()); ++node) {
            if (data->problem->node_ids[node] != *nodes.begin()) continue;
            const QString name = QString::fromStdString(*nodes.begin());
            if (data->node_busy_s[node] == 0)
                return idle_->show_shares(tr("%1 executes nothing: the plan sends no microbatch through it").arg(name),
                                          splits[node].shares());
            return show(tr("%1 idles").arg(name), splits[node]);
        }
    if (const auto& stage = selection_.now().stage; stage && nodes.empty() && data->problem) {
        std::vector<int> stage_of;
        for (const auto& lane : data->lanes->lanes()) stage_of.push_back(lane.stage);
        const auto stages = split_stages(splits, stage_of);
        if (*stage >= 0 && static_cast<std::size_t>(*stage) < stages.size())
            return show(tr("stage %1 idles").arg(*stage), stages[static_cast<std::size_t>(*stage)]);
    }
    if (is_of_sight()) return show(tr("all nodes idle"), sum_of(splits));
    const double idle = std::accumulate(data->idle_share.begin(), data->idle_share.end(), 0.0);
    const QString title = data->unread.empty()
                              ? tr("Why all nodes idle %1 of the run").arg(percent(idle))
                              : tr("Why all nodes idle %1 of the time, in the %2 iterations that were read")
                                    .arg(percent(idle))
                                    .arg(data->explained_iterations);
    idle_->show_shares(title, data->idle_share);
}

/// The one that is asked about first.
void WatchPage::select_idlest() {
    if (!shown_ || !shown_->problem) return;
    const auto splits = node_splits();
    const auto most = std::max_element(splits.begin(), splits.end(), [](const IdleSplit& a, const IdleSplit& b) {
        return a.idle_share() < b.idle_share();
    });
    const auto& lanes = shown_->lanes->lanes();
    const auto place = static_cast<std::size_t>(most - splits.begin());
    if (place < std::min(splits.size(), lanes.size())) selection_.select({.nodes = {lanes[place].name}});
}

}  // namespace skippipe
