// SPDX-License-Identifier: GPL-3.0-or-later
// Property rows made from core/experiment/describe.h: one row a field, each edit one undo command.
#pragma once
#include <algorithm>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <QFormLayout>
#include <QWidget>

#include "views/document/document.h"
#include "views/inspector/field_text.h"
#include "views/theme/words.h"

class QComboBox;
class QLabel;
class QLineEdit;

namespace skippipe {

/// A form's rows without the type of what they edit: editors with text in and text out.
class FormRows : public QWidget {
    Q_OBJECT
public:
    explicit FormRows(QWidget* parent = nullptr);

    /// Gives the text that was entered; returns a fault in words or nothing.
    using Commit = std::function<QString(const QString&)>;
    void add_text(const char* key, const Info& info, const QString& value, const QString& placeholder, Commit commit,
                  const QStringList& choices);
    void add_choice(const char* key, const Info& info, const QStringList& names, const QString& value, Commit commit);
    void add_switch(const char* key, const Info& info, bool value, std::function<void(bool)> commit);
    /// Fills a row anew, unless the user is in it.
    void refresh(const char* key, const QString& value);
    void refresh(const char* key, bool value);
    /// The parts that are edited together differ in this field: it says so until something is entered.
    void show_mixed(const char* key);
    /// What the field says, in grey, where its value is not set.
    void set_placeholder(const char* key, const QString& words);
    /// A row that cannot be edited, below the others; the label that has its value.
    QLabel* add_value(const QString& name, const QString& tip);
    void set_row_visible(QWidget* value, bool on);
    /// A row of its own above that field's, with a name beside it.
    void add_row_above(const std::string& key, const QString& name, const QString& tip, QWidget* own);
    /// Words under the row of that field, or under all rows.
    void add_note(QWidget* note, const std::string& below = {});
    /// What is wrong with values as they stand, by fields: said under each, whose edge shows it.
    void show_wrong(const std::map<std::string, QString>& wrong);
    /// What a field of text shows of the document.
    QString shown_value(const std::string& key) const;
    /// Before that field's editor, which keeps the room that a short number needs.
    void add_before(const std::string& key, QWidget* own);
    /// That field is edited by this instead, which follows its value by itself, without a name beside it, across all of
    /// the form.
    void replace_row(const std::string& key, QWidget* own);
    /// Property of an editor: what its field means and may be, in words.
    static constexpr const char* help_property = "help";
    /// The editor of a field; null where it has none.
    QWidget* editor(const std::string& key) const;

    /// With labels as narrow as they get.
    QSize minimumSizeHint() const override;

Q_SIGNALS:
    /// A field's text was refused; empty `what`: no longer.
    void refused(const QString& key, const QString& what);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void show_fault(const std::string& key, const QString& what);
    void say_fault(const std::string& key);
    bool is_refused(const std::string& key) const;
    /// A line below the last row, across it, for what is wrong.
    void add_fault_line(const char* key);
    QWidget* with_chooser(const char* key, QLineEdit* line);
    QWidget* label(const char* key, const Info& info, QWidget* editor);
    QLabel* title(const QString& name, const QString& tip, QWidget* of);
    int label_width() const;
    void take_place_of(const std::string& key, QWidget* own);
    /// Of that field; -1: it has none.
    int row_of(const std::string& key) const;
    QFormLayout* rows_;
    std::map<std::string, QWidget*> editors_;
    std::map<std::string, QLabel*> faults_;
    std::map<std::string, QString> values_;
    std::map<std::string, QString> placeholders_;
    std::map<std::string, QString> refused_;  ///< why the text in the field is none of its values
    std::map<std::string, QString> wrong_;    ///< why its value is none that can be planned
};

/// A form over one part of the document, or over several that are edited together. `locate` finds it in an
/// `Experiment&` and in a `const Experiment&` (null: gone), or gives a vector of pointers to all of them; fields named
/// in `hidden` have no row; a field in `choices` may be picked from a list.
template <class T>
class Form final : public FormRows {
public:
    using Choices = std::map<std::string, std::function<QStringList(const Experiment&)>>;

    template <class Locate>
    Form(Document& document, QString path, const Locate& locate, std::set<std::string> hidden = {},
         Choices choices = {}, QWidget* parent = nullptr)
        : FormRows(parent),
          document_(document),
          path_(std::move(path)),
          parts_([locate](Experiment& e) { return as_list(locate(e)); }),
          look_([locate](const Experiment& e) { return as_list(locate(e)); }),
          hidden_(std::move(hidden)),
          choices_(std::move(choices)) {
        setObjectName(path_);
        if (const auto parts = look_(document_.experiment()); !parts.empty()) {
            Build build{*this};
            describe(build, *parts.front());
            refresh_all();
        }
        connect(&document_, &Document::changed, this, [this] { refresh_all(); });
        connect(this, &FormRows::refused, &document_, [this](const QString& key, const QString& what) {
            const QString name = label_of(key.toUtf8().constData());
            document_.set_refused(path_ + '/' + key, what.isEmpty() ? what : name + ": " + what);
        });
    }
    /// Called before a changed value is stored, to carry it on elsewhere (a rename).
    std::function<void(Experiment&, const std::string& key, const T& before, const T& after)> also;

private:
    /// Writes one field of a T, found by its key.
    template <class Value>
    struct Assign {
        std::string_view key;
        const Value& value;
        void operator()(const char* name, Value& member, const Info&) const {
            if (key == name) member = value;
        }
        template <class Other>
        void operator()(const char*, Other&, const Info&) const {}
    };

    template <class Found>
    static auto as_list(Found found) {
        if constexpr (std::is_pointer_v<Found>)
            return found == nullptr ? std::vector<Found>{} : std::vector<Found>{found};
        else
            return found;
    }

    /// Reads one field of a T, found by its key.
    template <class Value>
    struct Look {
        std::string_view key;
        const Value* found = nullptr;
        void operator()(const char* name, const Value& member, const Info&) {
            if (key == name) found = &member;
        }
        template <class Other>
        void operator()(const char*, const Other&, const Info&) {}
    };

    template <class Value>
    bool is_mixed(const char* key, const Value& value) const {
        const auto parts = look_(document_.experiment());
        return std::any_of(parts.begin(), parts.end(), [&](const T* part) {
            Look<Value> look{key};
            describe(look, *part);
            return look.found != nullptr && !(*look.found == value);
        });
    }

    template <class Value>
    void store(const char* key, const Value& value, bool is_chosen = false) {
        change<Value>(
            key, [&](const Value&) { return value; }, is_chosen);
    }

    /// Each part's value by a factor: all of them, or none where one would leave its limits, which is said.
    template <class Value>
    QString scale(const char* key, double factor, const Info& info) {
        for (const T* part : look_(document_.experiment())) {
            Look<Value> look{key};
            describe(look, *part);
            if (look.found == nullptr) continue;
            if (const auto read = scaled_field(*look.found, factor, info); !read.value) return read.fault;
        }
        change<Value>(key, [&](const Value& value) { return *scaled_field(value, factor, info).value; });
        return {};
    }

    template <class Value>
    void change(const char* key, const std::function<Value(const Value&)>& next, bool is_chosen = false) {
        document_.edit(
            label_of(key),
            [&](Experiment& e) {
                for (T* part : parts_(e)) {
                    const T before = *part;
                    Look<Value> look{key};
                    describe(look, before);
                    if (look.found == nullptr) continue;
                    const Value value = next(*look.found);
                    Assign<Value> assign{key, value};
                    describe(assign, *part);
                    const T after = *part;
                    if (also) also(e, key, before, after);
                }
            },
            is_chosen ? QString{} : path_ + '/' + key);  // each choice is taken back by itself
    }

    template <class Value>
    static constexpr bool is_plain = is_number<Value> || std::is_same_v<Value, std::string>;
    template <class Value>
    struct IsOptional : std::false_type {};
    template <class Value>
    struct IsOptional<std::optional<Value>> : std::true_type {};
    template <class Value>
    struct IsList : std::false_type {};
    template <class Value>
    struct IsList<std::vector<Value>> : std::bool_constant<is_number<Value> || has_commas<Value>> {};

    struct Build {
        Form& form;
        template <class Value>
        void operator()(const char* key, const Value& value, const Info& info) const {
            if (form.hidden_.count(key)) return;
            if constexpr (std::is_same_v<Value, bool>) {
                form.add_switch(key, info, value, [f = &form, key](bool on) { f->store(key, on, true); });
            } else if constexpr (std::is_enum_v<Value>) {
                QStringList names;
                for (const auto& [candidate, name] : names_of(static_cast<Value*>(nullptr)))
                    names << QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
                form.add_choice(key, info, names, text_of(value, info), [f = &form, key](const QString& text) {
                    for (const auto& [candidate, name] : names_of(static_cast<Value*>(nullptr)))
                        if (text == QLatin1String(name.data(), static_cast<qsizetype>(name.size())))
                            f->store(key, candidate, true);
                    return QString{};
                });
            } else if constexpr (is_plain<Value> || IsOptional<Value>::value || IsList<Value>::value) {
                const auto choice = form.choices_.find(key);
                const QStringList offered =
                    choice == form.choices_.end() ? QStringList{} : choice->second(form.document_.experiment());
                const QString placeholder = is_none(key)                  ? none_words(key)
                                            : IsOptional<Value>::value    ? QObject::tr("not set")
                                            : IsList<Value>::value        ? QObject::tr("automatic")
                                            : offered.contains(QString{}) ? QObject::tr("none")
                                                                          : QString{};
                form.add_text(
                    key, info, field_of(key, value, info), placeholder,
                    [f = &form, key, info, is_chosen = !offered.isEmpty()](const QString& text) {
                        if constexpr (is_scaled<Value>)
                            if (const auto factor = read_factor(text))
                                return f->template scale<Value>(key, *factor, info);
                        const QString number = is_none(key) && text.trimmed().isEmpty() ? QStringLiteral("0") : text;
                        auto read = read_field(number, info, static_cast<Value*>(nullptr));
                        if (read.value) f->store(key, *read.value, is_chosen);
                        return read.fault;
                    },
                    offered);
            }
        }
        /// What 0 is, where it is no number but what a field has that is not set; empty: a number.
        static QString none_words(std::string_view key) {
            if (key == "node_hour" || key == "gigabyte") return QObject::tr("no price given");
            if (key == "tokens") return QObject::tr("none (default)");
            if (key == "kv_heads") return QObject::tr("as many as heads");
            return key == "ffn_width" ? QObject::tr("8/3 of the width") : QString{};
        }
        static bool is_none(std::string_view key) { return !none_words(key).isEmpty(); }
        template <class Value>
        static QString field_of(std::string_view key, const Value& value, const Info& info) {
            const QString text = text_of(value, info);
            return is_none(key) && text == QLatin1String("0") ? QString{} : text;
        }
        template <class Value>
        static QString text_of(const Value& value, const Info& info) {
            if constexpr (std::is_enum_v<Value>) {
                const auto name = name_of(value);
                return QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
            } else {
                return to_field(value, info);
            }
        }
    };

    struct Refresh {
        Form& form;
        template <class Value>
        void operator()(const char* key, const Value& value, const Info& info) const {
            if (form.hidden_.count(key) || form.editor(key) == nullptr) return;
            if (form.is_mixed(key, value)) return form.show_mixed(key);
            if constexpr (std::is_same_v<Value, bool>)
                form.refresh(key, value);
            else if constexpr (std::is_enum_v<Value> || is_plain<Value> || IsOptional<Value>::value ||
                               IsList<Value>::value)
                form.refresh(key, Build::field_of(key, value, info));
        }
    };

    void refresh_all() {
        const auto parts = look_(document_.experiment());
        if (parts.empty()) return;
        Refresh refresh{*this};
        describe(refresh, *parts.front());
    }

    Document& document_;
    QString path_;
    std::function<std::vector<T*>(Experiment&)> parts_;
    std::function<std::vector<const T*>(const Experiment&)> look_;
    std::set<std::string> hidden_;
    Choices choices_;
};

}  // namespace skippipe
