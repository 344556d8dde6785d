// SPDX-License-Identifier: GPL-3.0-or-later
// Libraries that are opened at run time: a build needs neither them nor their headers, and runs where they are missing.
#pragma once
#include <memory>
#include <string>
#include <vector>

namespace skippipe {

class SharedLibrary {
public:
    /// Opens the first of `names` that is there, and keeps it open for good: such libraries have threads of their own.
    /// Throws InputError at `place` where none is there: "`what` is missing", and `remedy`.
    SharedLibrary(std::string place, const std::vector<std::string>& names, const std::string& what,
                  const std::string& remedy);

    /// Sets `function` to the symbol of that name. Throws InputError where the library does not have it: it is too old.
    template <class Function>
    void find(Function& function, const char* symbol) const {
        function = reinterpret_cast<Function>(address(symbol));
    }
    const std::string& name() const { return name_; }

private:
    void* address(const char* symbol) const;

    std::string place_, name_, remedy_;
    void* handle_ = nullptr;
};

}  // namespace skippipe
