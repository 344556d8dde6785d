// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/planner/plan/reduction_file.h"

#include <algorithm>
#include <array>
#include <optional>

#include <fmt/format.h>

#include "core/base/index.h"
#include "core/experiment/text.h"

namespace skippipe {

namespace {

using Json = nlohmann::ordered_json;

constexpr const char* piece_doc = "A piece has a share of the gradient, and a tree or an exchange that sums it";
constexpr const char* tree_doc = "A tree says of each node but the root which node it hands to, or has the sum from";

}  // namespace

constexpr auto names_of(PieceForm*) {
    return std::to_array<EnumName<PieceForm>>({{PieceForm::tree, "tree"}, {PieceForm::exchange, "exchange"}});
}

namespace {

class PieceReader {
public:
    PieceReader(JsonReader& reader, const std::vector<std::string_view>& ids) : reader_(reader), ids_(ids) {}

    std::optional<Piece> piece(const Json& value) {
        if (!value.is_object()) return reader_.wrong_type(value, "an object", {.doc = piece_doc}), std::nullopt;
        const std::vector<std::string_view> known{"share", "form", "root", "up", "down"};
        for (const auto& [key, member] : value.items())
            if (std::find(known.begin(), known.end(), key) == known.end()) reader_.unknown(key, known);
        Piece piece;
        bool read = member(value, "share", [&](const Json& at) {
            return reader_.read(at, piece.share, {.doc = piece_doc, .min = 0, .max = 1, .above_min = true});
        });
        if (value.contains("form"))
            read &=
                member(value, "form", [&](const Json& at) { return reader_.read(at, piece.form, {.doc = piece_doc}); });
        if (piece.form == PieceForm::tree) {
            read &= member(value, "root", [&](const Json& at) { return place(at, piece.root); });
            read &= member(value, "up", [&](const Json& at) { return tree(at, piece.root, piece.up); });
            read &= member(value, "down", [&](const Json& at) { return tree(at, piece.root, piece.down); });
        }
        return read ? std::optional(piece) : std::nullopt;
    }

private:
    template <typename Read>
    bool member(const Json& value, const char* key, const Read& read) {
        const auto step = reader_.into(key);
        const auto found = value.find(key);
        if (found == value.end()) return reader_.missing(key, {.doc = piece_doc}), false;
        return read(*found);
    }

    bool place(const Json& value, int& place) {
        std::string id;
        return reader_.read(value, id, {.doc = "Nodes are named by their ids"}) && place_of(id, place);
    }

    bool place_of(const std::string& id, int& place) {
        const auto found = std::find(ids_.begin(), ids_.end(), id);
        if (found == ids_.end()) {
            reader_.fault(fmt::format("node {} is not of this stage", in_quotes(id)),
                          "a stage's gradient is summed by its own nodes",
                          fmt::format("Name one of {}", fmt::join(ids_, ", ")));
            return false;
        }
        place = static_cast<int>(found - ids_.begin());
        return true;
    }

    bool tree(const Json& value, int root, std::vector<int>& parents) {
        if (!value.is_object()) return reader_.wrong_type(value, "an object", {.doc = tree_doc}), false;
        parents.assign(ids_.size(), -1);
        parents[at(root)] = root;
        bool read = true;
        for (const auto& [id, parent] : value.items()) {
            const auto step = reader_.into(id);
            int child = 0, above = 0;
            read &= place_of(id, child) && place(parent, above);
            if (read) parents[at(child)] = above;
        }
        return read;
    }

    JsonReader& reader_;
    const std::vector<std::string_view>& ids_;
};

}  // namespace

Json to_json(const Pieces& pieces, const std::vector<std::string_view>& ids) {
    Json json = Json::array();
    for (const auto& piece : pieces) {
        Json& one = json.emplace_back(Json{{"share", piece.share}, {"form", name_of(piece.form)}});
        if (piece.form == PieceForm::exchange) continue;
        one["root"] = ids[at(piece.root)];
        for (const auto& [key, parents] : {std::pair{"up", &piece.up}, std::pair{"down", &piece.down}}) {
            Json& tree = one[key] = Json::object();
            for (std::size_t place = 0; place < parents->size(); ++place)
                if (static_cast<int>(place) != piece.root) tree[std::string(ids[place])] = ids[at((*parents)[place])];
        }
    }
    return json;
}

Pieces read_pieces(JsonReader& reader, const Json& value, const std::vector<std::string_view>& ids) {
    Pieces pieces;
    if (!value.is_array()) return reader.wrong_type(value, "a list", {.doc = "The pieces of a stage"}), pieces;
    bool read = true;
    PieceReader one(reader, ids);
    for (std::size_t k = 0; k < value.size(); ++k) {
        const auto step = reader.into(k);
        if (auto piece = one.piece(value[k]))
            pieces.push_back(std::move(*piece));
        else
            read = false;
    }
    if (!read) return {};
    const auto fault = fault_of(pieces, static_cast<int>(ids.size()));
    if (fault.empty()) return pieces;
    reader.fault(fault, "the pieces of a stage are all of its gradient, each summed along trees of its nodes",
                 "Mend the pieces, or leave the list empty for the direct exchange");
    return {};
}

}  // namespace skippipe
