// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/timeline/cause_words.h"

#include <QObject>

namespace skippipe {

QString short_cause_words(IdleCause cause) {
    switch (cause) {
        case IdleCause::fill_drain: return QObject::tr("fill/drain");
        case IdleCause::activation: return QObject::tr("activation");
        case IdleCause::gradient: return QObject::tr("gradient");
        case IdleCause::link: return QObject::tr("link");
        case IdleCause::memory: return QObject::tr("memory");
        case IdleCause::collision: return QObject::tr("collision");
        case IdleCause::order: return QObject::tr("turn");
        case IdleCause::replica: return QObject::tr("replica");
        case IdleCause::all_reduce: return QObject::tr("all-reduce");
        case IdleCause::optimizer: return QObject::tr("optimizer");
        case IdleCause::node_down: return QObject::tr("down");
        case IdleCause::unused: return QObject::tr("unused");
    }
    return {};
}

QString cause_meaning(IdleCause cause) {
    switch (cause) {
        case IdleCause::fill_drain:
            return QObject::tr(
                "Nothing has reached the node yet in this iteration, or its work is done while others "
                "go on.");
        case IdleCause::activation:
            return QObject::tr(
                "The node before it on the microbatch's path still computes the activation that its "
                "next forward needs.");
        case IdleCause::gradient:
            return QObject::tr(
                "The node after it on the microbatch's path still computes the gradient that its next "
                "backward needs.");
        case IdleCause::link: return QObject::tr("Its input is sent, and is in the link's queue or on its way.");
        case IdleCause::memory:
            return QObject::tr(
                "A forward is ready, but the node holds as many microbatches as its memory has room "
                "for: a backward must free a place first (constraint TC1).");
        case IdleCause::collision:
            return QObject::tr(
                "The node that its input comes from could compute it, but runs another microbatch "
                "first: it does one operation at a time (constraint TC2).");
        case IdleCause::order:
            return QObject::tr(
                "An operation is ready and the node is free, but the plan's order has another "
                "microbatch first, which is not there yet.");
        case IdleCause::replica:
            return QObject::tr(
                "Its own work is done; another node of its stage (a replica) still works, and their "
                "gradients are summed after that.");
        case IdleCause::all_reduce:
            return QObject::tr("The gradients of its stage's nodes are being summed over the network.");
        case IdleCause::optimizer: return QObject::tr("The weights are being updated from the summed gradients.");
        case IdleCause::node_down: return QObject::tr("The node was lost, and was not back yet.");
        case IdleCause::unused: return QObject::tr("The plan sends no microbatch through the node.");
    }
    return {};
}

}  // namespace skippipe
