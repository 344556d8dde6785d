#!/usr/bin/env bash
# SPDX-License-Identifier: GPL-3.0-or-later
# `./studio check`: what can be said of the sources without building them. Exits 1 where anything is found.
#   check.sh COMPILE_COMMANDS   the compile_commands.json of a configured tree (for clang-tidy)
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."
here=tests/check
tidy_seconds="${SKIPPIPE_TIDY_SECONDS:-240}"
failed=()

# Tracked and new files that match; a deleted one that is not committed yet is none.
files() { git ls-files --cached --others --exclude-standard -- "$@" | while IFS= read -r file; do [ ! -f "$file" ] || echo "$file"; done; }

check() {
  local name="$1"; shift
  if "$@"; then echo "check: $name: fine"; else echo "check: $name: FAILED"; failed+=("$name"); fi
}

# Other versions of clang-format lay the same file out differently.
format() {
  local program
  program="$(command -v clang-format-14 || command -v clang-format)"
  if ! "$program" --version | grep -q 'version 14\.'; then
    echo "clang-format 14 lays out these sources; this is $("$program" --version): skipped"
    return 0
  fi
  files '*.cpp' '*.h' | xargs "$program" --dry-run -Werror
}

arrows() { files {app,core,kernels,plugins,views,tests}/{'*.cpp','*.h'} | xargs awk -f $here/arrows.awk $here/arrows.txt; }

# A heading's anchor, as forges make it.
anchors() { sed -n 's/^##* *//p' "$1" | tr '[:upper:]' '[:lower:]' | sed "s/[^[:alnum:]_ -]//g; s/ /-/g"; }

# Relative links of documents: the file is there, and so is the heading.
links() {
  local page target path anchor dead=0
  while IFS= read -r page; do
    while IFS= read -r target; do
      case "$target" in *://*|mailto:*) continue ;; esac
      path="${target%%#*}"
      if [ -n "$path" ]; then path="$(dirname "$page")/$path"; else path="$page"; fi
      anchor=""; [[ "$target" != *#* ]] || anchor="${target#*#}"
      if [ ! -e "$path" ]; then echo "$page: dead link: $target"; dead=1
      elif [ -n "$anchor" ] && [[ "$path" = *.md ]] && ! anchors "$path" | grep -qxF "$anchor"; then
        echo "$page: no such heading: $target"; dead=1
      fi
    done < <(grep -oE '\]\([^) ]+' "$page" | cut -c3-)
  done < <(files '*.md')
  return $dead
}

spelling() {
  files '*.md' '*.cpp' '*.h' '*.txt' '*.sh' studio ':!tests/data' | xargs codespell --ignore-words $here/words.txt
}

# Since the branch left origin/main; on main itself: the last commit. Uncommitted changes too.
changed_since() {
  local base head
  head="$(git rev-parse -q --verify HEAD)" || return 0
  base="$(git merge-base HEAD origin/main 2>/dev/null)" || base=""
  [ -n "$base" ] && [ "$base" != "$head" ] || base="$(git rev-parse -q --verify HEAD~1 || echo "$head")"
  echo "$base"
}

# The changed lines, for clang-tidy: [{"name": FILE, "lines": [[FIRST, LAST], ...]}, ...].
changed_lines() {
  git diff -U0 --diff-filter=d "$1" -- app core kernels plugins views | awk '
    /^\+\+\+ b\// { file = substr($0, 7) }
    /^@@/ && file ~ /\.(cpp|h)$/ {
      count = split(substr($3, 2), range, ",") < 2 ? 1 : range[2]
      if (count > 0) lines[file] = lines[file] (lines[file] == "" ? "" : ",") "[" range[1] "," range[1] + count - 1 "]"
    }
    END { for (file in lines) text = text (text == "" ? "" : ",") "{\"name\":\"" file "\",\"lines\":[" lines[file] "]}"; print "[" text "]" }'
}

# The compile commands of single files: where some are compiled at once, that command for each of them.
single_files() {
  awk '
    /^ *"command":/ { command = $0 }
    /^ *"directory":/ { directory = $0 }
    /^ *"file":/ {
      split($0, quoted, "\""); batch = quoted[4]
      count = 0
      if (batch ~ /\/Unity\/unity_[0-9]+_cxx\.cxx$/)
        while ((getline line < batch) > 0) if (split(line, parts, "\"") == 3 && line ~ /^#include/) files[++count] = parts[2]
      if (count == 0) files[++count] = batch
      for (i = 1; i <= count; ++i) {
        single = command; position = index(single, " -c " batch)
        if (position > 0) single = substr(single, 1, position + 3) files[i] "\","
        print (printed++ ? "," : "[") "\n{\n" directory "\n" single "\n  \"file\": \"" files[i] "\"\n}"
      }
    }
    END { print "]" }' "$1"
}

# clang-tidy on what changed in the sources, as much as the time allows. Left out are tests, whose .moc files the build makes, and
# what includes LibTorch, whose 1.13 headers are no C++20 to clang.
tidy() {
  local base commands status
  base=a336149
  [ -n "$base" ] && [ -f "$1" ] || { echo "no commit or no compile_commands.json to go by: skipped"; return 0; }
  mapfile -t sources < <(git diff --name-only --diff-filter=d "$base" -- app/cli app/studio core ':!core/model' kernels plugins/planners views |
    grep '\.cpp$')
  [ ${#sources[@]} -gt 0 ] || return 0
  commands="$(mktemp -d)"
  # clang cannot read GCC's precompiled headers, and without them it is also seen whether a file includes what it uses.
  single_files "$1" | sed -E 's/ -include [^ ]*cmake_pch\.hxx//g; s/ -Winvalid-pch//g; s/ -Wno-[a-z-]*//g' >"$commands/compile_commands.json"
  printf '%s\0' "${sources[@]}" | timeout "$tidy_seconds" xargs -0 -n 1 -P "$(nproc)" \
    clang-tidy --quiet -p "$commands" --warnings-as-errors='*' --line-filter="$(changed_lines "$base")" 2>"$commands/log"
  status=$?
  [ $status = 0 ] || grep -v 'Program arguments' "$commands/log" | grep -E 'error:|ERROR:'
  rm -rf "$commands"
  [ $status -ne 124 ] || { echo "clang-tidy: not all of ${#sources[@]} changed files in $tidy_seconds s (SKIPPIPE_TIDY_SECONDS)"; return 0; }
  return $status
}

exit_later=1



check tidy tidy "$1"
[ ${#failed[@]} -eq 0 ] || { echo "check: failed: ${failed[*]}"; exit 1; }
