// SPDX-License-Identifier: GPL-3.0-or-later
// What the window remembers from one time to the next: theme, place, and how its panes are divided.
#include <QActionGroup>
#include <QApplication>
#include <QMenu>
#include <QSettings>
#include <QSplitter>

#include "views/theme/theme.h"
#include "views/window/main_window.h"

namespace skippipe {
namespace {

constexpr std::pair<ThemeChoice, const char*> choices[] = {{ThemeChoice::system, "system"}, {ThemeChoice::light, "light"}, {ThemeChoice::dark, "dark"}};

}  // namespace

ThemeChoice theme_choice(const QString& name) {
    for (const auto& [choice, words] : choices)
        if (name == QLatin1String(words)) return choice;
    return ThemeChoice::system;
}

bool is_dark(ThemeChoice choice) { return choice == ThemeChoice::system ? desktop_prefers_dark() : choice == ThemeChoice::dark; }

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

void MainWindow::set_theme(ThemeChoice choice) {
    theme_ = choice;
    theme_actions_[static_cast<std::size_t>(choice)]->setChecked(true);
    if (is_dark(choice) != theme().dark) apply_theme(*qApp, is_dark(choice));
    if (!settings_file_.isEmpty()) QSettings(settings_file_, QSettings::IniFormat).setValue("theme", choices[static_cast<int>(choice)].second);
}

void MainWindow::remember_in(const QString& file, std::optional<ThemeChoice> theme) {
    QSettings settings(file, QSettings::IniFormat);
    set_theme(theme.value_or(theme_choice(settings.value("theme").toString())));  // one that was asked for is not remembered
    settings_file_ = file;
    restoreGeometry(settings.value("geometry").toByteArray());
    for (auto* splitter : findChildren<QSplitter*>())
        if (!splitter->objectName().isEmpty()) splitter->restoreState(settings.value("panes/" + splitter->objectName()).toByteArray());
}

void MainWindow::store_layout() const {
    if (settings_file_.isEmpty()) return;
    QSettings settings(settings_file_, QSettings::IniFormat);
    settings.setValue("geometry", saveGeometry());
    for (const auto* splitter : findChildren<QSplitter*>())
        if (!splitter->objectName().isEmpty()) settings.setValue("panes/" + splitter->objectName(), splitter->saveState());
}

}  // namespace skippipe
