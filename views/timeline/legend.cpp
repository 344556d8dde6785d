// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/timeline/legend.h"

#include <span>

#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>
#include <QWidgetAction>

#include "views/theme/theme.h"
#include "views/theme/widgets.h"
#include "views/theme/words.h"
#include "views/timeline/colours.h"
#include "views/timeline/lane_key.h"
#include "views/timeline/painter.h"

namespace skippipe {
namespace {

constexpr double names_px = 236, short_names_px = 100;
constexpr int width_px = 300, margin_px = 2;

/// Operations, then what travels, then what is done together.
struct Row {
    const char *words, *short_words;
    SpanKind kind;
};
constexpr Row rows[] = {
    {QT_TR_NOOP("Forward, in its stage's colour"), QT_TR_NOOP("Forward"), SpanKind::forward},
    {QT_TR_NOOP("Loss"), QT_TR_NOOP("Loss"), SpanKind::loss},
    {QT_TR_NOOP("Backward"), QT_TR_NOOP("Backward"), SpanKind::backward},
    {QT_TR_NOOP("Transfer, above who sends"), QT_TR_NOOP("Transfer"), SpanKind::transfer_forward},
    {QT_TR_NOOP("Reduction, a part or a sum"), QT_TR_NOOP("Reduction"), SpanKind::transfer_reduction},
    {QT_TR_NOOP("Node is down"), QT_TR_NOOP("Down"), SpanKind::down}};  // the last: many runs have none

std::span<const Row> drawn_rows(bool with_down) { return {rows, std::size(rows) - (with_down ? 0 : 1)}; }

/// A lane each, called so: first the rows, then the causes.
std::shared_ptr<const TimelineData> lanes_of(std::span<const Row> drawn, const std::vector<IdleCause>& causes,
                                             const std::vector<std::string>& names) {
    auto data = std::make_shared<TimelineData>();
    data->set_lanes(names);
    NodeIndex lane = 0;
    for (const auto& row : drawn) {
        data->add(
            Span{row.kind, lane, is_transfer(row.kind) ? lane : NodeIndex(-1), 0, MicrobatchIndex(0), 0.1, 0.1, 0.9, 0},
            0, 0, lane);
        ++lane;
    }
    for (const auto cause : causes) {
        data->add(IdleGap{.node = lane, .cause = cause, .start_s = 0.1, .end_s = 0.9}, 0);
        ++lane;
    }
    data->finish();
    return data;
}

/// Of data as above; to be looked at alone.
TimelineView* key_view(QWidget* parent, double names, int width) {
    auto* zoom = new TimeZoom(parent);
    auto* view = new TimelineView(*zoom);
    view->setAccessibleName(QObject::tr("What is drawn"));
    view->setAttribute(Qt::WA_TransparentForMouseEvents);
    view->setFocusPolicy(Qt::NoFocus);
    view->set_frame({.names_px = names, .has_axis = false});
    view->set_lane_height(low_lane_height);
    zoom->set_extent(1);
    view->setMinimumWidth(width);
    return view;
}

void show_lanes(TimelineView& view, std::shared_ptr<const TimelineData> data) {
    view.set_data(std::move(data));
    view.setFixedHeight(view.height_for_all_lanes() + margin_px);
}

}  // namespace

std::vector<IdleCause> drawn_causes() {
    std::vector<IdleCause> causes;
    for (std::size_t c = 0; c < idle_causes; ++c)
        if (const auto cause = static_cast<IdleCause>(c); cause != IdleCause::node_down) causes.push_back(cause);
    return causes;
}

std::shared_ptr<const TimelineData> legend_data(const std::vector<IdleCause>& causes, bool with_down) {
    const auto drawn = drawn_rows(with_down);
    std::vector<std::string> names;
    names.reserve(drawn.size() + causes.size());
    for (const auto& row : drawn) names.push_back(QObject::tr(row.words).toStdString());
    for (const auto cause : causes) names.push_back(cause_words(cause).toStdString());
    return lanes_of(drawn, causes, names);
}

TimelineView* legend_view(QWidget* parent) {
    auto* view = key_view(parent, names_px, width_px);
    show_lanes(*view, legend_data());
    return view;
}

DrawnKey::DrawnKey(QWidget* parent) : QWidget(parent) {
    setProperty("role", "surface");  // as the lanes: of two columns one is lower
    setAttribute(Qt::WA_StyledBackground);
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(0);
    const auto add = [&](const QString& title) {
        auto* view = key_view(this, short_names_px, width_px / 2);
        auto* part = new QWidget;
        auto* column = seamless_column(part);
        auto* label = words_label(title, "small");
        label->setContentsMargins(size::gap, 0, 0, size::unit);
        column->addWidget(label);
        column->addWidget(view);
        column->addStretch();
        row->addWidget(part, 1);
        return view;
    };
    work_ = add(QObject::tr("Work"));
    waits_ = add(QObject::tr("Waits for"));
    show_causes(drawn_causes());
}

void DrawnKey::show_causes(const std::vector<IdleCause>& causes, bool with_down) {
    const auto drawn = drawn_rows(with_down);
    std::vector<std::string> works, waits;
    works.reserve(drawn.size());
    waits.reserve(causes.size());
    QStringList meant;
    for (const auto& row : drawn) works.push_back(QObject::tr(row.short_words).toStdString());
    for (const auto cause : causes) {
        waits.push_back(capitalised(short_cause_words(cause)).toStdString());
        meant << cause_words(cause);
    }
    show_lanes(*work_, lanes_of(drawn, {}, works));
    show_lanes(*waits_, lanes_of({}, causes, waits));
    setToolTip(meant.join('\n'));
}

void DrawnKey::set_colour_by(ColourBy by) {
    for (auto* view : {work_, waits_}) view->set_colour_by(by);
}

QMenu* legend_menu(QWidget* parent) {
    auto* menu = new QMenu(QObject::tr("What is drawn"), parent);
    menu->setObjectName("timeline_legend");
    auto* action = new QWidgetAction(menu);
    action->setDefaultWidget(legend_view(menu));
    menu->addAction(action);
    return menu;
}

void show_as_low_lanes(QMenu& legend, bool low) {
    if (auto* view = legend.findChild<TimelineView*>())
        view->set_frame({.names_px = names_px, .has_axis = false, .has_low_waits = low});
}

void colour_legend(QMenu& legend, ColourBy by) {
    if (auto* view = legend.findChild<TimelineView*>()) view->set_colour_by(by);
}

}  // namespace skippipe
