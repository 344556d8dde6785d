// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/imgui/gl_surface.h"

#include <optional>

#include <QCoreApplication>
#include <QExposeEvent>
#include <QGuiApplication>
#include <QOffscreenSurface>
#include <QOpenGLContext>
#include <QOpenGLFunctions>
#include <QSurfaceFormat>
#include <QWindow>

#include <backends/imgui_impl_opengl3.h>

#include "views/theme/theme.h"

namespace skippipe {
namespace {

std::optional<ImGuiPainter> forced;

bool probe() {
    const QString platform = QGuiApplication::platformName();
    if (platform == "offscreen" || platform.startsWith("minimal") || platform == "vnc") return false;
    QOffscreenSurface surface;
    surface.create();
    QOpenGLContext context;
    if (!surface.isValid() || !context.create() || !context.makeCurrent(&surface)) return false;
    const auto* renderer = reinterpret_cast<const char*>(context.functions()->glGetString(GL_RENDERER));
    const QString name = QString::fromLatin1(renderer).toLower();
    const bool new_enough = context.format().majorVersion() >= 3;
    context.doneCurrent();
    for (const char* software : {"llvmpipe", "softpipe", "swrast", "swiftshader", "software"})
        if (name.contains(QLatin1String(software))) return false;
    return new_enough && !name.isEmpty();
}

}  // namespace

bool hardware_gl() {
    static const bool found = probe();
    return found;
}

void choose_painter(ImGuiPainter painter) { forced = painter; }

ImGuiPainter chosen_painter() {
    if (forced) return *forced;
    return hardware_gl() ? ImGuiPainter::opengl : ImGuiPainter::processor;
}

/// A native GL window of its own: a QOpenGLWidget would make Qt compose the whole main window through GL.
class GlSurface final : public QWindow {
public:
    explicit GlSurface(ImGuiHost& host) : host_(host) {
        setSurfaceType(QWindow::OpenGLSurface);
        QSurfaceFormat format;
        format.setVersion(3, 0);
        setFormat(format);
    }
    ~GlSurface() override {
        if (drawn_with_ == nullptr || drawn_with_ != host_.context_ || !context_.makeCurrent(this)) return;
        ImGui::SetCurrentContext(drawn_with_);
        ImGui_ImplOpenGL3_Shutdown();
        context_.doneCurrent();
    }

protected:
    bool event(QEvent* event) override {
        switch (event->type()) {
            case QEvent::UpdateRequest: render(); return true;
            case QEvent::MouseButtonPress:
            case QEvent::MouseButtonRelease:
            case QEvent::MouseMove:
            case QEvent::Wheel:
            case QEvent::KeyPress:
            case QEvent::KeyRelease:
            case QEvent::Leave: return QCoreApplication::sendEvent(&host_, event);
            default: return QWindow::event(event);
        }
    }
    void exposeEvent(QExposeEvent*) override {
        if (isExposed()) render();
    }

private:
    void render() {
        if (!isExposed()) return;
        if (!context_.isValid()) {
            context_.setFormat(requestedFormat());
            if (!context_.create()) return;
        }
        const ImDrawData* data = host_.build_frame();
        if (!context_.makeCurrent(this)) return;
        if (drawn_with_ != host_.context_) {
            ImGui_ImplOpenGL3_Init("#version 130");
            drawn_with_ = host_.context_;
        }
        ImGui_ImplOpenGL3_NewFrame();
        const QColor back = theme().surface;
        auto* gl = context_.functions();
        gl->glViewport(0, 0, static_cast<GLint>(width() * devicePixelRatio()),
                       static_cast<GLint>(height() * devicePixelRatio()));
        gl->glClearColor(back.redF(), back.greenF(), back.blueF(), 1);
        gl->glClear(GL_COLOR_BUFFER_BIT);
        ImGui_ImplOpenGL3_RenderDrawData(const_cast<ImDrawData*>(data));
        context_.swapBuffers(this);
    }

    ImGuiHost& host_;
    QOpenGLContext context_;
    ImGuiContext* drawn_with_ = nullptr;
};

GlView make_gl_view(ImGuiHost& host) {
    auto* window = new GlSurface(host);
    auto* container = QWidget::createWindowContainer(window, &host);
    container->setGeometry(host.rect());
    return {container, window};
}

}  // namespace skippipe
