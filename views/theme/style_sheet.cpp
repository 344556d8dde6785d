// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/theme/theme.h"

namespace skippipe {
namespace {

// @name stands for the theme's colour of that name; sizes are look.md's, in pixels at scale 1.
constexpr auto rules = R"(
* { outline: 0; }
QMainWindow, QDialog { background: @surface2; }
QMainWindow::separator { background: @line; width: 1px; height: 1px; }
QSplitter::handle { background: @line; }
QSplitter::handle:horizontal { width: 1px; }
QSplitter::handle:vertical { height: 1px; }
QToolTip { background: @surface2; color: @text; border: 1px solid @line; padding: 4px 8px; }
QLabel { background: transparent; }
QLabel[role="title"] { font-size: 16px; font-weight: 600; }
QLabel[role="heading"] { font-size: 13px; font-weight: 600; color: @text; }
QLabel[role="small"] { font-size: 11px; color: @text2; }
QLabel#field_help { background: @surface2; border-top: 1px solid @line; }
QLabel[role="secondary"] { color: @text2; }
QLabel[role="bad"] { color: @bad; }
QLabel[role="good"] { color: @good; }
QLabel[role="warning"] { color: @warning; }

QPushButton, QToolButton[role="button"] { background: @surface; color: @text; border: 1px solid @line; border-radius: 4px;
  padding: 0 12px; min-height: 26px; }
QPushButton:hover, QToolButton[role="button"]:hover { background: @hover; }
QPushButton:pressed { background: @line; }
QPushButton:focus, QToolButton:focus { border: 1px solid @accent; }
QPushButton:disabled, QPushButton[told="true"] { color: @text2; background: @surface2; }
QPushButton::menu-indicator { image: url(@arrow); width: 10px; height: 10px; subcontrol-origin: padding;
  subcontrol-position: right center; right: 8px; }
QPushButton[role="menu"] { padding-right: 24px; }
QPushButton[role="narrow"] { padding: 0 6px; }
QPushButton[role="beside_tabs"] { padding: 0 8px; min-height: 20px; }
QPushButton[role="accent"] { background: @accent; color: @onaccent; border: 1px solid @accent; font-weight: 600; }
QPushButton[role="accent"]:hover { background: @accenthover; }
QPushButton[role="accent"]:focus { border: 2px solid @text; }
QPushButton[role="accent"]:disabled { background: @line; color: @text2; border-color: @line; }
QPushButton[role="link"] { border: 0; background: transparent; color: @accent; padding: 0 4px; }
QPushButton[role="link"]:focus { border: 1px solid @accent; }

/* Lines have no colour of their own here: the hints in empty ones would be half of it, too pale to read. */
QComboBox, QSpinBox, QDoubleSpinBox { color: @text; }
QLineEdit, QComboBox, QSpinBox, QDoubleSpinBox, QPlainTextEdit { background: @surface; border: 1px solid @line;
  border-radius: 4px; padding: 0 8px; min-height: 26px; selection-background-color: @accent; selection-color: @onaccent; }
QPlainTextEdit { padding: 4px 6px; }
QLineEdit:focus, QComboBox:focus, QSpinBox:focus, QDoubleSpinBox:focus, QPlainTextEdit:focus { border: 1px solid @accent; }
QLineEdit[faulty="true"], QComboBox[faulty="true"], QPlainTextEdit[faulty="true"] { border: 1px solid @bad; }
QComboBox:disabled, QDoubleSpinBox:disabled { color: @text2; background: @surface2; }
QLineEdit:disabled { background: @surface2; }
QLabel#subject { font-size: 16px; font-weight: 600; color: @text; }
QLineEdit[role="name"] { border: 1px solid transparent; background: transparent; font-size: 16px; font-weight: 600; }
QLineEdit[role="name"]:hover { border: 1px solid @line; }
QLineEdit[role="name"]:focus { border: 1px solid @accent; background: @surface; }
QAbstractSpinBox::up-button, QAbstractSpinBox::down-button { subcontrol-origin: border; border: 0; width: 20px; background: transparent; }
QAbstractSpinBox::up-button { subcontrol-position: top right; }
QAbstractSpinBox::down-button { subcontrol-position: bottom right; }
QAbstractSpinBox::up-button:hover, QAbstractSpinBox::down-button:hover { background: @hover; }
QAbstractSpinBox::up-arrow { image: url(@uparrow); width: 8px; height: 8px; }
QAbstractSpinBox::down-arrow { image: url(@arrow); width: 8px; height: 8px; }
QComboBox::drop-down { border: 0; width: 20px; }
QComboBox::down-arrow { image: url(@arrow); width: 10px; height: 10px; }
/* A list below the box, as menus look; without this it is drawn as a menu of the platform, by no rule of these. */
QComboBox { combobox-popup: 0; }
QComboBox QAbstractItemView, QComboBox QAbstractItemView:focus { background: @surface; color: @text; border: 1px solid @line;
  padding: 4px 0; selection-background-color: @selected; selection-color: @text; }
QComboBox QAbstractItemView::item { min-height: 26px; padding: 0 8px; }
QCheckBox { spacing: 8px; min-height: 26px; }
QCheckBox::indicator { width: 12px; height: 12px; border: 1px solid @text2; border-radius: 2px; background: @surface; padding: 1px; }
QCheckBox::indicator:checked { background: @accent; border-color: @accent; image: url(@check); }
QCheckBox:focus { color: @accent; }
QCheckBox::indicator:focus { border: 1px solid @accent; }
QSlider::groove:horizontal { background: @line; height: 4px; border-radius: 2px; }
QSlider::sub-page:horizontal { background: @accent; height: 4px; border-radius: 2px; }
QSlider::handle:horizontal { background: @surface; border: 1px solid @text2; width: 12px; height: 12px; margin: -5px 0;
  border-radius: 7px; }
QSlider::handle:horizontal:hover { border: 1px solid @accent; }
QSlider::handle:horizontal:focus { background: @accent; border: 1px solid @text; }
QSlider[empty="true"]::handle:horizontal { background: transparent; border: 1px solid transparent; }
QSlider[empty="true"]::sub-page:horizontal { background: @line; }
QSlider::sub-page:horizontal:disabled { background: @line; }
QCheckBox:disabled { color: @text2; }

QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }

QScrollArea { border: 0; background: transparent; }
QScrollArea > QWidget > QWidget { background: transparent; }
QAbstractScrollArea { border: 0; }
QPlainTextEdit { border: 1px solid @line; }
QPlainTextEdit:focus { border: 1px solid @accent; }
QPlainTextEdit:disabled { background: @surface2; }
QTableView, QTreeView, QListView { background: @surface; alternate-background-color: @surface; color: @text;
  border: 1px solid @surface;
  gridline-color: @line; selection-background-color: @selected; selection-color: @text; }
QTableView:focus, QTreeView:focus, QListView:focus { border: 1px solid @accent; }
QTableView::item, QTreeView::item, QListView::item { padding: 0 8px; border: 0; }
QTableView[role="narrow"]::item { padding: 0 3px; }
QTableView[role="narrow"] QHeaderView::section { padding: 4px 5px; }
QTableView::item:selected, QTreeView::item:selected, QListView::item:selected { background: @selected; color: @text; }
QHeaderView { background: @surface2; border: 0; border-bottom: 1px solid @line; }
QHeaderView::section { background: transparent; color: @text2; border: 0; padding: 4px 11px;
  font-size: 11px; }
QTableCornerButton::section { background: @surface2; border: 0; }
QAbstractScrollArea::corner { background: transparent; border: 0; }

QTabBar { background: transparent; qproperty-drawBase: 0; }
QTabBar::tab { background: transparent; color: @text2; border: 0; border-bottom: 2px solid transparent; padding: 5px 12px 4px 12px; }
QTabBar::tab:hover { color: @text; }
QTabBar::tab:selected { color: @text; border-bottom: 2px solid @accent; }
QTabBar::tab:selected:focus { color: @accent; background: @selected; }
QTabWidget > QToolButton { background: @surface2; }  /* Fusion draws a line under what stands beside tabs */
QTabWidget::pane { border: 0; border-top: 1px solid @line; }

QScrollBar:vertical { background: transparent; width: 10px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 10px; margin: 0; }
QScrollBar::handle { background: @handle; border-radius: 3px; margin: 2px; min-height: 24px; min-width: 24px; }
QScrollBar::handle:hover { background: @text2; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }

QMenuBar { background: @surface2; color: @text; border-bottom: 1px solid @line; }
QMenuBar::item { padding: 5px 10px; background: transparent; }
QMenuBar::item:selected { background: @selected; }
QMenu { background: @surface; color: @text; border: 1px solid @line; padding: 4px 0; }
QMenu::item { padding: 5px 28px 5px 16px; }
QMenu::item:selected { background: @selected; }
QMenu::item:disabled { color: @text2; }
QMenu::separator { height: 1px; background: @line; margin: 4px 0; }
QStatusBar { background: @surface2; color: @text2; border-top: 1px solid @line; }
QStatusBar::item { border: 0; }
QProgressBar { background: @line; border: 0; border-radius: 2px; max-height: 4px; min-height: 4px; }
QProgressBar::chunk { background: @accent; border-radius: 2px; }

QWidget#rail { background: @surface2; border-right: 1px solid @line; }
QWidget#rail QToolButton { border: 0; border-left: 2px solid transparent; background: transparent; color: @text2; font-size: 11px;
  padding: 6px 0; min-width: 60px; min-height: 44px; }
QWidget#rail QToolButton:hover { color: @text; background: @hover; }
QWidget#rail QToolButton:checked { color: @text; border-left: 2px solid @accent; background: @selected; }
QWidget#rail QToolButton:focus { border-left: 2px solid @text; }
QWidget#bar { background: @surface2; border-bottom: 1px solid @line; }
QWidget#banner { background: @banner; border: 1px solid @handle; border-radius: 4px; }
QWidget#banner[calm="true"] { background: @surface2; }
QWidget#banner[failure="true"] { background: @failure; border-color: @bad; }
QWidget[role="panel"] { background: @surface2; }
QWidget[role="surface"] { background: @surface; }
QFrame[role="card"] { background: @surface2; border: 1px solid @line; border-radius: 4px; }
QFrame[role="hairline"] { background: @line; border: 0; max-height: 1px; min-height: 1px; }
QToolButton { border: 1px solid transparent; border-radius: 4px; padding: 2px 6px; color: @text; background: transparent; }
QToolButton[popupMode="2"] { padding-right: 20px; }
QToolButton::menu-indicator { image: url(@arrow); width: 10px; height: 10px; subcontrol-origin: padding;
  subcontrol-position: right center; right: 5px; }
QToolButton:hover { background: @hover; }
QToolButton:checked, QPushButton:checked { background: @selected; }
)";

}  // namespace

QString style_sheet(const Theme& t) {
    QString sheet = QString::fromLatin1(rules);
    const std::pair<const char*, QColor> names[] = {
        {"@surface2", t.surface_2},
        {"@surface", t.surface},
        {"@line", t.line},
        {"@text2", t.text_2},
        {"@text", t.text},
        {"@accenthover", mix(t.accent, t.text, 0.15)},
        {"@accent", t.accent},
        {"@onaccent", t.on_accent},
        {"@hover", mix(t.surface_2, t.text, 0.06)},
        {"@selected", mix(t.surface, t.accent, t.dark ? 0.24 : 0.14)},
        {"@handle", mix(t.line, t.text_2, 0.4)},
        {"@banner", mix(t.surface, t.warning, 0.14)},
        {"@failure", mix(t.surface, t.bad, 0.14)},
        {"@good", t.good},
        {"@warning", t.warning},
        {"@bad", t.bad},
    };
    for (const auto& [name, colour] : names) sheet.replace(QLatin1String(name), colour.name());
    sheet.replace("@uparrow", t.dark ? ":/icons/arrow-up-dark.png" : ":/icons/arrow-up-light.png");
    sheet.replace("@arrow", t.dark ? ":/icons/arrow-dark.png" : ":/icons/arrow-light.png");
    sheet.replace("@check", t.dark ? ":/icons/check-dark.png" : ":/icons/check-light.png");
    return sheet;
}

}  // namespace skippipe
