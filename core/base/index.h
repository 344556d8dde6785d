// SPDX-License-Identifier: GPL-3.0-or-later
// Indices are types of their own: a node cannot be given where a stage is wanted.
#pragma once
#include <concepts>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace skippipe {

/// Which of so many: a number from 0 on; negative: none. As large and as fast as an int, and read as one. A constant
/// may be written as it is (`NodeIndex node = -1`); a number that is only known when the program runs has to say what
/// it counts (`NodeIndex(n)`).
template <typename Kind>
class Index {
public:
    constexpr Index() = default;
    consteval Index(long long constant) : value_(static_cast<int>(constant)) {}  // NOLINT(google-explicit-constructor)
    template <std::integral Number>
    constexpr explicit Index(Number number) : value_(static_cast<int>(number)) {}

    constexpr operator int() const { return value_; }  // NOLINT(google-explicit-constructor)
    constexpr Index& operator++() {
        ++value_;
        return *this;
    }
    constexpr Index operator++(int) { return Index(value_++); }
    constexpr Index& operator--() {
        --value_;
        return *this;
    }
    /// For what changes numbers of every kind.
    constexpr int& number() { return value_; }

private:
    int value_ = 0;
};

/// Indices of different kinds are not compared.
template <typename A, typename B>
requires(!std::same_as<A, B>) bool operator==(Index<A>, Index<B>) = delete;
template <typename A, typename B>
requires(!std::same_as<A, B>) bool operator<=>(Index<A>, Index<B>) = delete;

using NodeIndex = Index<struct NodeKind>;              ///< of a node, in the order in which the experiment lists them
using StageIndex = Index<struct StageKind>;            ///< of a stage of the pipeline; 0: the data nodes'
using MicrobatchIndex = Index<struct MicrobatchKind>;  ///< a microbatch's number: which data it is made of
using ReleaseIndex = Index<struct ReleaseKind>;        ///< of a microbatch in release order: of its path in a plan

/// An index, never negative here, as containers want it: `blocks[at(stage)]`.
template <std::integral Number>
constexpr std::size_t at(Number number) {
    return static_cast<std::size_t>(number);
}
template <typename Kind>
constexpr std::size_t at(Index<Kind> index) {
    return static_cast<std::size_t>(static_cast<int>(index));
}

/// A value of each node, stage, ...: a vector that no index of another kind subscripts.
template <typename Key, typename Value>
class IndexedVector : public std::vector<Value> {
public:
    using std::vector<Value>::vector;
    explicit IndexedVector(std::vector<Value> values) : std::vector<Value>(std::move(values)) {}

    using std::vector<Value>::operator[];
    typename std::vector<Value>::reference operator[](Key key) { return (*this)[skippipe::at(key)]; }
    typename std::vector<Value>::const_reference operator[](Key key) const { return (*this)[skippipe::at(key)]; }
    template <typename Other>
    void operator[](Index<Other>) const = delete;
};

template <typename Value>
using PerNode = IndexedVector<NodeIndex, Value>;
template <typename Value>
using PerStage = IndexedVector<StageIndex, Value>;
template <typename Value>
using PerRelease = IndexedVector<ReleaseIndex, Value>;  ///< in release order

/// As numbers in JSON.
template <typename Json, typename Kind>
void to_json(Json& json, Index<Kind> index) {
    json = static_cast<int>(index);
}
template <typename Json, typename Kind>
void from_json(const Json& json, Index<Kind>& index) {
    index = Index<Kind>(json.template get<int>());
}

}  // namespace skippipe

template <typename Kind>
struct std::hash<skippipe::Index<Kind>> {
    std::size_t operator()(skippipe::Index<Kind> index) const noexcept { return std::hash<int>{}(index); }
};

template <typename Kind>
struct fmt::formatter<skippipe::Index<Kind>> : fmt::formatter<int> {
    template <typename Context>
    auto format(skippipe::Index<Kind> index, Context& context) const {
        return fmt::formatter<int>::format(static_cast<int>(index), context);
    }
};
