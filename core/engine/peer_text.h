// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "core/engine/transport.h"

namespace skippipe {

/// `read` of the JSON in what a rank has sent. Throws PeerFault where it is none, or not of the form that `read` wants.
template <class Read>
auto read_from_peer(int rank, const std::string& text, const Read& read) {
    try {
        return read(nlohmann::json::parse(text));
    } catch (const nlohmann::json::exception& error) {
        throw PeerFault(rank, fmt::format("says where it stands in words that are none: {}", error.what()));
    }
}

}  // namespace skippipe
