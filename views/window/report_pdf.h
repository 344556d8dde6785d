// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include <QByteArray>
#include <QString>

namespace skippipe {

/// Timelines are less than half as wide on paper: their words are to be this much larger.
inline constexpr double paper_lettering = 1.55;

/// A page of `report_html` in what Qt's documents know: first columns, and pairs of names and words, to the left, other
/// tables as wide as the paper, without what is too long to print.
QString for_paper(QString page);

/// A page of `report_html` as PDF on A4: its text can be searched, its figures stay lines, a table stays with
/// its heading, and pages have numbers. Any thread may call it, once
/// the application's fonts are there.
QByteArray report_pdf(const std::string& html);

}  // namespace skippipe
