// SPDX-License-Identifier: GPL-3.0-or-later
// Timeline and curves as pictures, against those in tests/data/pictures. Look at new ones before you keep them:
//     SKIPPIPE_WRITE_GOLDEN=1 build/bin/views_test_golden_pictures
#include <QImage>
#include <QtTest>

#include <algorithm>
#include <cstdlib>

#include "tests/views/snapshots.h"
#include "views/curves/curve_panel.h"
#include "views/theme/theme.h"
#include "views/timeline/timeline_view.h"

using namespace skippipe;

namespace {

constexpr int near_enough = 48;  ///< of 255, in each of red, green and blue
/// Share of pixels that may be further off: as Qt of the same version painted it, and of another, whose letters differ.
constexpr double most_off = 0.0005, most_off_elsewhere = 0.01;
const QString version_key = QStringLiteral("Qt");

QString qt_version() { return QString::fromLatin1(qVersion()).section('.', 0, 1); }

double share_off(const QImage& a, const QImage& b) {
    if (a.size() != b.size()) return 1;
    int off = 0;
    for (int y = 0; y < a.height(); ++y)
        for (int x = 0; x < a.width(); ++x) {
            const QColor one = a.pixelColor(x, y), other = b.pixelColor(x, y);
            if (std::max({std::abs(one.red() - other.red()), std::abs(one.green() - other.green()),
                          std::abs(one.blue() - other.blue())}) > near_enough)
                ++off;
        }
    return static_cast<double>(off) / (a.width() * a.height());
}

void compare_picture(const QString& name, const QImage& painted) {
    const QString file = QStringLiteral(SKIPPIPE_SOURCE_DIR "/tests/data/pictures/") + name + ".png";
    if (qEnvironmentVariableIsSet("SKIPPIPE_WRITE_GOLDEN")) {
        QImage kept = painted.convertToFormat(QImage::Format_RGB32);
        kept.setText(version_key, qt_version());
        QVERIFY(kept.save(file));
    }
    const QImage golden(file);
    QVERIFY2(!golden.isNull(), qPrintable(file));
    const bool same_qt = golden.text(version_key) == qt_version();
    const double off = share_off(painted, golden);
    const QString seen = QDir::temp().filePath(name + "-seen.png");
    const bool alike = off <= (same_qt ? most_off : most_off_elsewhere);
    if (!alike) painted.save(seen);
    QVERIFY2(alike, qPrintable(QStringLiteral("%1: %2 of the pixels are off; see %3").arg(name).arg(off).arg(seen)));
    // A picture one column to the right is another one.
    QVERIFY2(share_off(painted.copy(1, 0, painted.width(), painted.height()), golden) > 2 * most_off_elsewhere,
             qPrintable(name));
}

/// What has the keys has a frame.
void leave_focus() {
    if (auto* focused = QApplication::focusWidget()) focused->clearFocus();
}

/// Two stages on two nodes each, two microbatches there and back, with transfers, a reduction, idle time by cause, and
/// a node that is lost.
std::shared_ptr<const TimelineData> small_scene() {
    auto data = std::make_shared<TimelineData>();
    data->set_lanes({"alpha", "beta", "gamma", "delta"});
    std::int64_t row = 0;
    const auto add = [&](SpanKind kind, int node, int to, int stage, int microbatch, double start, double end) {
        data->add(Span{kind, NodeIndex(node), NodeIndex(to), StageIndex(stage), MicrobatchIndex(microbatch), start,
                       start, end, is_on_line(kind) ? 1e6 : 0},
                  0, 0, row++);
    };
    for (int m = 0; m < 2; ++m) {
        add(SpanKind::forward, m, -1, 0, m, 0, 2 + m);
        add(SpanKind::transfer_forward, m, m + 2, 0, m, 2 + m, 3 + m);
        add(SpanKind::forward, m + 2, -1, 1, m, 3 + m, 5 + m);
        add(SpanKind::loss, m + 2, -1, 1, m, 5 + m, 5.5 + m);
        add(SpanKind::backward, m + 2, -1, 1, m, 5.5 + m, 9 + m);
        add(SpanKind::transfer_backward, m + 2, m, 1, m, 9 + m, 10 + m);
        add(SpanKind::backward, m, -1, 0, m, 10 + m, 14);
        data->add(IdleGap{NodeIndex(m), IdleCause::gradient, 2.0 + m, 10.0 + m}, 0);
        data->add(IdleGap{NodeIndex(m + 2), IdleCause::activation, 0, 3.0 + m}, 0);
    }
    add(SpanKind::all_reduce, 0, -1, 0, -1, 14, 17);
    add(SpanKind::step, 0, -1, 0, -1, 17, 18);
    add(SpanKind::down, 3, -1, 0, -1, 12, 18);
    data->add(IdleGap{NodeIndex(1), IdleCause::all_reduce, 14, 18}, 0);
    data->finish();
    return data;
}

RunData run_of(RunId id, double step) {
    RunData run;
    run.info.id = id;
    run.info.planner = "gpipe";
    for (int i = 0; i < 40; ++i) {
        const double loss = 6 - i * step + (i % 5 == 0 ? 0.15 : 0);
        run.metrics.push_back({.iteration = i, .name = "loss", .value = loss, .network_s = 10.0 * (i + 1)});
        if (i % 10 == 0)
            run.metrics.push_back(
                {.iteration = i, .name = "validation_loss", .value = loss + 0.2, .network_s = 10.0 * (i + 1)});
    }
    return run;
}

}  // namespace

class TestGoldenPictures : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { QApplication::setFont(QFont("DejaVu Sans")); }

    void pictures_are_as_they_were_data() {
        QTest::addColumn<bool>("dark");
        QTest::newRow("light") << false;
        QTest::newRow("dark") << true;
    }

    void pictures_are_as_they_were() {
        QFETCH(bool, dark);
        apply_theme(*qApp, dark);
        const QString suffix = dark ? "-dark" : "-light";
        TimeZoom zoom;
        TimelineView timeline(zoom);
        timeline.resize(640, 220);
        const auto data = small_scene();
        zoom.set_extent(data->extent_s());
        timeline.set_data(data);
        timeline.show();
        QVERIFY(QTest::qWaitForWindowExposed(&timeline));
        leave_focus();
        QTRY_VERIFY(timeline.settled());
        compare_picture("timeline" + suffix, timeline.grab().toImage());

        // As Watch shows it: with all that stands above and between lanes, and the way of what is selected.
        TimelineView whole(zoom);
        whole.resize(760, 420);
        auto watched = std::make_shared<TimelineData>(*data);
        watched->set_iterations({{0, 9, 9}, {1, 18, 9}});
        whole.set_data(watched);
        whole.set_overview(true);
        whole.set_counters(true);
        whole.set_groups(group_by_stage({0, 0, 1, 1}));
        whole.set_moment(6.5);
        whole.set_bookmarks({12});
        auto lines = std::make_shared<LineRows>();
        lines->names = {"alpha → gamma"};
        lines->ways[{0, 2}] = {0, 0.25};
        whole.set_lines(lines);
        whole.show();
        QVERIFY(QTest::qWaitForWindowExposed(&whole));
        whole.select_row(watched->work_at(2, 4)->row, false);
        QVERIFY(whole.cause().span != nullptr);
        leave_focus();
        QTRY_VERIFY(whole.settled());
        compare_picture("watched-timeline" + suffix, whole.grab().toImage());

        const RunData one = run_of(1, 0.08), two = run_of(2, 0.06);
        CurvePanel curves;
        curves.resize(640, 420);
        curves.show_runs(snapshots({&one, &two}), 1);
        curves.set_axis(WorkAxis::network_time);
        curves.show();
        QVERIFY(QTest::qWaitForWindowExposed(&curves));
        compare_picture("curves" + suffix, curves.charts().front()->grab().toImage());
    }
};

int main(int argc, char** argv) {
    qputenv("QT_SCALE_FACTOR", "1");
    QApplication application(argc, argv);
    TestGoldenPictures test;
    return QTest::qExec(&test, argc, argv);
}
#include "test_golden_pictures.moc"
