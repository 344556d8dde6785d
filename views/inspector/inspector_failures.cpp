// SPDX-License-Identifier: GPL-3.0-or-later
// The inspector's share of failures: the list of them, the properties of one, and what is done about losses.
#include <algorithm>

#include <QComboBox>
#include <QHBoxLayout>
#include <QListWidget>
#include <QMenu>
#include <QPainter>
#include <QPushButton>
#include <QShortcut>
#include <QStyledItemDelegate>

#include "core/experiment/failure_text.h"
#include "views/inspector/form.h"
#include "views/inspector/inspector.h"
#include "views/theme/theme.h"
#include "views/theme/widgets.h"
#include "views/topology/failure_edits.h"

namespace skippipe {
namespace {

constexpr std::size_t most_listed = 200;
constexpr int most_rows = 5;

constexpr const char* trigger_keys[] = {"at_s", "at_iteration", "probability_per_iteration", "rate_per_hour"};

QStringList trigger_words() {
    return {Inspector::tr("At a time"), Inspector::tr("In an iteration"), Inspector::tr("By chance"),
            Inspector::tr("At a rate")};
}

/// Whom it happens to, and below it, paler, what and when.
class FailureRow final : public QStyledItemDelegate {
public:
    using QStyledItemDelegate::QStyledItemDelegate;
    QSize sizeHint(const QStyleOptionViewItem&, const QModelIndex&) const override { return {100, row_height}; }
    void paint(QPainter* painter, const QStyleOptionViewItem& option, const QModelIndex& index) const override {
        QStyleOptionViewItem plain = option;
        initStyleOption(&plain, index);
        plain.text.clear();
        plain.widget->style()->drawControl(QStyle::CE_ItemViewItem, &plain, painter, plain.widget);
        const bool chosen = option.state & QStyle::State_Selected;
        const QRect room = option.rect.adjusted(size::gap, size::unit, -size::gap, -size::unit);
        const auto line = [&](const QFont& font, const QColor& colour, int flags, const QString& text) {
            painter->setFont(font);
            painter->setPen(chosen ? option.palette.color(QPalette::HighlightedText) : colour);
            painter->drawText(room, flags, QFontMetrics(font).elidedText(text, Qt::ElideRight, room.width()));
        };
        painter->save();
        line(body_font(), theme().text, Qt::AlignLeft | Qt::AlignTop, index.data().toString());
        line(small_font(), theme().text_2, Qt::AlignLeft | Qt::AlignBottom, index.data(Qt::UserRole).toString());
        painter->restore();
    }

    static constexpr int row_height = 40;
};

/// As high as its rows, up to a few: no list in a list of properties scrolls without need.
class ShortList final : public QListWidget {
public:
    QSize sizeHint() const override {
        return {QListWidget::sizeHint().width(),
                2 * frameWidth() + FailureRow::row_height * std::clamp(count(), 1, most_rows)};
    }
    QSize minimumSizeHint() const override { return {120, sizeHint().height()}; }
};

}  // namespace

void Inspector::show_failures() {
    auto* panel = new QWidget;
    auto* rows = new QVBoxLayout(panel);
    rows->setContentsMargins(0, 0, 0, 0);
    rows->setSpacing(size::unit);
    const auto& failures = document_.experiment().failures;
    if (failures.empty()) {
        rows->addWidget(words_label(tr("Nothing goes wrong in this experiment"), "secondary"));
    } else {
        auto* list = new ShortList;
        list->setObjectName("failure_list");
        list->setAccessibleName(tr("Failures"));
        list->setItemDelegate(new FailureRow(list));
        list->setUniformItemSizes(true);
        list->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
        list->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
        const auto fill = [this, list] {
            const auto& now = document_.experiment().failures;
            const int count = static_cast<int>(std::min(now.size(), most_listed));
            while (list->count() > count) delete list->takeItem(list->count() - 1);
            while (list->count() < count) new QListWidgetItem(list);
            for (int i = 0; i < count; ++i) {
                const auto& failure = now[static_cast<std::size_t>(i)];
                list->item(i)->setText(QString::fromStdString(failure_subject(failure)));
                list->item(i)->setData(Qt::UserRole, QString::fromStdString(failure_words(failure)));
                list->item(i)->setData(Qt::AccessibleTextRole, QString::fromStdString(failure_line(failure)));
                list->item(i)->setToolTip(QString::fromStdString(failure_line(failure)));
            }
            list->updateGeometry();
        };
        fill();
        connect(&document_, &Document::changed, list, fill);
        const auto open = [this, list](QListWidgetItem* item) {
            failures_.select(static_cast<std::size_t>(list->row(item)));
        };
        connect(list, &QListWidget::itemClicked, this, open);
        connect(list, &QListWidget::itemActivated, this, open);
        auto* remove = new QShortcut(QKeySequence::Delete, list, nullptr, nullptr, Qt::WidgetShortcut);
        connect(remove, &QShortcut::activated, this, [this, list] {
            if (list->currentRow() >= 0) failures_.remove(static_cast<std::size_t>(list->currentRow()));
        });
        rows->addWidget(list);
        if (failures.size() > most_listed)
            rows->addWidget(words_label(
                tr("and %1 more: the axis under the plan has them all").arg(failures.size() - most_listed), "small"));
    }
    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(size::gap);
    auto* add = new QPushButton(tr("Add failure"));
    add->setObjectName("add_failure");
    add->setProperty("role", "menu");
    auto* menu = new QMenu(add);
    menu->setObjectName("add_failure_menu");
    connect(menu, &QMenu::aboutToShow, this, [this, menu] {
        menu->clear();
        failures_.fill_add_menu(*menu);
    });
    add->setMenu(menu);
    buttons->addWidget(add);
    auto* trace = new QPushButton(tr("Import trace…"));
    trace->setToolTip(tr("A CSV of node,down_s,up_s: a crash a row, in seconds of network time"));
    connect(trace, &QPushButton::clicked, this, [this] { failures_.ask_for_trace(window()); });
    buttons->addWidget(trace);
    buttons->addStretch();
    rows->addLayout(buttons);
    if (failures.size() > 1) {
        auto* clear = new QPushButton(tr("Remove all %1").arg(failures.size()));
        clear->setObjectName("remove_failures");
        connect(clear, &QPushButton::clicked, this,
                [this] { document_.edit(tr("Remove failures"), [](Experiment& e) { e.failures.clear(); }); });
        rows->addWidget(clear, 0, Qt::AlignLeft);
    }
    section(tr("Failures (%1)").arg(failures.size()), panel, !failures.empty());
    show_recovery();
}

void Inspector::show_recovery() {
    section(tr("Recovery"),
            new Form<Recovery>(
                document_, "recovery", [](auto& e) { return &e.recovery; }, hidden(FormPart::recovery)),
            !document_.experiment().failures.empty());
}

void Inspector::show_failure(std::size_t index) {
    const Failure& now = document_.experiment().failures[index];
    const auto locate = [index](auto& e) { return index < e.failures.size() ? &e.failures[index] : nullptr; };
    const QString path = QStringLiteral("failure/%1").arg(index);
    column_->addWidget(words_label(tr("Failure"), "heading"));
    auto* words = words_label({}, "secondary");
    words->setObjectName("failure_words");
    const auto say = [this, words, index] {
        if (const auto& all = document_.experiment().failures; index < all.size())
            words->setText(QString::fromStdString(failure_line(all[index])));
    };
    connect(&document_, &Document::changed, words, say);
    say();
    column_->addWidget(words);

    std::set<std::string> hidden{"rejoin_after_s", "factor"};
    for (const char* key : trigger_keys) hidden.insert(key);
    if (now.kind == FailureKind::coordinator_loss) hidden.insert("target");
    const auto targets = [index](const Experiment& e) {
        QStringList names;
        if (index < e.failures.size())
            for (const auto& target : failure_targets(e, e.failures[index].kind))
                names << QString::fromStdString(target);
        return names;
    };
    auto* what = new Form<Failure>(document_, path, locate, hidden, {{"target", targets}});
    what->also = [index](Experiment& e, const std::string& key, const Failure& before, const Failure& after) {
        if (key != "kind") return;
        e.failures[index].kind = before.kind;
        set_kind(e, e.failures[index], after.kind);
    };
    column_->addWidget(what);

    auto* when = new FormRows;
    const auto trigger = trigger_of(now);
    when->add_choice("when", Info{.doc = "What says when it happens; chances and rates are drawn from the seed"},
                     trigger_words(), trigger_words()[static_cast<int>(trigger)], [this, index](const QString& text) {
                         const auto chosen = static_cast<Trigger>(trigger_words().indexOf(text));
                         document_.edit(tr("When it fails"), [&](Experiment& e) {
                             if (index < e.failures.size()) set_trigger(e.failures[index], chosen);
                         });
                         return QString{};
                     });
    column_->addWidget(when);

    std::set<std::string> others{"kind", "target"};
    for (int i = 0; i < 4; ++i)
        if (i != static_cast<int>(trigger)) others.insert(trigger_keys[i]);
    if (!has_factor(now.kind)) others.insert("factor");
    if (now.kind == FailureKind::coordinator_loss) others.insert("rejoin_after_s");
    column_->addWidget(new Form<Failure>(document_, path, locate, others));

    auto* buttons = new QHBoxLayout;
    buttons->setSpacing(size::gap);
    auto* remove = new QPushButton(tr("Remove"));
    remove->setObjectName("remove_failure");
    connect(remove, &QPushButton::clicked, this, [this, index] { failures_.remove(index); });
    buttons->addWidget(remove);
    auto* all = new QPushButton(tr("All failures"));
    all->setToolTip(tr("The experiment's settings, with the list of its failures (Esc on the axis)"));
    connect(all, &QPushButton::clicked, this, [this] { selection_.clear(); });
    buttons->addWidget(all);
    buttons->addStretch();
    column_->addLayout(buttons);
    show_recovery();
}

}  // namespace skippipe
