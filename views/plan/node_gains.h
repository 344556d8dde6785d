// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <QObject>

#include "views/document/file_reader.h"
#include "views/plan/plan_service.h"

namespace skippipe {

/// What one node of a plan would give, worked out in the background.
class NodeGains : public QObject {
    Q_OBJECT
public:
    explicit NodeGains(QObject* parent = nullptr);
    /// Of that node of the plan; no plan that comes to its end, or no such node: there is nothing to say.
    void ask(std::shared_ptr<const PlanOutcome> outcome, const std::string& node);
    /// Of what was asked last; empty until it is worked out.
    const std::vector<WhatIf>& answers() const { return answers_; }

Q_SIGNALS:
    void answered();  ///< also that there is nothing to say

private:
    FileReader reader_;  // a thread of its own, and only the last question is answered
    std::shared_ptr<const PlanOutcome> outcome_;
    std::string node_;
    std::vector<WhatIf> answers_;
};

}  // namespace skippipe
