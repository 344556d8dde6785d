// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/inspector/fact_rows.h"

#include "views/theme/numbers.h"
#include "views/theme/theme.h"

namespace skippipe {

QString fact_anchor(const QString& target, const QString& words) {
    return QStringLiteral("<a href=\"%1\" style=\"color:%2;text-decoration:none\">%3</a>")
        .arg(target.toHtmlEscaped(), theme().accent.name(), words.toHtmlEscaped());
}

QString quiet_words(const QString& words) {
    return QStringLiteral("<span style=\"color:%1\">%2</span>").arg(theme().text_2.name(), words.toHtmlEscaped());
}

QString fact_table_begin() {
    return QStringLiteral("<table width=\"100%\" cellspacing=\"0\" cellpadding=\"0\" style=\"white-space:pre-wrap\">");
}

QString fact_table_end(const QString& html) {
    constexpr QChar thin_space(0x2009), unbroken_thin_space(0x202F);  // lines break at the first one
    return unbroken_numbers(html).replace(thin_space, unbroken_thin_space) + QStringLiteral("</table>");
}

QString fact_heading(const QString& words) {
    return QStringLiteral("<tr><td colspan=\"2\" style=\"padding:2px 0\">%1</td></tr>").arg(quiet_words(words));
}

QString fact_row(const QString& name, const QString& words) {
    return QStringLiteral(
               "<tr><td width=\"28%\" style=\"padding:2px 8px 2px 0\">%1</td><td style=\"padding:2px 0\">%2</td></tr>")
        .arg(quiet_words(name), words);
}

}  // namespace skippipe
