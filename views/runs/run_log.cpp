// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/runs/run_log.h"

#include <QEvent>
#include <QFile>
#include <QRegularExpression>
#include <QScrollBar>

#include "core/record/log.h"
#include "views/theme/numbers.h"
#include "views/theme/theme.h"

namespace skippipe {

namespace {
constexpr int log_look_ms = 500, most_lines = 20'000;
constexpr qint64 most_at_once = 1 << 20;
}  // namespace

struct RunLog::Found {
    QString file;
    QByteArray text;
    bool there = false;
};

LogLine read_log_line(const QString& line) {
    static const QRegularExpression head(
        QStringLiteral("^\\d{4}-\\d\\d-\\d\\dT(\\d\\d:\\d\\d:\\d\\d)\\.\\d+[+-]\\d\\d:\\d\\d (\\w+): "));
    const auto found = head.match(line);
    const QString rest = found.hasMatch() ? line.mid(found.capturedLength()) : line;
    const QString level = found.captured(2);
    LogLine read{found.captured(1), rest.trimmed(), rest.startsWith(' ')};
    if (found.hasMatch() && level != QStringLiteral("info")) read.text.prepend(level + QStringLiteral(": "));
    read.text.replace(QStringLiteral(" -> "), QString::fromUtf8(" → "));
    return read;
}

RunLog::RunLog(RunFeed& feed, QWidget* parent) : QTextEdit(parent), feed_(feed) {
    setReadOnly(true);
    setLineWrapMode(QTextEdit::WidgetWidth);
    setFrameShape(QFrame::NoFrame);
    setAccessibleName(tr("Log of the run"));
    setObjectName("run_log");
    setUndoRedoEnabled(false);
    document()->setDocumentMargin(size::gap);
    document()->setMaximumBlockCount(most_lines);
    timer_.setInterval(log_look_ms);
    connect(&timer_, &QTimer::timeout, this, &RunLog::read);
}

void RunLog::show_run(RunId run) {
    run_ = run;
    read_ = 0;
    begun_.clear();
    clear();
    read();
}

void RunLog::showEvent(QShowEvent* event) {
    QTextEdit::showEvent(event);
    timer_.start();
    read();
}

void RunLog::hideEvent(QHideEvent* event) {
    QTextEdit::hideEvent(event);
    timer_.stop();
}

/// On the record's thread, as all that is read.
void RunLog::read() {
    if (!isVisible() || run_ <= 0) return;
    auto found = std::make_shared<Found>();
    found->file = QString::fromStdString(log_path(feed_.file(), run_).string());
    feed_.ask(
        [found, from = read_](Reader&) {
            QFile in(found->file);
            found->there = in.open(QIODevice::ReadOnly) && in.seek(from);
            if (found->there) found->text = in.read(most_at_once);
        },
        [this, found, run = run_, from = read_](const QString&) {
            if (run == run_ && from == read_) add(*found);  // else another look was quicker
        });
}

void RunLog::add(const Found& found) {
    if (!found.there)
        return setPlaceholderText(
            tr("Run %1 has no log at %2: it was made before logs were kept, or the file was deleted")
                .arg(run_)
                .arg(found.file));
    read_ += found.text.size();
    if (found.text.isEmpty()) return;
    const bool at_end = verticalScrollBar()->value() == verticalScrollBar()->maximum();
    QTextCursor end(document());
    end.movePosition(QTextCursor::End);
    QByteArray text = begun_ + found.text;
    const auto whole = text.lastIndexOf('\n') + 1;  // the rest of a line comes at the next look
    begun_ = text.mid(whole);
    text.truncate(whole);
    end.beginEditBlock();  // laid out once
    for (const auto& line : QString::fromUtf8(text).split('\n', Qt::SkipEmptyParts)) insert(end, read_log_line(line));
    end.endEditBlock();
    if (at_end) verticalScrollBar()->setValue(verticalScrollBar()->maximum());
}

/// Times in a column of their own, beside which long lines go on.
void RunLog::insert(QTextCursor& end, const LogLine& line) const {
    const QFontMetricsF metrics(font());
    const double times = metrics.horizontalAdvance(QStringLiteral("00:00:00  "));
    const double margin = times + (line.deep ? size::wide_gap : 0);
    QTextBlockFormat block;
    block.setLeftMargin(margin);
    block.setTextIndent(-margin);
    block.setTabPositions({QTextOption::Tab(margin, QTextOption::LeftTab)});
    QTextCharFormat pale, plain;
    pale.setForeground(theme().text_2);
    plain.setForeground(theme().text);
    if (!document()->isEmpty()) end.insertBlock();
    end.setBlockFormat(block);
    end.insertText(line.time + '\t', pale);
    end.insertText(unbroken_numbers(line.text), plain);
}

/// Colours of another theme: from the file anew.
void RunLog::changeEvent(QEvent* event) {
    QTextEdit::changeEvent(event);
    if (event->type() == QEvent::StyleChange && run_ > 0) show_run(run_);
}

}  // namespace skippipe
