// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <string>

#include <QByteArray>

namespace skippipe {

/// A page of `report_html` as PDF on A4: its text can be searched, its figures stay lines. Any thread may call it, once
/// the application's fonts are there.
QByteArray report_pdf(const std::string& html);

}  // namespace skippipe
