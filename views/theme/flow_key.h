// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <vector>

#include <QPixmap>
#include <QWidget>

namespace skippipe {

/// What marks mean: pictures, each with words beside it, in lines. What has no more room in a line goes to the next one
/// whole: rich text would break lines between a picture and its words.
class FlowKey : public QWidget {
public:
    struct Entry {
        QPixmap picture;  ///< null: words alone
        QString words;
    };

    explicit FlowKey(const QFont& font, QWidget* parent = nullptr);
    /// Without any it is hidden.
    void set_entries(std::vector<Entry> entries);
    const std::vector<Entry>& entries() const { return entries_; }
    /// The entries' words, a line each.
    QString words() const;
    /// Where the entries stand, picture and words, in a key so wide.
    std::vector<QRect> places(int width) const;

    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    int line_height() const;
    /// Pixels before an entry's words.
    static int before_words(const Entry& entry);

    std::vector<Entry> entries_;
};

}  // namespace skippipe
