// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once
#include <deque>
#include <memory>

#include <QImage>
#include <QWidget>

#include "views/imgui/atlas.h"

struct ImGuiContext;
class QWindow;

namespace skippipe {

/// How ImGui's triangles become pixels: on the processor, or by OpenGL 3 where `hardware_gl` found a real renderer.
enum class ImGuiPainter { processor, opengl };

/// True when this process can draw with a hardware OpenGL 3 renderer. Probed once, before any GL widget exists; never
/// under the offscreen and minimal platforms, and never for Mesa's software renderers.
bool hardware_gl();
/// Overrides the probe (before the first host is made): what `--renderer` asks for.
void choose_painter(ImGuiPainter painter);

/// A widget drawn by Dear ImGui: context, input queue and Qt events. Frames are drawn on demand only.
class ImGuiHost : public QWidget {
    Q_OBJECT
public:
    explicit ImGuiHost(QWidget* parent = nullptr);
    ~ImGuiHost() override;

    /// True when nothing waits to be handled or drawn.
    bool settled() const { return queue_.empty() && !frame_due_; }
    /// Draws one frame now up to the draw call; for benchmarks and tests.
    const ImDrawData* build_frame();
    /// Time the last frame took up to the draw call, in milliseconds.
    double last_build_ms() const { return last_build_ms_; }

protected:
    /// Builds the interface; the context is current and a frame is open. The whole widget is one borderless window.
    virtual void draw(ImDrawList& list) = 0;
    /// Asks for a frame.
    void request_frame();
    const Atlas& atlas() const { return *atlas_; }

    void paintEvent(QPaintEvent*) override;
    void resizeEvent(QResizeEvent*) override;
    void mouseMoveEvent(QMouseEvent*) override;
    void mousePressEvent(QMouseEvent*) override;
    void mouseReleaseEvent(QMouseEvent*) override;
    void wheelEvent(QWheelEvent*) override;
    void leaveEvent(QEvent*) override;
    void changeEvent(QEvent*) override;

private:
    friend class GlSurface;
    struct Input {
        enum Kind { move, button, wheel } kind;
        QPointF position;
        int button_number = 0;
        bool down = false;
        QPointF wheel_steps;
        Qt::KeyboardModifiers modifiers;
    };
    void push(const Input& input);
    bool apply_next_input();
    void one_frame();
    void prepare();
    void style();

    ImGuiContext* context_ = nullptr;
    std::shared_ptr<Atlas> atlas_;
    std::deque<Input> queue_;
    QImage image_;
    QWidget* gl_ = nullptr;
    QWindow* gl_window_ = nullptr;
    bool frame_due_ = true;
    double last_build_ms_ = 0;
};

/// Theme colour to ImGui's packed form.
ImU32 packed(const QColor& colour, double alpha = 1);

}  // namespace skippipe
