// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/document/document.h"

#include <algorithm>
#include <memory>
#include <utility>

#include <QElapsedTimer>
#include <QUndoCommand>

#include "core/experiment/io.h"
#include "core/experiment/schema_member.h"
#include "core/experiment/validate.h"

namespace skippipe {
namespace {
constexpr qint64 merge_window_ms = 1500;

/// As many stages as nodes, where the model's blocks can be dealt out to them evenly; no more than `most`.
int stages_for(const Experiment& experiment, int most) {
    const int nodes = static_cast<int>(experiment.topology.nodes.size());
    if (nodes == 0) return most;
    int stages = std::min(nodes, most);
    while (stages > 1 && experiment.model.blocks % stages != 0) --stages;
    return stages;
}

/// Whether a list on the way to it has other elements than before: its place may be another thing's now.
bool has_moved(const nlohmann::ordered_json& before, const nlohmann::ordered_json& after,
               nlohmann::ordered_json::json_pointer place) {
    while (!place.empty()) {
        place = place.parent_pointer();
        if (!before.contains(place) || !before[place].is_array()) continue;
        if (!after.contains(place) || after[place].size() != before[place].size()) return true;
    }
    return false;
}

/// Faults whose field still is what it was read as: what was typed instead answers them.
Faults unanswered(const Faults& faults, const Experiment& as_read, const Experiment& now) {
    if (faults.empty() || as_read == now) return faults;
    const auto before = to_json(as_read), after = to_json(now);
    Faults left = faults;
    std::erase_if(left, [&](const Fault& fault) {
        if (!fault.pointer.starts_with('/')) return false;  // of the whole text
        const nlohmann::ordered_json::json_pointer place(fault.pointer);
        return !has_moved(before, after, place) && after.contains(place) && !after[place].is_object() &&
               (!before.contains(place) || before[place] != after[place]);
    });
    return left;
}

/// A file's "$schema" beside another file: a path is one from the file that names it.
std::string schema_beside(const std::string& schema, const std::filesystem::path& from,
                          const std::filesystem::path& to) {
    const std::filesystem::path path(schema);
    const bool is_path = !schema.empty() && schema.find("://") == std::string::npos && path.is_relative();
    if (!is_path || from.empty()) return schema;
    const auto folder = std::filesystem::absolute(from).parent_path(),
               other = std::filesystem::absolute(to).parent_path();
    if (folder == other) return schema;
    return (folder / path).lexically_normal().lexically_relative(other).generic_string();
}
}  // namespace

/// One change of the document as the values before and after.
class SetExperiment final : public QUndoCommand {
public:
    SetExperiment(Document& document, const QString& what, Experiment after, QString merge)
        : QUndoCommand(what),
          document_(document),
          before_(document.experiment()),
          after_(std::move(after)),
          merge_(std::move(merge)) {
        clock_.start();
    }
    int id() const override { return merge_.isEmpty() ? -1 : 1; }
    void undo() override { document_.set(before_); }
    void redo() override { document_.set(after_); }
    bool mergeWith(const QUndoCommand* other) override {
        const auto* next = static_cast<const SetExperiment*>(other);
        if (next->merge_ != merge_ || clock_.elapsed() > merge_window_ms) return false;
        after_ = next->after_;
        clock_.restart();
        setObsolete(before_ == after_);
        return true;
    }

private:
    Document& document_;
    Experiment before_, after_;
    QString merge_;
    QElapsedTimer clock_;
};

Document::Document(QObject* parent) : QObject(parent) {
    connect(&stack_, &QUndoStack::cleanChanged, this, [this] { Q_EMIT file_changed(); });
    check();
}

Document::~Document() {
    // A stack that goes says that it is clean; who listens may be gone already.
    disconnect(&stack_, nullptr, this, nullptr);
}

Faults Document::refusals() const {
    Faults faults;
    for (const auto& [field, what] : refused_)
        faults.push_back({field.toStdString(), what.toStdString(), "the value before it still holds",
                          "Correct the text in the field"});
    return faults;
}

void Document::set_refused(const QString& field, const QString& what) {
    const bool changed = what.isEmpty() ? refused_.erase(field) > 0 : std::exchange(refused_[field], what) != what;
    if (changed) Q_EMIT faults_changed();
}

void Document::clear_refused() {
    if (!std::exchange(refused_, {}).empty()) Q_EMIT faults_changed();
}

void Document::edit(const QString& what, const std::function<void(Experiment&)>& change, const QString& merge) {
    Experiment after = experiment_;
    change(after);
    if (after == experiment_) return;
    let_stages_follow(after);
    const QString key = merge.isEmpty() ? merge : merge + QChar('#') + QString::number(merge_serial_);
    stack_.push(new SetExperiment(*this, what, std::move(after), key));
}

/// A first drawing has no problem for each node that is not there yet.
void Document::let_stages_follow(Experiment& after) {
    if (most_stages_ == 0) return;
    if (after.pipeline.stages != experiment_.pipeline.stages)
        most_stages_ = 0;
    else if (after.topology.nodes.size() != experiment_.topology.nodes.size())
        after.pipeline.stages = stages_for(after, most_stages_);
}

void Document::set(const Experiment& experiment) {
    experiment_ = experiment;
    check();
    Q_EMIT changed();
}

void Document::check() {
    Faults faults = unanswered(file_faults_, as_read_, experiment_);
    for (auto& fault : validate(experiment_))
        if (std::find(faults.begin(), faults.end(), fault) == faults.end()) faults.push_back(std::move(fault));
    if (faults == faults_) return;
    faults_ = std::move(faults);
    Q_EMIT faults_changed();
}

void Document::start(Experiment experiment, std::filesystem::path file, Faults file_faults) {
    file_faults_ = std::move(file_faults);
    as_read_ = experiment;
    file_ = std::move(file);
    schema_.clear();
    recovered_ = false;
    most_stages_ = 0;
    stack_.clear();
    Q_EMIT replacing();
    set(experiment);
    Q_EMIT file_changed();
    Q_EMIT replaced();
}

void Document::start_new(Experiment experiment) {
    const bool is_empty = experiment.topology.nodes.empty();
    const int stages = experiment.pipeline.stages;
    start(std::move(experiment), {}, {});
    most_stages_ = is_empty ? stages : 0;
}

DocumentFile read_document(const std::filesystem::path& file) {
    Faults faults;
    const std::string text = read_file(file, faults);
    if (has_errors(faults)) throw InputError(faults);
    ParsedExperiment parsed = parse_experiment(text);
    // Faults of meaning are found again in `check` and vanish once mended; what only the text can show stays until a
    // save.
    const Faults meaning = validate(parsed.experiment);
    std::erase_if(parsed.faults, [&](const Fault& fault) {
        return std::find(meaning.begin(), meaning.end(), fault) != meaning.end();
    });
    return {file, std::move(parsed.experiment), std::move(parsed.faults), schema_of(text)};
}

void Document::open(DocumentFile file) {
    start(std::move(file.experiment), std::move(file.path), std::move(file.faults));
    schema_ = std::move(file.schema);
}

void Document::save(const std::filesystem::path& file) {
    if (has_errors(file_faults_) && file == file_) {
        Faults faults;
        const std::string original = read_file(file, faults);
        if (!has_errors(faults)) write_file_atomically(std::filesystem::path{file} += ".before-repair", original);
    }
    std::string schema = schema_beside(schema_, file_, file);
    write_file_atomically(file, with_schema(to_text(experiment_), schema));
    schema_ = std::move(schema);
    file_ = file;
    file_faults_.clear();
    recovered_ = false;
    stack_.setClean();
    check();
    Q_EMIT file_changed();
}

bool Document::is_of_file(const Fault& fault) const {
    return std::find(file_faults_.begin(), file_faults_.end(), fault) != file_faults_.end();
}

void Document::recover(Experiment experiment, const std::filesystem::path& file, std::string schema) {
    start(std::move(experiment), file, {});
    schema_ = std::move(schema);
    recovered_ = true;
    Q_EMIT file_changed();
}

Selection subject_of(const std::string& pointer, const Experiment& experiment) {
    Selection subject;
    const auto index_after = [&](std::string_view prefix) -> std::optional<std::size_t> {
        if (pointer.compare(0, prefix.size(), prefix) != 0) return {};
        std::size_t index = 0, digits = 0;
        for (std::size_t i = prefix.size(); i < pointer.size() && pointer[i] >= '0' && pointer[i] <= '9'; ++i, ++digits)
            index = index * 10 + static_cast<std::size_t>(pointer[i] - '0');
        return digits > 0 && digits < 9 ? std::optional{index} : std::nullopt;
    };
    const auto& topology = experiment.topology;
    if (const auto node = index_after("/topology/nodes/"); node && *node < topology.nodes.size())
        subject.nodes.insert(topology.nodes[*node].id);
    if (const auto region = index_after("/topology/regions/"); region && *region < topology.regions.size())
        subject.regions.insert(topology.regions[*region].id);
    if (const auto link = index_after("/topology/links/"); link && *link < topology.links.size())
        subject.links.insert({topology.links[*link].from, topology.links[*link].to});
    if (const auto failure = index_after("/failures/"); failure && *failure < experiment.failures.size())
        subject.failure = *failure;
    return subject;
}

}  // namespace skippipe
