// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/theme/theme.h"

#include <algorithm>
#include <cmath>

#include <QApplication>
#include <QDBusConnection>
#include <QDBusConnectionInterface>
#include <QDBusMessage>
#include <QDBusVariant>
#include <QPainter>
#include <QPalette>
#include <QProxyStyle>
#include <QStyleOption>
#include <QToolTip>

namespace skippipe {
namespace {
/// Nothing in the window moves by itself, for those whom motion disturbs and for everybody else. The head that orders a
/// table points up where values rise from row to row, where Fusion points down, and beside its words, not into them.
class StillStyle : public QProxyStyle {
public:
    StillStyle() : QProxyStyle(QStringLiteral("Fusion")) {}
    int styleHint(StyleHint hint, const QStyleOption* option, const QWidget* widget,
                  QStyleHintReturn* more) const override {
        return hint == SH_Widget_Animation_Duration ? 0 : QProxyStyle::styleHint(hint, option, widget, more);
    }
    QRect subElementRect(SubElement element, const QStyleOption* option, const QWidget* widget) const override {
        if (element != SE_HeaderArrow) return QProxyStyle::subElementRect(element, option, widget);
        return {option->rect.right() - head_arrow, option->rect.center().y() - head_arrow / 2, head_arrow, head_arrow};
    }
    void drawPrimitive(PrimitiveElement element, const QStyleOption* option, QPainter* painter,
                       const QWidget* widget) const override {
        const auto* head = qstyleoption_cast<const QStyleOptionHeader*>(option);
        if (element != PE_IndicatorHeaderArrow || head == nullptr)
            return QProxyStyle::drawPrimitive(element, option, painter, widget);
        const double up = head->sortIndicator == QStyleOptionHeader::SortUp ? -1 : 1;  // Qt's word for falling
        const QPointF middle = QRectF(head->rect).center();
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        painter->setPen(QPen(theme().text_2, 1.5));
        painter->drawPolyline(
            QPolygonF({middle + QPointF(-3, 1.5 * up), middle + QPointF(0, -1.5 * up), middle + QPointF(3, 1.5 * up)}));
        painter->restore();
    }

private:
    static constexpr int head_arrow = 9;  ///< pixels, within what the style sheet leaves beside a head's words
};

const Theme* current = &Theme::light();

Theme make_light() {
    Theme t;
    t.surface = QColor{"#FFFFFF"};
    t.surface_2 = QColor{"#F6F7F9"};
    t.line = QColor{"#E3E6EB"};
    t.text = QColor{"#1B1F27"};
    t.text_2 = QColor{"#5B6472"};
    t.accent = QColor{"#2460D8"};
    t.on_accent = QColor{"#FFFFFF"};
    t.good = QColor{"#18794E"};
    t.warning = QColor{"#9A6700"};
    t.bad = QColor{"#C62F3E"};
    t.stages = {"#4D63CA", "#DD6478", "#006555", "#875E04", "#433263", "#8B910E", "#AC7CAF", "#642902"};
    t.reduction = QColor{"#2400CC"};
    t.memory = {"#786098", "#883848", "#587840", "#481838", "#389878"};
    t.waits = {"#8478FC", "#6C4800", "#3C9078", "#CC3C90", "#8418FC", "#183C30", "#840C3C", "#CC8454"};
    return t;
}

Theme make_dark() {
    Theme t;
    t.dark = true;
    t.surface = QColor{"#15181E"};
    t.surface_2 = QColor{"#1D2129"};
    t.line = QColor{"#2E343F"};
    t.text = QColor{"#E6E9EF"};
    t.text_2 = QColor{"#9AA3B2"};
    t.accent = QColor{"#6D9BFF"};
    t.on_accent = QColor{"#15181E"};
    t.good = QColor{"#4CC38A"};
    t.warning = QColor{"#E0B341"};
    t.bad = QColor{"#FF7B86"};
    t.stages = {"#6D88F2", "#FA8093", "#94E5D1", "#FECF86", "#CBBAF6", "#9BA223", "#956A98", "#A1603E"};
    t.reduction = QColor{"#6048F0"};
    t.memory = {"#9888C0", "#B87080", "#809860", "#E098C0", "#387860"};
    t.waits = {"#D8D8FC", "#E4B418", "#24CCA8", "#CC3C84", "#C09CF0", "#48FCC0", "#E41860", "#B83800"};
    return t;
}

double linear(double channel) {
    return channel <= 0.04045 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
}

double luminance(const QColor& c) {
    return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
}

QPalette palette_of(const Theme& t) {
    QPalette p;
    p.setColor(QPalette::Window, t.surface_2);
    p.setColor(QPalette::WindowText, t.text);
    p.setColor(QPalette::Base, t.surface);
    p.setColor(QPalette::AlternateBase, t.surface_2);
    p.setColor(QPalette::Text, t.text);
    p.setColor(QPalette::PlaceholderText, t.text_2);
    p.setColor(QPalette::Button, t.surface_2);
    p.setColor(QPalette::ButtonText, t.text);
    p.setColor(QPalette::BrightText, t.bad);
    p.setColor(QPalette::Highlight, t.accent);
    p.setColor(QPalette::HighlightedText, t.on_accent);
    p.setColor(QPalette::Link, t.accent);
    p.setColor(QPalette::ToolTipBase, t.surface_2);
    p.setColor(QPalette::ToolTipText, t.text);
    p.setColor(QPalette::Light, t.line);
    p.setColor(QPalette::Midlight, t.line);
    p.setColor(QPalette::Mid, t.line);
    p.setColor(QPalette::Dark, t.line);
    p.setColor(QPalette::Shadow, t.line);
    for (auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText})
        p.setColor(QPalette::Disabled, role, t.text_2);
    return p;
}

QFont sized(int pixels, QFont::Weight weight = QFont::Normal) {
    QFont font = QApplication::font();
    font.setPixelSize(pixels);
    font.setWeight(weight);
    return font;
}

/// Made once: they are asked for in every paint.
struct Fonts {
    QFont body = sized(size::body_text), small = sized(size::small_text), bold = sized(size::body_text, QFont::Bold),
          title = sized(size::title_text, QFont::DemiBold);
};

const Fonts& fonts() {
    static const Fonts made;
    return made;
}

/// What the palette said before the first theme replaced it.
bool first_palette_is_dark() {
    static const bool dark = [] {
        const QPalette palette = QGuiApplication::palette();
        return palette.color(QPalette::Window).lightness() < palette.color(QPalette::WindowText).lightness();
    }();
    return dark;
}

}  // namespace

const Theme& Theme::light() {
    static const Theme t = make_light();
    return t;
}

const Theme& Theme::dark_theme() {
    static const Theme t = make_dark();
    return t;
}

QColor Theme::stage(int index) const {
    return index < 0 ? text_2 : stages[static_cast<std::size_t>(index % stage_colours)];
}

QColor Theme::text_on(const QColor& fill) const {
    const QColor black(Qt::black), white(Qt::white);
    return contrast(fill, black) >= contrast(fill, white) ? black : white;
}

const Theme& theme() { return *current; }

double contrast(const QColor& a, const QColor& b) {
    const double la = luminance(a), lb = luminance(b);
    return (std::max(la, lb) + 0.05) / (std::min(la, lb) + 0.05);
}

QColor mix(const QColor& a, const QColor& b, double share) {
    const auto blend = [share](float x, float y) { return static_cast<float>(x + (y - x) * share); };
    return QColor::fromRgbF(blend(a.redF(), b.redF()), blend(a.greenF(), b.greenF()), blend(a.blueF(), b.blueF()),
                            blend(a.alphaF(), b.alphaF()));
}

QFont body_font() { return fonts().body; }
QFont small_font() { return fonts().small; }
QFont bold_font() { return fonts().bold; }
QFont title_font() { return fonts().title; }

namespace {

/// What the desktop's portal says; invalid: it cannot be asked, or does not know.
QVariant desktop_setting(const QString& where, const QString& name) {
    const auto bus = QDBusConnection::sessionBus();
    if (!bus.isConnected()) return {};
    auto ask = QDBusMessage::createMethodCall("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop",
                                              "org.freedesktop.portal.Settings", "Read");
    ask << where << name;
    const auto answer = bus.call(ask, QDBus::Block, 200);
    if (answer.type() != QDBusMessage::ReplyMessage || answer.arguments().isEmpty()) return {};
    QVariant value = answer.arguments().front();
    while (value.canConvert<QDBusVariant>()) value = value.value<QDBusVariant>().variant();
    return value;
}

}  // namespace

bool desktop_prefers_dark() {
    const int scheme =
        desktop_setting(QStringLiteral("org.freedesktop.appearance"), QStringLiteral("color-scheme")).toInt();
    return scheme == 1 || scheme == 2 ? scheme == 1 : first_palette_is_dark();
}

bool desktop_prefers_stillness() {
    const auto moves =
        desktop_setting(QStringLiteral("org.gnome.desktop.interface"), QStringLiteral("enable-animations"));
    return moves.isValid() && !moves.toBool();
}

void apply_theme(QApplication& application, bool dark) {
    first_palette_is_dark();
    current = dark ? &Theme::dark_theme() : &Theme::light();
    QApplication::setStyle(new StillStyle);  // the application keeps it
    QFont font = QApplication::font();
    font.setPixelSize(size::body_text);
    font.setStyleHint(QFont::SansSerif);
    QApplication::setFont(font);
    QApplication::setPalette(palette_of(*current));
    QToolTip::setFont(sized(size::body_text));
    application.setStyleSheet(style_sheet(*current));
}

}  // namespace skippipe
