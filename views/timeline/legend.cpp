// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/timeline/legend.h"

#include <span>

#include <QWidgetAction>

#include "views/timeline/colours.h"
#include "views/timeline/painter.h"

namespace skippipe {
namespace {

constexpr double names_px = 236;
constexpr int width_px = 300, margin_px = 2;

/// Operations, then what travels, then what is done together.
struct Row {
    const char* words;
    SpanKind kind;
};
constexpr Row rows[] = {{QT_TR_NOOP("Forward, in its stage's colour"), SpanKind::forward},
                        {QT_TR_NOOP("Loss"), SpanKind::loss},
                        {QT_TR_NOOP("Backward"), SpanKind::backward},
                        {QT_TR_NOOP("Transfer, above who sends"), SpanKind::transfer_forward},
                        {QT_TR_NOOP("Reduction, a part or a sum"), SpanKind::transfer_reduction},
                        {QT_TR_NOOP("Node is down"), SpanKind::down}};  // the last: many runs have none

}  // namespace

std::vector<IdleCause> drawn_causes() {
    std::vector<IdleCause> causes;
    for (std::size_t c = 0; c < idle_causes; ++c)
        if (const auto cause = static_cast<IdleCause>(c); cause != IdleCause::node_down) causes.push_back(cause);
    return causes;
}

std::shared_ptr<const TimelineData> legend_data(const std::vector<IdleCause>& causes, bool with_down) {
    const std::span drawn(rows, std::size(rows) - (with_down ? 0 : 1));
    auto data = std::make_shared<TimelineData>();
    std::vector<std::string> names;
    for (const auto& row : drawn) names.push_back(QObject::tr(row.words).toStdString());
    for (const auto cause : causes) names.push_back(cause_words(cause).toStdString());
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

TimelineView* legend_view(QWidget* parent) {
    auto* zoom = new TimeZoom(parent);
    auto* view = new TimelineView(*zoom);
    view->setAccessibleName(QObject::tr("What is drawn"));
    view->setAttribute(Qt::WA_TransparentForMouseEvents);
    view->setFocusPolicy(Qt::NoFocus);
    view->set_frame({.names_px = names_px, .has_axis = false});
    view->set_lane_height(low_lane_height);
    zoom->set_extent(1);
    view->setMinimumWidth(width_px);
    show_causes(*view, drawn_causes());
    return view;
}

void show_causes(TimelineView& legend, const std::vector<IdleCause>& causes, bool with_down) {
    legend.set_data(legend_data(causes, with_down));
    legend.setFixedHeight(legend.height_for_all_lanes() + margin_px);
}

QMenu* legend_menu(QWidget* parent) {
    auto* menu = new QMenu(QObject::tr("What is drawn"), parent);
    menu->setObjectName("timeline_legend");
    auto* action = new QWidgetAction(menu);
    action->setDefaultWidget(legend_view(menu));
    menu->addAction(action);
    return menu;
}

}  // namespace skippipe
