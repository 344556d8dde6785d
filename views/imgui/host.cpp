// SPDX-License-Identifier: GPL-3.0-or-later
#include "views/imgui/host.h"

#include <cmath>

#include <QElapsedTimer>
#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>
#include <QWindow>

#include "views/imgui/gl_surface.h"
#include "views/imgui/rasteriser.h"
#include "views/theme/theme.h"

namespace skippipe {
namespace {

constexpr double off_veil = 0.6;  // of the ground over what is switched off

int button_number(Qt::MouseButton button) {
    return button == Qt::LeftButton ? 0 : button == Qt::RightButton ? 1 : button == Qt::MiddleButton ? 2 : -1;
}

constexpr float nowhere = -1e6f;

}  // namespace

ImU32 packed(const QColor& colour, double alpha) {
    return IM_COL32(colour.red(), colour.green(), colour.blue(), static_cast<int>(std::lround(colour.alpha() * alpha)));
}

ImGuiHost::ImGuiHost(QWidget* parent) : QWidget(parent) {
    setMouseTracking(true);
    setFocusPolicy(Qt::StrongFocus);
    setAttribute(Qt::WA_OpaquePaintEvent);
    if (chosen_painter() == ImGuiPainter::opengl) {
        const GlView view = make_gl_view(*this);
        gl_ = view.container;
        gl_window_ = view.window;
    }
}

ImGuiHost::~ImGuiHost() {
    delete gl_;  // its GL objects hang on the context below
    if (context_ != nullptr) ImGui::DestroyContext(context_);
}

void ImGuiHost::prepare() {
    const double scale = devicePixelRatioF();
    if (context_ != nullptr && atlas_->scale == scale) return;
    if (context_ != nullptr) ImGui::DestroyContext(context_);
    atlas_ = Atlas::at_scale(scale, gl_ != nullptr);
    context_ = ImGui::CreateContext(&atlas_->fonts);
    ImGui::SetCurrentContext(context_);
    auto& io = ImGui::GetIO();
    io.IniFilename = nullptr;
    io.LogFilename = nullptr;
    io.BackendFlags |= ImGuiBackendFlags_RendererHasVtxOffset;
    io.FontGlobalScale = static_cast<float>(1 / scale);
    io.FontDefault = atlas_->body;
    io.MousePos = ImVec2(nowhere, nowhere);
    style();
}

void ImGuiHost::style() {
    auto& style = ImGui::GetStyle();
    const Theme& t = theme();
    style.WindowPadding = {8, 6};
    style.WindowRounding = size::radius;
    style.WindowBorderSize = 1;
    // Lines and fills here are upright: pixels, not blurred edges. Shapes that need it ask for it.
    style.AntiAliasedLinesUseTex = false;
    style.Colors[ImGuiCol_Text] = ImGui::ColorConvertU32ToFloat4(packed(t.text));
    style.Colors[ImGuiCol_PopupBg] = ImGui::ColorConvertU32ToFloat4(packed(t.surface_2));
    style.Colors[ImGuiCol_Border] = ImGui::ColorConvertU32ToFloat4(packed(mix(t.line, t.text_2, 0.4)));
    style.Colors[ImGuiCol_WindowBg] = ImGui::ColorConvertU32ToFloat4(packed(t.surface));
}

void ImGuiHost::request_frame() {
    frame_due_ = true;
    if (gl_window_ != nullptr)
        gl_window_->requestUpdate();
    else
        update();
}

bool ImGuiHost::apply_next_input() {
    if (queue_.empty()) return false;
    const Input input = queue_.front();
    queue_.pop_front();
    auto& io = ImGui::GetIO();
    compat::set_modifiers(io, input.modifiers & Qt::ControlModifier, input.modifiers & Qt::ShiftModifier,
                          input.modifiers & Qt::AltModifier);
    compat::set_mouse_position(io, static_cast<float>(input.position.x()), static_cast<float>(input.position.y()));
    if (input.kind == Input::button) compat::set_mouse_button(io, input.button_number, input.down);
    if (input.kind == Input::wheel)
        compat::add_wheel(io, static_cast<float>(input.wheel_steps.x()), static_cast<float>(input.wheel_steps.y()));
    return true;
}

void ImGuiHost::one_frame() {
    auto& io = ImGui::GetIO();
    io.DisplaySize = ImVec2(static_cast<float>(width()), static_cast<float>(height()));
    const auto scale = static_cast<float>(devicePixelRatioF());
    io.DisplayFramebufferScale = ImVec2(scale, scale);
    io.DeltaTime = 1.0f / 60;
    ImGui::NewFrame();
    ImGui::SetNextWindowPos({0, 0});
    ImGui::SetNextWindowSize(io.DisplaySize);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowPadding, ImVec2(0, 0));
    ImGui::PushStyleVar(ImGuiStyleVar_WindowRounding, 0.0f);
    ImGui::PushStyleVar(ImGuiStyleVar_WindowBorderSize, 0.0f);
    ImGui::Begin("host", nullptr,
                 ImGuiWindowFlags_NoDecoration | ImGuiWindowFlags_NoMove | ImGuiWindowFlags_NoSavedSettings |
                     ImGuiWindowFlags_NoScrollWithMouse | ImGuiWindowFlags_NoBringToFrontOnFocus);
    ImGui::PopStyleVar(3);
    draw(*ImGui::GetWindowDrawList());
    // What is switched off is of an earlier state: it stays readable, and pale.
    if (!isEnabled())
        ImGui::GetWindowDrawList()->AddRectFilled({0, 0}, io.DisplaySize, packed(theme().surface, off_veil));
    ImGui::End();
    ImGui::Render();
}

const ImDrawData* ImGuiHost::build_frame() {
    QElapsedTimer clock;
    clock.start();
    prepare();
    ImGui::SetCurrentContext(context_);
    frame_due_ = false;
    // One change a frame, as a queue inside ImGui would do it; only the last frame is drawn.
    bool more = apply_next_input();
    one_frame();
    while (more && (more = apply_next_input())) one_frame();
    last_build_ms_ = static_cast<double>(clock.nsecsElapsed()) / 1e6;
    return ImGui::GetDrawData();
}

void ImGuiHost::paintEvent(QPaintEvent*) {
    if (gl_ != nullptr || width() <= 0 || height() <= 0) return;
    const ImDrawData* data = build_frame();
    const double scale = devicePixelRatioF();
    const QSize physical(static_cast<int>(std::lround(width() * scale)),
                         static_cast<int>(std::lround(height() * scale)));
    if (image_.size() != physical) image_ = QImage(physical, QImage::Format_RGB32);
    image_.fill(theme().surface);
    AlphaTexture texture;
    unsigned char* pixels = nullptr;
    atlas_->fonts.GetTexDataAsAlpha8(&pixels, &texture.width, &texture.height);
    texture.pixels = pixels;
    rasterise(*data, texture, image_);
    image_.setDevicePixelRatio(scale);
    QPainter(this).drawImage(QPointF(0, 0), image_);
}

void ImGuiHost::push(const Input& input) {
    if (input.kind == Input::move && !queue_.empty() && queue_.back().kind == Input::move) queue_.pop_back();
    queue_.push_back(input);
    request_frame();
}

void ImGuiHost::resizeEvent(QResizeEvent*) {
    if (gl_ != nullptr) gl_->setGeometry(rect());
    request_frame();
}

void ImGuiHost::mouseMoveEvent(QMouseEvent* e) { push({Input::move, e->position(), 0, false, {}, e->modifiers()}); }

void ImGuiHost::mousePressEvent(QMouseEvent* e) {
    setFocus(Qt::MouseFocusReason);
    if (const int n = button_number(e->button()); n >= 0)
        push({Input::button, e->position(), n, true, {}, e->modifiers()});
}

void ImGuiHost::mouseReleaseEvent(QMouseEvent* e) {
    if (const int n = button_number(e->button()); n >= 0)
        push({Input::button, e->position(), n, false, {}, e->modifiers()});
}

void ImGuiHost::wheelEvent(QWheelEvent* e) {
    push({Input::wheel, e->position(), 0, false, QPointF(e->angleDelta()) / 120.0, e->modifiers()});
    e->accept();
}

void ImGuiHost::leaveEvent(QEvent*) { push({Input::move, {-1e6, -1e6}, 0, false, {}, {}}); }

void ImGuiHost::changeEvent(QEvent* event) {
    if (event->type() == QEvent::EnabledChange) request_frame();
    if (event->type() == QEvent::StyleChange && context_ != nullptr) {
        ImGui::SetCurrentContext(context_);
        style();
        request_frame();
    }
    QWidget::changeEvent(event);
}

}  // namespace skippipe
