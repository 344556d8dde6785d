// SPDX-License-Identifier: GPL-3.0-or-later
// What the window remembers from one time to the next: theme, place, and how its panes are divided. A KB, written on
// the window's thread when somebody chooses a theme, opens a file or closes the window: QSettings replaces the file as
// a whole, and the next window reads it at once.
#include <QActionGroup>
#include <QApplication>
#include <QFileInfo>
#include <QMenu>
#include <QSettings>
#include <QSplitter>

#include "views/theme/theme.h"
#include "views/window/main_window.h"

namespace skippipe {
namespace {

constexpr int most_recent = 8;

constexpr std::pair<ThemeChoice, const char*> choices[] = {
    {ThemeChoice::system, "system"}, {ThemeChoice::light, "light"}, {ThemeChoice::dark, "dark"}};

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

void MainWindow::set_theme(ThemeChoice choice) {
    theme_ = choice;
    theme_actions_[static_cast<std::size_t>(choice)]->setChecked(true);
    if (is_dark(choice) != theme().dark) apply_theme(*qApp, is_dark(choice));
    if (!settings_file_.isEmpty())
        QSettings(settings_file_, QSettings::IniFormat).setValue("theme", choices[static_cast<int>(choice)].second);
}

void MainWindow::remember_in(const QString& file, std::optional<ThemeChoice> theme) {
    QSettings settings(file, QSettings::IniFormat);
    set_theme(
        theme.value_or(theme_choice(settings.value("theme").toString())));  // one that was asked for is not remembered
    settings_file_ = file;
    if (!document_.file().empty()) remember_file(document_.file());
    restoreGeometry(settings.value("geometry").toByteArray());
    for (auto* splitter : findChildren<QSplitter*>())
        if (!splitter->objectName().isEmpty())
            splitter->restoreState(settings.value("panes/" + splitter->objectName()).toByteArray());
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

void MainWindow::make_recent_menu(QMenu& file) {
    auto* menu = file.addMenu(tr("Open recent"));
    menu->setObjectName("recent");
    connect(&file, &QMenu::aboutToShow, this, [this, menu] {
        menu->clear();
        for (const QString& name : recent_files()) {
            const QFileInfo info(name);
            auto* action = menu->addAction(info.fileName().replace('&', "&&"));
            action->setToolTip(name);
            action->setStatusTip(name);
            action->setEnabled(info.exists());
            connect(action, &QAction::triggered, this, [this, name] {
                if (may_lose_document()) open(name.toStdString());
            });
        }
        menu->setEnabled(!menu->isEmpty());
    });
}

void MainWindow::store_layout() const {
    if (settings_file_.isEmpty()) return;
    QSettings settings(settings_file_, QSettings::IniFormat);
    settings.setValue("geometry", saveGeometry());
    for (const auto* splitter : findChildren<QSplitter*>())
        if (!splitter->objectName().isEmpty())
            settings.setValue("panes/" + splitter->objectName(), splitter->saveState());
}

}  // namespace skippipe
