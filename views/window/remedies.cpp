// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/window/remedies.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <optional>
#include <utility>

#include <QHBoxLayout>
#include <QPushButton>

#include "core/experiment/model_size.h"
#include "core/experiment/regions.h"
#include "core/experiment/validate.h"
#include "views/document/document.h"
#include "views/theme/elided_button.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/words.h"
#include "views/topology/edits.h"
#include "views/topology/failure_edits.h"
#include "views/topology/layouts.h"
#include "views/window/problem_list.h"

namespace skippipe {
namespace {

constexpr std::size_t most_remedies = 3;
constexpr std::size_t most_nodes_linked = 64;  // every pair of them
constexpr int most_stages_tried = 24;
constexpr const char* links_pointer = "/topology/links";

/// How all remedies begin that choose another number of stages.
QString stages_words() { return QObject::tr("Use %1 stages").section("%1", 0, 0); }

std::size_t count_errors(const Faults& faults) {
    return static_cast<std::size_t>(std::count_if(
        faults.begin(), faults.end(), [](const Fault& fault) { return fault.severity == Fault::Severity::error; }));
}

/// Whether something of that kind is wrong there.
bool holds(const Faults& faults, const Fault& fault) {
    return std::any_of(faults.begin(), faults.end(), [&](const Fault& other) {
        return other.pointer == fault.pointer && other.severity == fault.severity;
    });
}

/// What of `before` is not in `after`.
Faults gone(const Faults& before, const Faults& after) {
    Faults cleared;
    std::copy_if(before.begin(), before.end(), std::back_inserter(cleared), [&](const Fault& fault) {
        return std::find(after.begin(), after.end(), fault) == after.end() && !holds(after, fault);
    });
    return cleared;
}

/// Whether it mends the fault; `remedy` says then what it comes to.
bool mends(Remedy& remedy, const Experiment& mended, const Fault& fault, const Faults& faults) {
    const Faults left = validate(mended);
    const bool counts = fault.severity == Fault::Severity::error && holds(faults, fault);
    remedy.left = count_errors(left);
    remedy.cleared = gone(faults, left);
    return !holds(left, fault) && remedy.left <= count_errors(faults) - (counts ? 1 : 0);
}

/// Of the ways to do the whole otherwise only those that leave the fewest errors: one that leads to another problem
/// leads nowhere beside one that leads to a plan.
void leave_out_lesser(std::vector<Remedy>& found) {
    std::size_t fewest = std::numeric_limits<std::size_t>::max();
    for (const auto& remedy : found)
        if (remedy.of_pipeline) fewest = std::min(fewest, remedy.left);
    std::erase_if(found, [&](const Remedy& remedy) { return remedy.of_pipeline && remedy.left > fewest; });
}

/// Those of `all` that mend it, each in another way.
std::vector<Remedy> tried(std::vector<Remedy>& all, const Fault& fault, const Experiment& experiment,
                          const Faults& faults, const std::stop_token& stop) {
    std::vector<Remedy> found;
    std::vector<Experiment> known{experiment};
    for (auto& remedy : all) {
        if (stop.stop_requested()) break;
        Experiment mended = experiment;
        remedy.mend(mended);
        if (std::find(known.begin(), known.end(), mended) != known.end() || !mends(remedy, mended, fault, faults))
            continue;
        known.push_back(std::move(mended));
        found.push_back(std::move(remedy));
    }
    leave_out_lesser(found);
    bool has_stages = false;  // one number of them is enough
    std::erase_if(found, [&](const Remedy& remedy) {
        return remedy.words.startsWith(stages_words()) && std::exchange(has_stages, true);
    });
    if (found.size() > most_remedies) found.erase(found.begin() + most_remedies, found.end());
    return found;
}

QString remove_words(const std::string& id) { return QObject::tr("Remove %1").arg(QString::fromStdString(id)); }

/// Of all links between nodes, or of all between regions: those that this one is one of.
double median_of_like(const Topology& t, const Link& link, double Link::*value) {
    const auto joins_regions = [&](const Link& one) {
        return std::any_of(t.regions.begin(), t.regions.end(), [&](const Region& r) { return r.id == one.from; });
    };
    std::vector<double> values;
    for (const auto& other : t.links)
        if (joins_regions(other) == joins_regions(link)) values.push_back(other.*value);
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    return *middle;
}

/// A slip of the unit: what its like have.
void add_for_link_value(std::vector<Remedy>& all, const Fault& fault, const Experiment& e, const LinkKey& key) {
    const auto add = [&](double Link::*value, const auto& words) {
        for (const auto& link : e.topology.links)
            if (link.from == key.from && link.to == key.to)
                all.push_back({QObject::tr("Give it the median of its like, %1")
                                   .arg(words(median_of_like(e.topology, link, value))),
                               [key, value, usual = median_of_like(e.topology, link, value)](Experiment& x) {
                                   for (auto& mended : x.topology.links)
                                       if (mended.from == key.from && mended.to == key.to) mended.*value = usual;
                               }});
    };
    if (fault.pointer.ends_with("/bandwidth_bytes_per_s"))
        add(&Link::bandwidth_bytes_per_s, [](double value) { return quantity(8 * value, "bit/s"); });
    if (fault.pointer.ends_with("/latency_s")) add(&Link::latency_s, [](double value) { return duration(value); });
}

/// Of which a node is drawn nearest to this one; empty: there is none.
std::string nearest_region(const Experiment& e, const Node& node) {
    const auto places = node_places(e);
    const auto at = places[static_cast<std::size_t>(&node - e.topology.nodes.data())];
    std::string nearest;
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < places.size(); ++i) {
        const auto& other = e.topology.nodes[i];
        const double far = std::hypot(places[i].x - at.x, places[i].y - at.y);
        if (!other.region.empty() && far < least) least = far, nearest = other.region;
    }
    return nearest;
}

void add_for_things(std::vector<Remedy>& all, const Fault& fault, const Experiment& e) {
    const Selection subject = subject_of(fault.pointer, e);
    if (subject.failure)
        all.push_back(
            {QObject::tr("Remove this failure"), [at = *subject.failure](Experiment& x) { remove_failure(x, at); }});
    for (const auto& id : subject.nodes) {
        const auto node =
            std::find_if(e.topology.nodes.begin(), e.topology.nodes.end(), [&](const Node& n) { return n.id == id; });
        if (!node->region.empty())
            all.push_back({QObject::tr("Add region %1").arg(QString::fromStdString(node->region)),
                           [r = node->region, x = node->x, y = node->y](Experiment& to) {
                               to.topology.regions.push_back({r, x, y});
                           }});
        if (node->memory_bytes)
            all.push_back({QObject::tr("Give it the memory that one microbatch needs"), [id](Experiment& x) {
                               for (auto& n : x.topology.nodes)
                                   if (n.id == id) n.memory_bytes = memory_for_one(x);
                           }});
        if (const std::string near = node->region.empty() ? nearest_region(e, *node) : std::string{}; !near.empty())
            all.push_back({QObject::tr("Put %1 in %2").arg(QString::fromStdString(id), QString::fromStdString(near)),
                           [id, near](Experiment& x) {
                               keep_places(x);
                               move_to_region(x, id, near);
                           }});
        if (e.topology.nodes.size() <= most_nodes_linked)
            all.push_back({QObject::tr("Link %1 to all others").arg(QString::fromStdString(id)), [id](Experiment& x) {
                               std::vector<std::string> others;
                               for (const auto& n : x.topology.nodes) others.push_back(n.id);
                               for (const auto& other : others) add_link(x, id, other);
                           }});
        all.push_back({remove_words(id), [id](Experiment& x) { remove_selected(x, {.nodes = {id}}); }});
    }
    for (const auto& link : subject.links) add_for_link_value(all, fault, e, link);
    if (!subject.links.empty())
        all.push_back({QObject::tr("Remove this link"),
                       [links = subject.links](Experiment& x) { remove_selected(x, {.links = links}); }});
}

/// The regions that a fault names, else the first two between which no link leads.
std::optional<std::pair<std::string, std::string>> regions_to_link(const Fault& fault, const Topology& topology) {
    for (const auto& a : topology.regions)
        for (const auto& b : topology.regions)
            if (fault.what == a.id + " and " + b.id + " are not linked") return std::pair{a.id, b.id};
    return unlinked_regions(topology);
}

/// Every node of one group with every node of another.
void link_groups(Experiment& experiment, const std::vector<std::vector<std::size_t>>& groups) {
    const auto nodes = experiment.topology.nodes;
    for (std::size_t a = 0; a < groups.size(); ++a)
        for (std::size_t b = a + 1; b < groups.size(); ++b)
            for (const std::size_t from : groups[a])
                for (const std::size_t to : groups[b]) add_link(experiment, nodes[from].id, nodes[to].id);
}

/// What is missing between nodes, the least first.
void add_for_links(std::vector<Remedy>& all, const Fault& fault, const Experiment& e) {
    if (e.topology.nodes.size() < 2 || e.topology.nodes.size() > most_nodes_linked) return;
    if (const auto apart = regions_to_link(fault, e.topology))
        all.push_back({QObject::tr("Link %1 and %2")
                           .arg(QString::fromStdString(apart->first), QString::fromStdString(apart->second)),
                       [apart = *apart](Experiment& x) { add_link(x, apart.first, apart.second); }});
    else if (const auto groups = linked_groups(e.topology); groups.size() > 1)
        all.push_back({groups.size() == 2 ? QObject::tr("Link the two groups") : QObject::tr("Link the groups"),
                       [groups](Experiment& x) { link_groups(x, groups); }});
    all.push_back({QObject::tr("Link everything"), [](Experiment& x) {
                       Selection everything;
                       for (const auto& node : x.topology.nodes) everything.nodes.insert(node.id);
                       for (const auto& region : x.topology.regions) everything.regions.insert(region.id);
                       link_all(x, everything);
                   }});
}

/// That many stages; what is said of stages one by one goes only where it is of another number of them.
void use_stages(Experiment& e, int stages) {
    const auto is_other = [&](const auto& of_stages) { return std::ssize(of_stages) != stages; };
    e.pipeline.stages = stages;
    if (is_other(e.pipeline.stage_sizes)) e.pipeline.stage_sizes.clear();
    if (is_other(e.pipeline.placement)) e.pipeline.placement.clear();
    if (is_other(e.pipeline.blocks_per_stage)) e.pipeline.blocks_per_stage.clear();
}

/// First what leaves the rest as it is.
void add_for_pipeline(std::vector<Remedy>& all, const Experiment& e) {
    const auto& now = e.pipeline;
    const auto add = [&](const QString& words, std::function<void(Experiment&)> mend) {
        all.push_back({.words = words, .mend = std::move(mend), .of_pipeline = true});
    };
    const int most = std::min(static_cast<int>(e.topology.nodes.size()), most_stages_tried);
    const auto keeps_rest = [&](int stages) {
        const auto fits = [&](const auto& of_stages) { return of_stages.empty() || std::ssize(of_stages) == stages; };
        return fits(now.stage_sizes) && fits(now.placement) && fits(now.blocks_per_stage);
    };
    const auto add_stages = [&](bool keeping) {
        for (int stages = most; stages >= 2; --stages)
            if (stages != now.stages && keeps_rest(stages) == keeping)
                add(QObject::tr("Use %1 stages").arg(stages), [stages](Experiment& x) { use_stages(x, stages); });
    };
    add_stages(true);
    add(QObject::tr("Let the planner choose who is where"), [](Experiment& x) {
        x.pipeline.stage_sizes.clear();
        x.pipeline.placement.clear();
    });
    add_stages(false);
    add(QObject::tr("Let the planner choose blocks"), [](Experiment& x) {
        x.pipeline.blocks_per_stage.clear();
        x.pipeline.plan_blocks = true;
    });
    add(QObject::tr("Skip nothing"), [](Experiment& x) { x.pipeline.skip_ratio = 0; });
    add(QObject::tr("One size for all microbatches"), [](Experiment& x) { x.pipeline.microbatch_sizes.clear(); });
    add(QObject::tr("Let data nodes start different numbers of microbatches"),
        [](Experiment& x) { x.pipeline.balance_data_nodes = false; });
}

/// Goes, and its place in its stage with it where sizes of stages are said.
void leave_out(Experiment& e, const std::string& id, std::optional<int> stage) {
    remove_selected(e, {.nodes = {id}});
    auto& sizes = e.pipeline.stage_sizes;
    if (stage && *stage >= 0 && *stage < std::ssize(sizes)) --sizes[static_cast<std::size_t>(*stage)];
}

/// A node that a plan sends nothing through: whether another edit gives it work, only the next plan would say.
void add_for_idle_node(std::vector<Remedy>& all, const Fault& fault, const Experiment& e) {
    for (const auto& id : subject_of(fault.pointer, e).nodes)
        all.push_back({remove_words(id), [id, stage = idle_stage(fault)](Experiment& x) { leave_out(x, id, stage); }});
}

}  // namespace

std::vector<Remedy> remedies_for(const Fault& fault, const Experiment& experiment, const std::stop_token& stop) {
    std::vector<Remedy> all;
    const Faults faults = validate(experiment);
    // What a plan alone finds no check of the experiment can say is mended: what mends it by itself, or nothing.
    if (std::find(faults.begin(), faults.end(), fault) == faults.end()) {
        if (fault.pointer == links_pointer)
            add_for_links(all, fault, experiment);
        else if (fault.severity == Fault::Severity::warning)
            add_for_idle_node(all, fault, experiment);
        return tried(all, fault, experiment, faults, stop);
    }
    add_for_things(all, fault, experiment);
    add_for_links(all, fault, experiment);
    add_for_pipeline(all, experiment);
    if (!experiment.failures.empty())
        all.push_back(
            {experiment.failures.size() == 1 ? QObject::tr("Remove the failure") : QObject::tr("Remove all failures"),
             [](Experiment& x) { x.failures.clear(); }});
    all.push_back({QObject::tr("Train under the virtual clock"), [](Experiment& x) {
                       x.execution.clock = Clock::virtual_time;
                       x.execution.transport = Transport::local;
                       x.execution.ranks = 1;
                   }});
    all.push_back({QObject::tr("Charge reductions as a ring"),
                   [](Experiment& x) { x.costs.all_reduce = AllReduceRule::charged; }});
    return tried(all, fault, experiment, faults, stop);
}

RemedyBar::RemedyBar(Document& document, bool names_fault, QWidget* parent)
    : QWidget(parent), document_(document), words_(new QLabel), row_(new QHBoxLayout(this)) {
    setObjectName("remedies");
    pool_.setMaxThreadCount(1);
    const int side = names_fault ? size::wide_gap : size::gap;
    row_->setContentsMargins(side, size::unit, side, size::unit);
    words_->setProperty("role", "secondary");
    row_->addWidget(words_);
    words_->setVisible(names_fault);  // in its row: before, it would be a window
    row_->addStretch();
    hide();
}

RemedyBar::~RemedyBar() {
    stop_.request_stop();
    pool_.waitForDone();
}

void RemedyBar::show_for(const Fault* fault) {
    if (fault != nullptr && document_.is_of_file(*fault)) fault = nullptr;
    const Experiment& now = document_.experiment();
    if (fault == nullptr ? !fault_ : fault_ == *fault && of_ == now) return;
    stop_.request_stop();
    stop_ = std::stop_source{};
    ++serial_;
    fault_ = fault == nullptr ? std::nullopt : std::optional(*fault);
    if (!fault_) return show_remedies({});
    of_ = now;
    // What mended the experiment before the edit may mend another now.
    for (auto* button : findChildren<QPushButton*>()) button->setEnabled(false);
    pool_.start([this, serial = serial_, wrong = *fault, experiment = now, stop = stop_.get_token()] {
        auto remedies = remedies_for(wrong, experiment, stop);
        QMetaObject::invokeMethod(
            this,
            [this, serial, remedies = std::move(remedies)] {
                if (serial == serial_) show_remedies(remedies);
            },
            Qt::QueuedConnection);
    });
}

void RemedyBar::show_remedies(const std::vector<Remedy>& remedies) {
    for (auto* old : findChildren<QPushButton*>()) {
        row_->removeWidget(old);
        old->setParent(nullptr);
        old->deleteLater();  // it may be what was pressed
    }
    setVisible(!remedies.empty());
    name_fault();
    int place = 1;
    for (const auto& remedy : remedies) {
        auto* button = new ElidedButton(remedy.words);
        button->setToolTip(tip_of(remedy));
        connect(button, &QPushButton::clicked, this, [this, button, remedy] {
            button->clearFocus();  // it goes: what is typed next is meant for no field beside it
            document_.edit(remedy.words, remedy.mend);
        });
        row_->insertWidget(place++, button);
    }
    arrange();
}

/// What pressing it comes to.
QString RemedyBar::tip_of(const Remedy& remedy) const {
    QStringList lines{remedy.words};
    if (fault_ && std::find(remedy.cleared.begin(), remedy.cleared.end(), *fault_) == remedy.cleared.end())
        lines << tr("Clears: %1").arg(fault_words(*fault_, document_));
    for (const auto& fault : remedy.cleared) lines << tr("Clears: %1").arg(fault_words(fault, document_));
    Experiment mended = of_;
    remedy.mend(mended);
    const auto& now = of_.pipeline;
    const auto& then = mended.pipeline;
    QStringList emptied;
    if (!now.stage_sizes.empty() && then.stage_sizes.empty()) emptied << place_words("/pipeline/stage_sizes");
    if (!now.placement.empty() && then.placement.empty()) emptied << place_words("/pipeline/placement");
    if (!now.blocks_per_stage.empty() && then.blocks_per_stage.empty())
        emptied << place_words("/pipeline/blocks_per_stage");
    if (!now.microbatch_sizes.empty() && then.microbatch_sizes.empty())
        emptied << place_words("/pipeline/microbatch_sizes");
    if (!emptied.isEmpty()) lines << tr("Empties %1").arg(emptied.join(tr(" and ")));
    if (remedy.left > 0) lines << (remedy.left == 1 ? tr("1 error remains") : tr("%1 errors remain").arg(remedy.left));
    return lines.join('\n');
}

/// So that nobody takes what mends one problem for what mends another.
void RemedyBar::name_fault() {
    const QString place = fault_ ? fault_place(*fault_, document_) : QString{};
    words_->setText(place.isEmpty() ? tr("Remedy:") : tr("Remedy for %1:").arg(place));
}

/// One below the other where they would be cut short beside each other.
void RemedyBar::arrange() {
    int wide = 2 * size::wide_gap + (words_->isHidden() ? 0 : words_->sizeHint().width());
    for (const auto* button : findChildren<QPushButton*>()) wide += row_->spacing() + button->sizeHint().width();
    row_->setDirection(wide > width() ? QBoxLayout::TopToBottom : QBoxLayout::LeftToRight);
}

void RemedyBar::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    arrange();
}

}  // namespace skippipe
