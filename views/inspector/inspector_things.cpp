// SPDX-License-Identifier: GPL-3.0-or-later
// Properties of what is drawn: a node, a region, a link, or several of them.
#include <algorithm>

#include <QComboBox>
#include <QSignalBlocker>

#include "views/inspector/form.h"
#include "views/inspector/inspector.h"
#include "views/inspector/region_facts.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"
#include "views/topology/devices.h"
#include "views/topology/edits.h"

namespace skippipe {
namespace {

template <class List, class Match>
auto find_part(List& list, const Match& match) {
    const auto it = std::find_if(list.begin(), list.end(), match);
    return it == list.end() ? nullptr : &*it;
}

QStringList region_names(const Experiment& e) {
    QStringList names{QString{}};
    for (const auto& region : e.topology.regions) names << QString::fromStdString(region.id);
    return names;
}

/// Whether sizes can be told: what is wrong, too little memory for one, is so with nodes and links alone.
bool can_size(const Faults& faults) {
    return std::all_of(faults.begin(), faults.end(), [](const Fault& fault) {
        return fault.severity != Fault::Severity::error || fault.pointer.starts_with("/topology/");
    });
}

}  // namespace

void Inspector::show_node(const std::string& id) {
    column_->addWidget(words_label(tr("Node"), "heading"));
    auto* form =
        new Form<Node>(document_, QStringLiteral("node/") + QString::fromStdString(id),
                       [id](auto& e) { return find_part(e.topology.nodes, [&](const Node& n) { return n.id == id; }); },
                       hidden(FormPart::node), {{"region", region_names}});
    show_hardware(*form, {id});
    show_memory(*form, id);
    show_values_in_force(*form, {id});
    show_idle_row(*form, id);
    show_awaited_row(*form, id);
    form->also = [this](Experiment& e, const std::string& key, const Node& before, const Node& after) {
        if (key != "id") return;
        rename(e, before.id, after.id);
        QMetaObject::invokeMethod(
            this, [this, now = after.id] { selection_.select({.nodes = {now}}); }, Qt::QueuedConnection);
    };
    column_->addWidget(form);
}

void Inspector::show_memory(FormRows& form, const std::string& id) {
    auto* panel = new QWidget;
    auto* column = new QVBoxLayout(panel);
    column->setContentsMargins(0, 0, 0, size::gap);
    column->setSpacing(size::unit);
    auto* bar = new MemoryBar;
    auto* words = words_label({}, "small");
    words->setObjectName("memory_words");
    auto* holds = words_label({}, "small");
    holds->setObjectName("memory_holds");
    column->addWidget(words);
    column->addWidget(bar);
    column->addWidget(holds);
    const auto say = [this, id, panel, bar, words, holds] {
        const Experiment& e = document_.experiment();
        const auto* node = find_part(e.topology.nodes, [&](const Node& n) { return n.id == id; });
        const bool can_say = node != nullptr && can_size(document_.faults());
        panel->setVisible(can_say);
        if (!can_say) return;
        const auto stage = stages_.find(id);
        const auto need = memory_need(e, *node, stage == stages_.end() ? std::nullopt : std::optional(stage->second));
        bar->show_need(need);
        words->setText(memory_need_words(need));
        holds->setText(memory_words(e, *node));
    };
    connect(&document_, &Document::changed, panel, say);
    connect(this, &Inspector::stages_shown, panel, say);
    form.add_note(panel, "memory_bytes");
    say();
}

/// Whose makers' figures the nodes have; one that is chosen gives them its own, for the experiment's model.
void Inspector::show_hardware(FormRows& form, const std::set<std::string>& ids) {
    auto* box = new QComboBox;
    box->setObjectName("node_hardware");
    box->setMinimumContentsLength(8);
    box->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
    box->addItem(tr("own figures"));
    for (const auto& device : devices()) box->addItem(QString::fromUtf8(device.name));
    auto* words =
        words_label(tr("No device's speed: what a new node has. Choose its hardware, or measure it"), "small");
    words->setObjectName("made_up_words");
    const auto follow = [this, ids, box, words] {
        const Experiment& e = document_.experiment();
        std::set<const Device*> found;
        bool is_made_up = e.topology.measured_at.empty();
        for (const auto& node : e.topology.nodes) {
            if (!ids.contains(node.id)) continue;
            found.insert(device_of(node, e.model));
            is_made_up = is_made_up && node.seconds_per_sample_per_block == Node{}.seconds_per_sample_per_block;
        }
        const Device* one = found.size() == 1 ? *found.begin() : nullptr;
        const QSignalBlocker quiet(box);
        box->setCurrentIndex(found.size() > 1 ? -1 : one == nullptr ? 0 : box->findText(QString::fromUtf8(one->name)));
        if (found.size() > 1) box->setPlaceholderText(tr("mixed"));
        words->setVisible(is_made_up && one == nullptr);
        for (int i = 1; i < box->count(); ++i)
            if (const Device* device = find_device(box->itemText(i).toStdString()))
                box->setItemData(i, device_words(*device, e.model), Qt::ToolTipRole);
    };
    connect(&document_, &Document::changed, box, follow);
    connect(box, &QComboBox::activated, this, [this, ids, box, follow](int index) {
        const Device* device = index > 0 ? find_device(box->itemText(index).toStdString()) : nullptr;
        if (device == nullptr) return follow();
        document_.edit(tr("Make it %1").arg(QString::fromUtf8(device->name)), [&](Experiment& e) {
            for (auto& node : e.topology.nodes)
                if (ids.contains(node.id)) make_device(node, *device, e.model);
        });
    });
    form.add_note(words, "seconds_per_sample_per_block");
    form.add_row_above(
        "seconds_per_sample_per_block", tr("Hardware"),
        tr("Gives it a device's speed, by its maker's figures and the experiment's model, and its memory"), box);
    follow();
}

/// Of several nodes what holds for all of them.
void Inspector::show_values_in_force(FormRows& form, const std::set<std::string>& ids) {
    const auto say = [this, ids, form = &form] {
        const Experiment& e = document_.experiment();
        std::map<std::string, QString> shared;
        for (const auto& node : e.topology.nodes) {
            if (!ids.contains(node.id)) continue;
            for (const auto& [key, words] : values_in_force(e, node, has_errors(document_.faults())))
                if (auto& known = shared.emplace(key, words).first->second; known != words) known = tr("not set");
        }
        for (const auto& [key, words] : shared) form->set_placeholder(key.c_str(), words);
    };
    connect(&document_, &Document::changed, &form, say);
    say();
}

void Inspector::show_idle_row(FormRows& form, const std::string& id) {
    auto* value = form.add_value(tr("Idle in the plan"), tr("How long the node does nothing in one iteration"));
    value->setObjectName("idle_in_plan");
    const auto say = [this, id, form = &form, value] {
        const QString words = idle_.words(id);
        value->setText(words);
        value->setEnabled(!idle_.is_outdated);
        form->set_row_visible(value, !words.isEmpty());
    };
    connect(this, &Inspector::idle_shown, value, say);
    say();
}

/// Its lane's words: whose lanes stay bright beside its own.
void Inspector::show_awaited_row(FormRows& form, const std::string& id) {
    auto* value = form.add_value(
        tr("Waits most for"), tr("Their lanes in the plan stay bright beside its own: it waits for each of them for a "
                                 "tenth of its idle time, or longer"));
    value->setObjectName("waits_most_for");
    const auto say = [this, id, form = &form, value] {
        const QString words = awaited_words(iteration_, id);
        value->setText(words);
        value->setEnabled(!iteration_.is_outdated);
        form->set_row_visible(value, !words.isEmpty());
    };
    connect(this, &Inspector::iteration_shown, value, say);
    say();
}

void Inspector::show_region(const std::string& id) {
    column_->addWidget(words_label(tr("Region"), "heading"));
    auto* form = new Form<Region>(
        document_, QStringLiteral("region/") + QString::fromStdString(id),
        [id](auto& e) { return find_part(e.topology.regions, [&](const Region& r) { return r.id == id; }); },
        {"x", "y"});
    form->also = [this](Experiment& e, const std::string& key, const Region& before, const Region& after) {
        if (key != "id") return;
        rename(e, before.id, after.id);
        QMetaObject::invokeMethod(
            this, [this, now = after.id] { selection_.select({.regions = {now}}); }, Qt::QueuedConnection);
    };
    column_->addWidget(form);
    show_region_facts(id);
}

void Inspector::show_region_facts(const std::string& id) {
    auto* facts = facts_label("region_facts", tr("Nodes and links of the region"));
    const auto say = [this, id, facts] { facts->setText(region_facts(document_.experiment(), id, stages_)); };
    connect(&document_, &Document::changed, facts, say);
    connect(this, &Inspector::stages_shown, facts, say);
    say();
}

void Inspector::show_link(const LinkKey& key) {
    column_->addWidget(words_label(tr("Link"), "heading"));
    const auto locate = [key](auto& e) {
        return find_part(e.topology.links, [&](const Link& l) { return l.from == key.from && l.to == key.to; });
    };
    auto* ends = facts_label("link_ends", tr("Ends of the link"));
    const auto name_ends = [this, locate, ends] {
        const Experiment& e = document_.experiment();
        if (const auto* link = locate(e)) ends->setText(link_ends(e, *link));
    };
    connect(&document_, &Document::changed, ends, name_ends);
    name_ends();
    auto* form = new Form<Link>(document_, QStringLiteral("link/") + QString::fromStdString(key.from + "->" + key.to),
                                locate, {"from", "to"});
    column_->addWidget(form);
    show_link_facts(key);
}

void Inspector::show_link_facts(const LinkKey& key) {
    auto* facts = facts_label("link_facts", tr("What the plan sends over the link"));
    const auto say = [this, key, facts] {
        const Experiment& e = document_.experiment();
        const auto* link =
            find_part(e.topology.links, [&](const Link& l) { return l.from == key.from && l.to == key.to; });
        if (link == nullptr) return;
        facts->setText(link_facts(e, *link, links_));
        facts->setEnabled(!links_.is_outdated);
    };
    connect(&document_, &Document::changed, facts, say);
    connect(this, &Inspector::links_shown, facts, say);
    say();
}

void Inspector::show_many() {
    const Selection s = selection_.now();
    column_->addWidget(
        words_label(tr("%1 things selected").arg(s.nodes.size() + s.links.size() + s.regions.size()), "heading"));
    const auto some = [](std::size_t count, const QString& one, const QString& more) {
        return QString::number(count) + ' ' + (count == 1 ? one : more);
    };
    const QStringList parts{some(s.nodes.size(), tr("node"), tr("nodes")),
                            some(s.links.size(), tr("link"), tr("links")),
                            some(s.regions.size(), tr("region"), tr("regions"))};
    column_->addWidget(
        words_label(tr("%1. What is entered holds for all of a kind").arg(parts.join(", ")), "secondary"));
    const auto all_of = [](auto& list, const auto& is_chosen) {
        std::vector<decltype(&list.front())> found;
        for (auto& thing : list)
            if (is_chosen(thing)) found.push_back(&thing);
        return found;
    };
    if (!s.nodes.empty()) {
        const auto nodes = [s, all_of](auto& e) {
            return all_of(e.topology.nodes, [&](const Node& n) { return s.nodes.contains(n.id); });
        };
        auto* form =
            new Form<Node>(document_, "nodes", nodes, hidden(FormPart::node, {"id"}), {{"region", region_names}});
        show_hardware(*form, s.nodes);
        show_values_in_force(*form, s.nodes);
        section(tr("Nodes"), form);
    }
    if (!s.links.empty()) {
        const auto links = [s, all_of](auto& e) {
            return all_of(e.topology.links, [&](const Link& l) { return s.links.contains({l.from, l.to}); });
        };
        section(tr("Links"), new Form<Link>(document_, "links", links, {"from", "to"}));
    }
}

}  // namespace skippipe
