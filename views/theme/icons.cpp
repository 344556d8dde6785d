// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/theme/icons.h"

#include <QIconEngine>
#include <QPainter>

#include "views/theme/theme.h"

namespace skippipe {
namespace {

/// Drawn on a field of 20 x 20.
void draw(QPainter& p, Icon which) {
    switch (which) {
        case Icon::design:
            p.drawLine(QPointF(6, 7), QPointF(14, 5));
            p.drawLine(QPointF(6, 8), QPointF(11, 15));
            p.drawLine(QPointF(15, 6), QPointF(12, 15));
            for (const QPointF at : {QPointF(4.5, 7), QPointF(15.5, 4.5), QPointF(11.5, 16)})
                p.drawEllipse(at, 2.5, 2.5);
            break;
        case Icon::watch:
            p.fillRect(QRectF(2, 4, 8, 3), p.pen().color());
            p.fillRect(QRectF(7, 8.7, 10, 3), p.pen().color());
            p.fillRect(QRectF(4, 13.4, 6, 3), p.pen().color());
            p.fillRect(QRectF(12, 13.4, 6, 3), p.pen().color());
            break;
        case Icon::compare:
            p.drawPolyline(QPolygonF({{3, 3}, {3, 17}, {18, 17}}));
            p.drawPolyline(QPolygonF({{5.5, 6}, {9, 11}, {13, 13}, {17.5, 14}}));
            p.drawPolyline(QPolygonF({{5.5, 4}, {10, 6.5}, {14, 9.5}, {17.5, 10}}));
            break;
    }
}

class LineIcon final : public QIconEngine {
public:
    explicit LineIcon(Icon which) : which_(which) {}
    void paint(QPainter* painter, const QRect& rect, QIcon::Mode mode, QIcon::State state) override {
        painter->save();
        painter->setRenderHint(QPainter::Antialiasing);
        painter->translate(rect.topLeft());
        painter->scale(rect.width() / 20.0, rect.height() / 20.0);
        const bool strong = state == QIcon::On || mode == QIcon::Active;
        painter->setPen(QPen(strong ? theme().text : theme().text_2, 1.5, Qt::SolidLine, Qt::RoundCap, Qt::RoundJoin));
        painter->setBrush(theme().surface_2);
        draw(*painter, which_);
        painter->restore();
    }
    QPixmap pixmap(const QSize& size, QIcon::Mode mode, QIcon::State state) override {
        QPixmap pixmap(size);
        pixmap.fill(Qt::transparent);
        QPainter painter(&pixmap);
        paint(&painter, QRect(QPoint(0, 0), size), mode, state);
        return pixmap;
    }
    QIconEngine* clone() const override { return new LineIcon(which_); }

private:
    Icon which_;
};

}  // namespace

QIcon icon(Icon which) { return QIcon(new LineIcon(which)); }

}  // namespace skippipe
