// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/curves/crosshair.h"

#include <algorithm>
#include <utility>

#include <QPainter>
#include <QStringList>

#include "views/curves/plot.h"
#include "views/runs/run_marks.h"
#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr int box_edge = 6, box_apart = 8, swatch_wide = 20, swatch_high = 12, dot_pixels = 7;

QString rest_words(std::size_t count) { return QObject::tr("and %1 more").arg(count); }

}  // namespace

/// A line a run: its line, its number, and its value at the right.
class Crosshair::Box : public QWidget {
public:
    explicit Box(QWidget* plot) : QWidget(plot) {
        setAttribute(Qt::WA_TransparentForMouseEvents);
        setFont(small_font());
        hide();
    }

    /// As many as have room in the height.
    void show_rows(std::vector<Row> rows, int height) {
        rows_ = std::move(rows);
        std::erase_if(rows_, [](const Row& row) { return !row.is_read; });
        const QFontMetrics& font = fontMetrics();
        const auto fitting = static_cast<std::size_t>(std::max(1, (height - 2 * box_edge) / font.height()));
        shown_ = rows_.size() <= fitting ? rows_.size() : fitting - 1;
        names_ = 0;
        int words = 0;
        for (std::size_t i = 0; i < shown_; ++i) {
            names_ = std::max(names_, font.horizontalAdvance(rows_[i].name));
            words = std::max(words, font.horizontalAdvance(rows_[i].words));
        }
        int wide = swatch_wide + size::unit + names_ + size::gap + words;
        if (shown_ < rows_.size()) wide = std::max(wide, font.horizontalAdvance(rest_words(rows_.size() - shown_)));
        const auto lines = static_cast<int>(shown_) + (shown_ < rows_.size() ? 1 : 0);
        resize(wide + 2 * box_edge, lines * font.height() + 2 * box_edge);
        setVisible(!rows_.empty());
        update();
    }
    QString words() const {
        QStringList lines;
        for (const auto& row : rows_) lines << row.name + QStringLiteral("  ") + row.words;
        return isHidden() ? QString{} : lines.join('\n');
    }

protected:
    void paintEvent(QPaintEvent*) override {
        QPainter painter(this);
        const Theme& t = theme();
        QColor ground = t.surface;
        ground.setAlphaF(0.92F);  // a curve below it is seen
        painter.setPen(t.line);
        painter.setBrush(ground);
        painter.drawRect(rect().adjusted(0, 0, -1, -1));
        const int high = fontMetrics().height();
        for (std::size_t i = 0; i < shown_; ++i) {
            const Row& row = rows_[i];
            const QRect line(box_edge, box_edge + static_cast<int>(i) * high, width() - 2 * box_edge, high);
            painter.drawPixmap(line.left(), line.center().y() - swatch_high / 2, run_line(row.run));
            painter.setPen(t.text_2);
            painter.drawText(line.adjusted(swatch_wide + size::unit, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
                             row.name);
            painter.setPen(row.at ? t.text : t.text_2);
            painter.drawText(line, Qt::AlignRight | Qt::AlignVCenter, row.words);
        }
        painter.setPen(t.text_2);
        if (shown_ < rows_.size())
            painter.drawText(rect().adjusted(box_edge, 0, 0, -box_edge), Qt::AlignLeft | Qt::AlignBottom,
                             rest_words(rows_.size() - shown_));
    }

private:
    std::vector<Row> rows_;
    std::size_t shown_ = 0;
    int names_ = 0;
};

Crosshair::Crosshair(QCustomPlot& plot)
    : plot_(plot), line_(new QCPItemStraightLine(&plot)), foot_(new QCPItemText(&plot)), box_(new Box(&plot)) {
    for (auto* end : {line_->point1, line_->point2}) end->setTypeY(QCPItemPosition::ptAxisRectRatio);
    foot_->position->setTypeY(QCPItemPosition::ptAxisRectRatio);
    foot_->setPositionAlignment(Qt::AlignHCenter | Qt::AlignTop);
    foot_->setClipToAxisRect(false);
    foot_->setPadding({3, 2, 3, 2});
    foot_->setSelectable(false);
    foot_->setLayer(QStringLiteral("overlay"));  // above the figures of the axis
    line_->setSelectable(false);
    QObject::connect(&plot, &QCustomPlot::afterLayout, &plot, [this] {
        if (x_ && box_ != nullptr && !box_->isHidden()) place_box(*x_);
    });
    hide();
}

void Crosshair::style() {
    line_->setPen(QPen(theme().text_2, 1, Qt::DotLine));
    foot_->setFont(small_font());
    foot_->setColor(theme().text);
    foot_->setBrush(theme().surface);
}

void Crosshair::show(double x, const QString& foot, std::vector<Row> rows, bool has_box) {
    x_ = x;
    line_->setVisible(true);
    line_->point1->setCoords(x, 0);
    line_->point2->setCoords(x, 1);
    foot_->setText(foot);
    foot_->setVisible(!foot.isEmpty());
    foot_->position->setCoords(x, 1);
    while (dots_.size() < rows.size()) {
        auto* dot = dots_.emplace_back(new QCPItemTracer(&plot_));
        dot->setStyle(QCPItemTracer::tsCircle);
        dot->setSize(dot_pixels);
        dot->setSelectable(false);
        dot->setLayer(QStringLiteral("overlay"));
    }
    for (std::size_t i = 0; i < dots_.size(); ++i) {
        const bool is_there = i < rows.size() && rows[i].at;
        dots_[i]->setVisible(is_there);
        if (!is_there) continue;
        dots_[i]->position->setCoords(rows[i].at->x, rows[i].at->y);
        dots_[i]->setPen(QPen(theme().surface, 1));
        dots_[i]->setBrush(rows[i].colour);
    }
    if (!has_box) rows.clear();
    box_->show_rows(std::move(rows), plot_.axisRect()->height());
    place_box(x);
}

void Crosshair::hide() {
    x_.reset();
    line_->setVisible(false);
    foot_->setVisible(false);
    for (auto* dot : dots_) dot->setVisible(false);
    if (box_ != nullptr) box_->hide();
}

/// Right of the line, or left of it where that leaves the axes.
void Crosshair::place_box(double x) {
    const QRect axes = plot_.axisRect()->rect();
    const int at = static_cast<int>(plot_.xAxis->coordToPixel(x)), right = at + box_apart;
    const int left = right + box_->width() <= axes.right() ? right : at - box_apart - box_->width();
    box_->move(std::max(left, axes.left()), axes.top());
}

QString Crosshair::box_words() const { return box_ == nullptr ? QString{} : box_->words(); }

QString Crosshair::foot_words() const { return foot_->visible() ? foot_->text() : QString{}; }

int Crosshair::dots() const {
    return static_cast<int>(
        std::count_if(dots_.begin(), dots_.end(), [](const QCPItemTracer* dot) { return dot->visible(); }));
}

}  // namespace skippipe
