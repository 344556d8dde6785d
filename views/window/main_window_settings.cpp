// SPDX-License-Identifier: GPL-3.0-or-later
// What the window remembers from one time to the next: theme, place, how its panes are divided, the last sweep's form,
// and which runs were pinned or hidden. A KB, read and written on the window's thread when it starts, and when somebody
// chooses a theme, opens a file or its menu, or closes the window: QSettings replaces the file as a whole, and the next
// window reads it at once.
#include <QActionGroup>
#include <QApplication>
#include <QCryptographicHash>
#include <QFileInfo>
#include <QHeaderView>
#include <QMenu>
#include <QScreen>
#include <QSettings>
#include <QSplitter>

#include <memory>

#include "views/theme/theme.h"
#include "views/theme/widgets.h"
#include "views/window/main_window.h"

namespace skippipe {
namespace {

constexpr int most_recent = 8;

constexpr std::pair<ThemeChoice, const char*> choices[] = {
    {ThemeChoice::system, "system"}, {ThemeChoice::light, "light"}, {ThemeChoice::dark, "dark"}};

/// Where what was said of runs is kept: of each record its own, by the place of its file.
QString key_of(const char* what, const std::filesystem::path& record) {
    const auto place = QByteArray::fromStdString(std::filesystem::absolute(record).lexically_normal().string());
    return QString(what) + '/' + QCryptographicHash::hash(place, QCryptographicHash::Sha1).toHex().left(16);
}

}  // namespace

ThemeChoice theme_choice(const QString& name) {
    for (const auto& [choice, words] : choices)
        if (name == QLatin1String(words)) return choice;
    return ThemeChoice::system;
}

bool is_dark(ThemeChoice choice) {
    return choice == ThemeChoice::system ? desktop_prefers_dark() : choice == ThemeChoice::dark;
}

void MainWindow::make_theme_menu(QMenu& view) {
    auto* menu = view.addMenu(tr("Theme"));
    auto* group = new QActionGroup(this);
    const QString words[] = {tr("System"), tr("Light"), tr("Dark")};
    for (const auto& [choice, name] : choices) {
        auto* action = add_action(*menu, words[static_cast<int>(choice)], {}, [this, c = choice] { set_theme(c); });
        action->setCheckable(true);
        action->setChecked(choice == theme_);
        group->addAction(action);
        theme_actions_[static_cast<std::size_t>(choice)] = action;
    }
}

/// As the desktop has it, until somebody chooses here.
void MainWindow::make_still_entry(QMenu& view) {
    still_ = add_action(view, tr("Reduced motion"), {}, [this] {
        watch_->set_still(still_->isChecked());
        if (!settings_file_.isEmpty())
            QSettings(settings_file_, QSettings::IniFormat).setValue("still", still_->isChecked());
    });
    still_->setCheckable(true);
    still_->setToolTip(tr("The network of a run that goes on shows each iteration's loads, and does not move"));
}

void MainWindow::set_theme(ThemeChoice choice) {
    theme_ = choice;
    theme_actions_[static_cast<std::size_t>(choice)]->setChecked(true);
    if (is_dark(choice) != theme().dark) apply_theme(*qApp, is_dark(choice));
    if (!settings_file_.isEmpty())
        QSettings(settings_file_, QSettings::IniFormat).setValue("theme", choices[static_cast<int>(choice)].second);
}

QSize MainWindow::first_size(QSize room) {
    constexpr QSize frame(16, 48), usual(1280, 800), most(1760, 1100);
    return usual.expandedTo(room * 3 / 4).boundedTo(most).boundedTo(room - frame);
}

void MainWindow::remember_in(const QString& file, std::optional<ThemeChoice> theme) {
    QSettings settings(file, QSettings::IniFormat);
    set_theme(
        theme.value_or(theme_choice(settings.value("theme").toString())));  // one that was asked for is not remembered
    settings_file_ = file;
    still_->setChecked(settings.value("still", desktop_prefers_stillness()).toBool());
    watch_->set_still(still_->isChecked());
    keys_.remember_in(file);
    recall_stop_rules();
    if (!restoreGeometry(settings.value("geometry").toByteArray())) resize(first_size(screen()->availableSize()));
    for (auto* splitter : findChildren<QSplitter*>())
        if (!splitter->objectName().isEmpty() &&
            splitter->restoreState(settings.value("panes/" + splitter->objectName()).toByteArray()))
            splitter->setProperty(fits_by_itself, false);
    auto& list = compare_->list();
    auto* columns = list.view().horizontalHeader();
    list.set_parameter_columns(settings.value("columns/parameters").toStringList());
    connect(&list, &RunList::columns_changed, this, [this] {
        QSettings(settings_file_, QSettings::IniFormat)
            .setValue("columns/parameters", compare_->list().parameter_columns());
    });
    if (settings.value("columns/chosen").toBool()) list.keep_columns();
    if (columns->restoreState(settings.value("columns/runs").toByteArray()))
        list.view().sortByColumn(columns->sortIndicatorSection(), columns->sortIndicatorOrder());
    for (const auto& [key, panel] : curve_panels()) panel->restore(settings.value(key).toStringList());
    auto& sweep = compare_->sweep();
    sweep.form().restore(settings.value("sweep").toStringList());
    connect(&sweep, &SweepPanel::started, this, [this] {
        QSettings(settings_file_, QSettings::IniFormat).setValue("sweep", compare_->sweep().form().choices());
    });
    list.set_marks(marks_of(settings.value(key_of("runs", feed_.file())).toStringList()));
    connect(&list, &RunList::marks_changed, this, [this] {
        QSettings(settings_file_, QSettings::IniFormat)
            .setValue(key_of("runs", feed_.file()), to_words(compare_->list().marks()));
    });
    watch_->set_bookmarks(RunBookmarks::from(settings.value(key_of("bookmarks", feed_.file())).toStringList()));
    connect(watch_, &WatchPage::bookmarks_changed, this, [this] {
        QSettings(settings_file_, QSettings::IniFormat)
            .setValue(key_of("bookmarks", feed_.file()), watch_->bookmarks().words());
    });
}

std::array<std::pair<const char*, CurvePanel*>, 2> MainWindow::curve_panels() const {
    return {{{"curves/watch", &watch_->curves()}, {"curves/compare", &compare_->curves()}}};
}

QStringList MainWindow::recent_files() const {
    return settings_file_.isEmpty() ? QStringList{}
                                    : QSettings(settings_file_, QSettings::IniFormat).value("recent").toStringList();
}

void MainWindow::remember_file(const std::filesystem::path& file) {
    if (settings_file_.isEmpty()) return;
    std::error_code ignored;
    const QString name = QString::fromStdString(std::filesystem::absolute(file, ignored).lexically_normal().string());
    QStringList files = recent_files();
    files.removeAll(name);
    files.prepend(name);
    while (files.size() > most_recent) files.removeLast();
    QSettings(settings_file_, QSettings::IniFormat).setValue("recent", files);
}

/// Which document opens the next time: none while one is shown that has no file.
void MainWindow::remember_document() const {
    if (settings_file_.isEmpty() || is_opening()) return;
    QSettings settings(settings_file_, QSettings::IniFormat);
    std::error_code ignored;
    const QString now =
        document_.file().empty()
            ? QString{}
            : QString::fromStdString(std::filesystem::absolute(document_.file(), ignored).lexically_normal().string());
    if (settings.value("last").toString() != now) settings.setValue("last", now);
}

void MainWindow::make_recent_menu(QMenu& file) {
    auto* menu = file.addMenu(tr("Open recent"));
    menu->setObjectName("recent");
    connect(&file, &QMenu::aboutToShow, this, [this, menu] {
        menu->clear();
        const QStringList names = recent_files();
        for (const QString& name : names) {
            auto* action = menu->addAction(QFileInfo(name).fileName().replace('&', "&&"));
            action->setToolTip(name);
            action->setStatusTip(name);
            connect(action, &QAction::triggered, this, [this, name] {
                if (may_lose_document(tr("opening %1").arg(QFileInfo(name).fileName()))) open(name.toStdString());
            });
        }
        menu->setEnabled(!menu->isEmpty());
        const auto gone = std::make_shared<QStringList>();
        recent_reader_.read(
            [gone, names] {
                for (const QString& name : names)
                    if (!QFileInfo::exists(name)) *gone << name;
            },
            [menu, gone](const QString&) {
                for (auto* action : menu->actions()) action->setEnabled(!gone->contains(action->toolTip()));
            });
    });
}

void MainWindow::store_layout() const {
    if (settings_file_.isEmpty()) return;
    QSettings settings(settings_file_, QSettings::IniFormat);
    settings.setValue("geometry", saveGeometry());
    for (const auto& [key, panel] : curve_panels()) settings.setValue(key, panel->choices());
    settings.setValue("sweep", compare_->sweep().form().choices());
    settings.setValue("columns/chosen", compare_->list().has_chosen_columns());
    settings.setValue("columns/runs", compare_->list().view().horizontalHeader()->saveState());
    for (const auto* splitter : findChildren<QSplitter*>())
        if (!splitter->objectName().isEmpty())
            settings.setValue("panes/" + splitter->objectName(),
                              splitter->property(fits_by_itself).toBool() ? QByteArray{} : splitter->saveState());
}

}  // namespace skippipe
