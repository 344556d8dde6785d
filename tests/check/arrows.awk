# SPDX-License-Identifier: GPL-3.0-or-later
# awk -f arrows.awk arrows.txt FILE...: says each include that the table has no arrow for; exits 1 where there is one.

function fail(text) { print text; failures++ }

# The room of a path: the nearest folder above that the table knows.
function room_of(path) {
    while (sub(/\/[^\/]*$/, "", path)) if (path in rooms) return path
    return ""
}

function may(from, to,    list, count, i) {
    if (from == to) return 1
    if ((from, to) in known) return known[from, to]
    known[from, to] = 0
    count = split(rooms[from], list, " ")
    for (i = 1; i <= count; i++) if (may(list[i], to)) return known[from, to] = 1
    return 0
}

# Whether an exception's place (a file, or a room) is a file's.
function covers(place, file) { return place == file || index(file, place "/") == 1 }

function excepted(file, included,    i) {
    for (i = 1; i <= exceptions; i++)
        if (covers(except_from[i], file) && covers(except_to[i], included)) { except_used[i] = 1; return 1 }
    return 0
}

function cycle_from(room, path,    list, count, i) {
    if (room in settled) return
    if (room in open) { fail(table ": a circle of arrows: " path " -> " room); return }
    open[room] = 1
    count = split(rooms[room], list, " ")
    for (i = 1; i <= count; i++) {
        if (!(list[i] in rooms)) fail(table ": " room " names a room that the table lacks: " list[i])
        else cycle_from(list[i], path " -> " room)
    }
    delete open[room]
    settled[room] = 1
}

FNR == 1 { files++ }

files == 1 {
    table = FILENAME
    if (/^(#|$)/) next
    if (/^library /) {
        split(substr($0, 9), parts, ": ")
        count = split(parts[2], list, " ")
        for (i = 1; i <= count; i++) library[list[i]] = parts[1]
    } else if (/^except /) {
        colon = index($0, ": "); arrow = index($0, " -> ")
        except_from[++exceptions] = substr($0, 8, arrow - 8)
        except_to[exceptions] = substr($0, arrow + 4, colon - arrow - 4)
    } else {
        colon = index($0, ":")
        split(substr($0, colon + 1), parts, ";")
        rooms[substr($0, 1, colon - 1)] = parts[1]
        libraries[substr($0, 1, colon - 1)] = " " parts[2] " "
    }
    next
}

FNR == 1 && files == 2 { for (room in rooms) cycle_from(room, "") }
FNR == 1 { from = room_of(FILENAME); if (from == "") fail(FILENAME ": lies in no room of " table) }
from == "" { next }

/^#[ ]*include "/ {
    split($0, parts, "\"")
    included = parts[2]
    if (included !~ /\// || (included ~ /^generated\//)) next
    to = room_of(included)
    if (to == "") fail(FILENAME ":" FNR ": includes " included ", which lies in no room")
    else if (!may(from, to) && !excepted(FILENAME, included)) fail(FILENAME ":" FNR ": " from " may not include " to " (" included ")")
}

/^#[ ]*include </ {
    split($0, parts, /[<>]/)
    for (prefix in library)
        if (index(parts[2], prefix) == 1 && index(libraries[from], " " library[prefix] " ") == 0)
            fail(FILENAME ":" FNR ": " from " may not use " library[prefix] " (<" parts[2] ">)")
}

END {
    for (i = 1; i <= exceptions; i++)
        if (!(i in except_used)) fail(table ": an exception that nothing needs: " except_from[i] " -> " except_to[i])
    exit failures > 0
}
