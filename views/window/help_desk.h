// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <QTimer>

#include "views/document/file_reader.h"
#include "views/idle/what_helps.h"
#include "views/runs/run_data.h"
#include "views/timeline/details.h"

namespace skippipe {

/// Finds out what would help a run, or a node or a link of it, on a thread of its own, and keeps the answer for as long
/// as it is the one that is wanted.
class HelpDesk : public QObject {
    Q_OBJECT
public:
    /// Whom it would help, by the plan that is in force from that iteration on.
    struct Subject {
        RunId run = 0;
        std::string thing = {};  ///< a node, or a link by its line "A->B"; empty: the run as a whole
        int since = 0;
        bool operator==(const Subject&) const = default;
    };

    explicit HelpDesk(QObject* parent = nullptr);
    /// Asked for once nothing else has been wanted for a moment; of a large plan, which takes seconds of a core, only
    /// by `ask`. `plan`: one of the run's, which holds it.
    void want(const Subject& subject, const std::shared_ptr<const RunData>& run, const Plan& plan);
    void want_nothing();
    void ask();
    /// An answer is on its way.
    bool is_busy() const { return rest_.isActive() || (asked_ && answer_.changes.isEmpty()); }
    /// "Limited by" and "Would help", and the answer, or that it is not there yet.
    std::vector<Detail> answers() const;
    /// What stands beside an answer: what was tried and hardly helps, what would harm, and the bound.
    std::vector<Detail> remarks() const;

Q_SIGNALS:
    void answered();

private:
    bool has_answer() const { return plan_ != nullptr && !answer_.changes.isEmpty(); }

    Subject subject_;
    std::shared_ptr<const RunData> run_;
    const Plan* plan_ = nullptr;
    Help answer_;
    bool asked_ = false;
    QTimer rest_;
    FileReader reader_;
};

}  // namespace skippipe
