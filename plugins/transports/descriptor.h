// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <utility>

#include <unistd.h>

namespace skippipe {

/// A file descriptor that is closed at the end.
class Descriptor {
public:
    explicit Descriptor(int number = -1) : number_(number) {}
    Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
    Descriptor& operator=(Descriptor&& other) noexcept {
        std::swap(number_, other.number_);
        return *this;
    }
    ~Descriptor() {
        if (number_ >= 0) ::close(number_);
    }
    int get() const { return number_; }

private:
    int number_;
};

}  // namespace skippipe
