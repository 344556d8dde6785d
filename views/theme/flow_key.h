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
        int least = 0;          ///< pixels that its words have at least: what they come to be moves no other
        bool is_faint = false;  ///< of what is set aside
    };

    static constexpr double faint = 0.5;  ///< of its colours

    explicit FlowKey(const QFont& font, QWidget* parent = nullptr);
    /// Without any it is hidden.
    void set_entries(std::vector<Entry> entries);
    const std::vector<Entry>& entries() const { return entries_; }
    /// In one line, which ends in "+4" where there are more; a press shows all, and the next folds them again.
    void set_folds(bool folds);
    /// How many have a place in a key so wide; the first ones.
    std::size_t shown(int width) const;
    /// Of all entries, as if nothing was folded.
    int whole_height(int width) const;
    /// The entries' words, a line each.
    QString words() const;
    /// Where all entries stand, picture and words, in a key so wide; of one that is folded, those of the first line.
    std::vector<QRect> places(int width) const;

    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    int line_height() const;
    /// Pixels before an entry's words.
    static int before_words(const Entry& entry);

    bool is_folded() const { return folds_ && !opened_; }
    void point_out();

    std::vector<Entry> entries_;
    bool folds_ = false, opened_ = false;
};

}  // namespace skippipe
