// SPDX-License-Identifier: GPL-3.0-or-later
// Rich text of what the inspector tells of things: a table of names and words, some of which lead on.
#pragma once
#include <QString>

namespace skippipe {

/// Words that lead to `target`: "node:n3".
QString fact_anchor(const QString& target, const QString& words);
/// In the second tone.
QString quiet_words(const QString& words);

QString fact_table_begin();
/// The table whole, in which no line parts a number from its unit.
QString fact_table_end(const QString& html);
QString fact_heading(const QString& words);
/// `words` may be rich text.
QString fact_row(const QString& name, const QString& words);

}  // namespace skippipe
