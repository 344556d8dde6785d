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
#include "core/data/mapped_file.h"
#include "core/base/subprocess.h"
#include "core/experiment/io.h"
#include "core/experiment/text.h"

namespace skippipe {

namespace fs = std::filesystem;

namespace {

constexpr const char* bible_program = "/usr/bin/bible";
constexpr const char* bible_why = "the corpus is printed by this program";
constexpr const char* bible_remedy = "Install it: apt install bible-kjv bible-kjv-text";
constexpr const char* cached_bible_name = "bible-kjv.txt";
constexpr const char* jargon_file = "/usr/share/dictd/jargon.dict.dz";
constexpr std::size_t max_line_bytes = 64u << 20;
constexpr std::uint64_t bible_least_bytes = 4'000'000;  // the whole text is 4.4 MB: less is a broken installation

[[noreturn]] void refuse(const DataPlace& place, std::string what, std::string why, std::string remedy) {
    throw InputError(place.pointer, std::move(what), std::move(why), std::move(remedy));
}

void require_utf8(const DataPlace& place, std::string_view text, const std::string& name) {
    const auto bad = find_invalid_utf8(text);
    if (bad == std::string_view::npos) return;
    refuse(
        place,
        fmt::format("{} is not UTF-8: byte {} is 0x{:02x}", name, grouped(bad), static_cast<unsigned char>(text[bad])),
        "other encodings would be read as wrong letters", "Convert it, for example with `iconv -t UTF-8`");
}

/// One file is one text. Mapped: with a tokenizer it may be larger than memory.
void read_text(const DataPlace& place, const fs::path& path, const TakeDocument& take) {
    const auto file = map_file(path, place.pointer, "it is the text to train on");
    const std::string_view text(reinterpret_cast<const char*>(file.data), file.size);
    require_utf8(place, text, path.string());
    take(text);
}

bool is_wanted(const fs::path& path, DataSource source) {
    const auto end = path.extension();
    if (source == DataSource::jsonl) return end == ".jsonl" || end == ".ndjson";
    if (source == DataSource::tokens) return end == ".npy" || end == ".bin";  // an .idx belongs to its .bin
    return true;
}

/// Regular files below `folder`, hidden ones left out, sorted by path.
std::vector<fs::path> files_below(const DataPlace& place, const fs::path& folder, DataSource source, int limit) {
    std::vector<fs::path> files;
    std::error_code error;
    for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        if (at->path().filename().string().starts_with('.')) {
            at.disable_recursion_pending();
            continue;
        }
        std::error_code not_a_file;
        if (!at->is_regular_file(not_a_file) || !is_wanted(at->path(), source)) continue;
        files.push_back(at->path());
        if (static_cast<int>(files.size()) > limit)
            refuse(
                place,
                fmt::format("{} has more than {} files", folder.string(), grouped(static_cast<std::uint64_t>(limit))),
                "that is probably not the folder meant", "Choose a folder that holds the data alone");
    }
    if (error)
        refuse(place, folder.string() + " cannot be listed: " + error.message(), "it holds the data to train on",
               "Check its permissions");
    if (files.empty() && source != DataSource::text)
        refuse(place, folder.string() + " holds no file of this kind",
               source == DataSource::jsonl ? "jsonl reads .jsonl and .ndjson" : "tokens reads .bin and .npy",
               "Name another folder, or the file itself");
    std::sort(files.begin(), files.end());
    return files;
}

/// The texts of a file of JSON lines.
void read_lines(const DataPlace& place, const fs::path& path, const std::string& field, const TakeDocument& take) {
    const auto file = map_file(path, place.pointer);
    const std::string_view all(reinterpret_cast<const char*>(file.data), file.size);
    std::size_t number = 0;
    for (std::size_t begin = 0; begin < all.size();) {
        const auto end = std::min(all.find('\n', begin), all.size());
        const auto line = all.substr(begin, end - begin);
        begin = end + 1;
        ++number;
        if (line.find_first_not_of(" \t\r") == std::string_view::npos) continue;
        const auto bad = [&](std::string what) {
            refuse(place, fmt::format("{} line {} {}", path.string(), grouped(number), what),
                   fmt::format("each line is an object with the text in {}", in_quotes(field)),
                   "Mend or remove the line, or set /data/text_field to the member that holds the text");
        };
        if (line.size() > max_line_bytes) bad(fmt::format("is longer than {} bytes", grouped(max_line_bytes)));
        const auto json = nlohmann::json::parse(line, nullptr, false);
        if (json.is_discarded()) bad("is no JSON");
        const auto text = json.is_object() ? json.find(field) : json.end();
        if (!json.is_object() || text == json.end()) bad(fmt::format("has no member {}", in_quotes(field)));
        if (!text->is_string()) bad(fmt::format("has no text in {}", in_quotes(field)));
        take(text->get_ref<const std::string&>());
    }
}

bool whole_bible(std::string_view text) {
    return text.size() >= bible_least_bytes && text.starts_with("Ge1:1 ") &&
           find_invalid_utf8(text) == std::string_view::npos;
}

/// The whole text as printed before; empty where it is not kept.
std::string cached_bible(const fs::path& folder) {
    Faults unused;
    std::error_code error;
    const auto file = folder / cached_bible_name;
    if (folder.empty() || !fs::is_regular_file(file, error)) return {};
    auto text = read_file(file, unused);
    return whole_bible(text) ? text : std::string{};
}

std::string read_bible() {
    const auto folder = cache_folder();
    if (auto text = cached_bible(folder); !text.empty()) return text;
    require_installed(DataSource::bible_kjv);
    auto output = run_process({bible_program, "-f", "gen1:1-rev22:21"}, 60, 16u << 20);
    if (output.exit_code != 0 || !whole_bible(output.text))
        throw InputError(
            "/data/source",
            fmt::format("{} did not print the whole text ({} bytes)", bible_program, grouped(output.text.size())),
            bible_why, bible_remedy);
    if (!folder.empty()) {
        std::error_code error;
        fs::create_directories(folder, error);
        try {
            write_file_atomically(folder / cached_bible_name, output.text);
        } catch (const std::exception&) {
            // Without a cache the program is asked again next time: slower by a tenth of a second, nothing is lost.
        }
    }
    return std::move(output.text);
}

std::string read_jargon(const DataPlace& place, const CorpusLimits& limits) {
    require_installed(DataSource::jargon);
    auto text = read_gzip(jargon_file, limits.bytes);
    require_utf8(place, text, jargon_file);
    return text;
}

}  // namespace

std::string grouped(std::uint64_t number) {
    auto digits = std::to_string(number);
    for (auto at = static_cast<std::ptrdiff_t>(digits.size()) - 3; at > 0; at -= 3)
        digits.insert(static_cast<std::size_t>(at), ",");
    return digits;
}

void refuse_size(const DataPlace& place, std::uint64_t limit) {
    refuse(place, fmt::format("the text is larger than {} bytes", grouped(limit)), "it is held in memory",
           "Choose smaller files, or name a tokenizer: then it is read piece by piece");
}

void require_installed(DataSource source) {
    std::error_code error;
    if (source == DataSource::bible_kjv && !fs::exists(bible_program, error) && cached_bible(cache_folder()).empty())
        throw InputError("/data/source", std::string(bible_program) + " is not installed", bible_why, bible_remedy);
    if (source == DataSource::jargon && !fs::exists(jargon_file, error))
        throw InputError("/data/source", std::string(jargon_file) + " is not installed", "it is the corpus",
                         "Install it: apt install dict-jargon");
}

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
    if (!file)
        throw InputError("/data/source", path.string() + " cannot be read", "it is the corpus",
                         "Check its permissions or install it again");
    std::string text;
    std::vector<char> buffer(1 << 16);
    int count = 0;
    while ((count = gzread(file.get(), buffer.data(), static_cast<unsigned>(buffer.size()))) > 0) {
        text.append(buffer.data(), static_cast<std::size_t>(count));
        if (text.size() > limit_bytes) refuse_size({{}, "/data/source", 1}, limit_bytes);
    }
    int error = Z_OK;
    gzerror(file.get(), &error);
    if (count < 0 || (error != Z_OK && error != Z_STREAM_END))
        throw InputError("/data/source", path.string() + " is damaged", "it cannot be unpacked to its end",
                         "Install it again");
    return text;
}

fs::path cache_folder() {
    // The base directory specification: a relative XDG_CACHE_HOME is to be ignored.
    if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache && fs::path(cache).is_absolute())
        return fs::path(cache) / "skippipe-studio";
    if (const char* home = std::getenv("HOME"); home && fs::path(home).is_absolute())
        return fs::path(home) / ".cache" / "skippipe-studio";
    return {};
}

std::vector<DataPlace> data_places(const DataSpec& spec, const fs::path& base_dir) {
    const bool installed = spec.source == DataSource::bible_kjv || spec.source == DataSource::jargon;
    if (installed) return {{{}, "/data/source", 1}};
    std::vector<DataPlace> places;
    for (std::size_t i = 0; i < spec.files.size(); ++i)
        places.push_back({base_dir / spec.files[i].path, fmt::format("/data/files/{}/path", i), spec.files[i].weight});
    if (!places.empty()) return places;
    if (spec.path.empty())
        refuse({{}, "/data/path", 1}, "no file is named", "this source reads a file or folder of yours",
               "Name a file or a folder");
    return {{base_dir / spec.path, "/data/path", 1}};
}

std::vector<fs::path> files_at(const DataSpec& spec, const DataPlace& place, const CorpusLimits& limits) {
    if (place.path.empty()) return {};
    std::error_code error;
    const auto status = fs::status(place.path, error);
    if (!fs::exists(status))
        refuse(place, place.path.string() + " is not there", "it is the data to train on",
               "Correct the path or choose another source");
    if (fs::is_directory(status)) return files_below(place, place.path, spec.source, limits.files);
    if (!fs::is_regular_file(status))
        refuse(place, place.path.string() + " is neither a file nor a folder", "reading it may never end",
               "Name a file or folder");
    return {place.path};
}

void for_each_document(const DataSpec& spec, const DataPlace& place, const CorpusLimits& limits,
                       const TakeDocument& take) {
    if (spec.source == DataSource::bible_kjv) return take(read_bible());
    if (spec.source == DataSource::jargon) return take(read_jargon(place, limits));
    for (const auto& file : files_at(spec, place, limits)) {
        if (spec.source == DataSource::jsonl)
            read_lines(place, file, spec.text_field, take);
        else
            read_text(place, file, take);
    }
}

std::string load_text(const DataSpec& spec, const DataPlace& place, const CorpusLimits& limits) {
    std::string text;
    for_each_document(spec, place, limits, [&](std::string_view document) {
        if (text.size() + document.size() + 1 > limits.bytes) refuse_size(place, limits.bytes);
        text += document;
        if (spec.source == DataSource::jsonl) text += '\n';
    });
    return text;
}

CorpusNames name_corpus(const DataSpec& spec) {
    if (spec.source == DataSource::bible_kjv)
        return {"King James Bible",
                "The King James Version (Debian package bible-kjv-text) is in the public domain, except in the United "
                "Kingdom, "
                "where the Crown holds letters patent on its printing."};
    if (spec.source == DataSource::jargon)
        return {"The Jargon File", "The Jargon File (Debian package dict-jargon) is in the public domain."};
    const auto name = spec.files.empty() ? spec.path : fmt::format("{} weighted files", spec.files.size());
    return {name, "The user's own data; its licence is not known to this program."};
}

}  // namespace skippipe
