// SPDX-License-Identifier: GPL-3.0-or-later
#include "core/data/corpus.h"

#include <zlib.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <memory>
#include <vector>

#include <fmt/format.h>

#include "core/base/fault.h"
#include "core/data/process.h"
#include "core/experiment/io.h"

namespace skippipe {

namespace fs = std::filesystem;

namespace {

constexpr const char* bible_program = "/usr/bin/bible";
constexpr const char* jargon_file = "/usr/share/dictd/jargon.dict.dz";
constexpr std::uint64_t bible_least_bytes = 4'000'000;  // the whole text is 4.4 MB: less is a broken installation

std::string grouped(std::uint64_t number) {
    auto digits = std::to_string(number);
    for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3) digits.insert(static_cast<std::size_t>(at), ",");
    return digits;
}

[[noreturn]] void refuse_path(std::string what, std::string why, std::string remedy) {
    throw InputError("/data/path", std::move(what), std::move(why), std::move(remedy));
}

[[noreturn]] void refuse_size(std::uint64_t limit) {
    refuse_path(fmt::format("the text is larger than {} bytes", grouped(limit)), "it is held in memory while training",
                "Choose a smaller file or folder");
}

void require_utf8(std::string_view text, const std::string& name) {
    const auto bad = find_invalid_utf8(text);
    if (bad == std::string_view::npos) return;
    refuse_path(fmt::format("{} is not UTF-8: byte {} is 0x{:02x}", name, grouped(bad), static_cast<unsigned char>(text[bad])),
                "other encodings would be read as wrong letters", "Convert it, for example with `iconv -t UTF-8`");
}

/// Appends the file, at most `limit` bytes in all.
void append_file(const fs::path& path, std::uint64_t limit, std::string& text) {
    std::ifstream file(path, std::ios::binary);
    if (!file) refuse_path(path.string() + " cannot be read", "it is the text to train on", "Check its permissions");
    const auto start = text.size();
    std::vector<char> buffer(1 << 16);
    while (file.read(buffer.data(), static_cast<std::streamsize>(buffer.size())) || file.gcount() > 0) {
        text.append(buffer.data(), static_cast<std::size_t>(file.gcount()));
        if (text.size() > limit) refuse_size(limit);
    }
    if (file.bad()) refuse_path(path.string() + " could not be read to its end", "the disk reported an error", "Check the disk");
    require_utf8(std::string_view(text).substr(start), path.string());
}

/// Regular files below `folder`, hidden ones left out, sorted by path.
std::vector<fs::path> files_below(const fs::path& folder, int limit) {
    std::vector<fs::path> files;
    std::error_code error;
    for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        if (at->path().filename().string().starts_with('.')) {
            at.disable_recursion_pending();
            continue;
        }
        std::error_code not_a_file;
        if (!at->is_regular_file(not_a_file)) continue;
        files.push_back(at->path());
        if (static_cast<int>(files.size()) > limit)
            refuse_path(fmt::format("{} has more than {} files", folder.string(), grouped(static_cast<std::uint64_t>(limit))),
                        "that is probably not the folder meant", "Choose a folder of text files");
    }
    if (error) refuse_path(folder.string() + " cannot be listed: " + error.message(), "it holds the text to train on", "Check its permissions");
    std::sort(files.begin(), files.end());
    return files;
}

Corpus load_text(const DataSpec& spec, const fs::path& base_dir, const CorpusLimits& limits) {
    if (spec.path.empty()) refuse_path("no text is named", "the source `text` reads a file or folder of yours", "Name a UTF-8 file or folder");
    const fs::path path = base_dir / spec.path;
    std::error_code error;
    const auto status = fs::status(path, error);
    if (!fs::exists(status)) refuse_path(path.string() + " is not there", "it is the text to train on", "Correct the path or choose another source");
    Corpus corpus;
    int files = 1;
    if (fs::is_directory(status)) {
        const auto found = files_below(path, limits.files);
        files = static_cast<int>(found.size());
        for (const auto& file : found) append_file(file, limits.bytes, corpus.bytes);
    } else if (fs::is_regular_file(status)) {
        append_file(path, limits.bytes, corpus.bytes);
    } else {
        refuse_path(path.string() + " is neither a file nor a folder", "reading it may never end", "Name a UTF-8 file or folder");
    }
    corpus.description = fmt::format("{}, {} file{}, {} bytes", path.string(), files, files == 1 ? "" : "s", grouped(corpus.bytes.size()));
    corpus.notice = "The user's own text; its licence is not known to this program.";
    return corpus;
}

bool whole_bible(std::string_view text) {
    return text.size() >= bible_least_bytes && text.starts_with("Ge1:1 ") && find_invalid_utf8(text) == std::string_view::npos;
}

std::string read_bible() {
    const auto folder = cache_folder();
    const auto cached = folder / "bible-kjv.txt";
    Faults unused;
    std::error_code error;
    if (!folder.empty() && fs::is_regular_file(cached, error))
        if (auto text = read_file(cached, unused); whole_bible(text)) return text;
    const std::string why = "the corpus is printed by this program", remedy = "Install it: apt install bible-kjv bible-kjv-text";
    if (!fs::exists(bible_program, error)) throw InputError("/data/source", std::string(bible_program) + " is not installed", why, remedy);
    auto output = run_process({bible_program, "-f", "gen1:1-rev22:21"}, 60, 16u << 20);
    if (output.exit_code != 0 || !whole_bible(output.text))
        throw InputError("/data/source", fmt::format("{} did not print the whole text ({} bytes)", bible_program, grouped(output.text.size())), why, remedy);
    if (!folder.empty()) {
        fs::create_directories(folder, error);
        try {
            write_file_atomically(cached, output.text);
        } catch (const std::exception&) {
            // Without a cache the program is asked again next time: slower by a tenth of a second, nothing is lost.
        }
    }
    return std::move(output.text);
}

Corpus load_jargon(const CorpusLimits& limits) {
    std::error_code error;
    if (!fs::exists(jargon_file, error))
        throw InputError("/data/source", std::string(jargon_file) + " is not installed", "it is the corpus", "Install it: apt install dict-jargon");
    Corpus corpus;
    corpus.bytes = read_gzip(jargon_file, limits.bytes);
    require_utf8(corpus.bytes, jargon_file);
    corpus.description = fmt::format("The Jargon File, {} bytes", grouped(corpus.bytes.size()));
    corpus.notice = "The Jargon File (Debian package dict-jargon) is in the public domain.";
    return corpus;
}

}  // namespace

std::size_t find_invalid_utf8(std::string_view text) {
    const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
    for (std::size_t i = 0; i < text.size();) {
        const unsigned lead = byte(i);
        if (lead < 0x80) {
            ++i;
            continue;
        }
        const std::size_t length = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : 2;
        if (lead < 0xC2 || lead > 0xF4 || i + length > text.size()) return i;
        // The second byte's range also shuts out overlong forms, surrogates and what lies above U+10FFFF.
        const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
        const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
        if (byte(i + 1) < low || byte(i + 1) > high) return i;
        for (std::size_t k = 2; k < length; ++k)
            if ((byte(i + k) & 0xC0) != 0x80) return i;
        i += length;
    }
    return std::string_view::npos;
}

std::string read_gzip(const fs::path& path, std::uint64_t limit_bytes) {
    const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), gzclose);
    if (!file) throw InputError("/data/source", path.string() + " cannot be read", "it is the corpus", "Check its permissions or install it again");
    std::string text;
    std::vector<char> buffer(1 << 16);
    int count = 0;
    while ((count = gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()))) > 0) {
        text.append(buffer.data(), static_cast<std::size_t>(count));
        if (text.size() > limit_bytes) refuse_size(limit_bytes);
    }
    int error = Z_OK;
    gzerror(file.get(), &error);
    if (count < 0 || (error != Z_OK && error != Z_STREAM_END))
        throw InputError("/data/source", path.string() + " is damaged", "it cannot be unpacked to its end", "Install it again");
    return text;
}

fs::path cache_folder() {
    // The base directory specification: a relative XDG_CACHE_HOME is to be ignored.
    if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && fs::path(cache).is_absolute()) return fs::path(cache) / "skippipe-studio";
    if (const char* home = std::getenv("HOME"); home && fs::path(home).is_absolute()) return fs::path(home) / ".cache" / "skippipe-studio";
    return {};
}

Corpus load_corpus(const DataSpec& spec, const fs::path& base_dir, const CorpusLimits& limits) {
    if (spec.source == DataSource::text) return load_text(spec, base_dir, limits);
    if (spec.source == DataSource::jargon) return load_jargon(limits);
    Corpus corpus;
    corpus.bytes = read_bible();
    corpus.description = fmt::format("King James Bible, {} bytes", grouped(corpus.bytes.size()));
    corpus.notice = "The King James Version (Debian package bible-kjv-text) is in the public domain, except in the United Kingdom, "
                    "where the Crown holds letters patent on its printing.";
    return corpus;
}

}  // namespace skippipe
