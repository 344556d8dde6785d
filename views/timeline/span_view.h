// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <QTableView>

#include "views/timeline/span_table.h"

namespace skippipe {

/// A lane's work as a table, in columns that are seen whole.
class SpanView : public QTableView {
    Q_OBJECT
public:
    explicit SpanView(SpanTable& spans, QWidget* parent = nullptr);

protected:
    void resizeEvent(QResizeEvent* event) override;

private:
    void fit();
    int width_of(int column) const;

    SpanTable& spans_;
};

}  // namespace skippipe
