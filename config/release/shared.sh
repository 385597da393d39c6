# Sourced by the scripts that make or try a release, in the root of the tree.

# The version of the program, and the time of the commit: making a release of a commit again gives the same times.
version=$(sed -n 's/.*static let version = "\(.*\)"/\1/p' Sources/Commands/Terminal/Release.swift)
SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct 2>/dev/null || date +%s)}
export SOURCE_DATE_EPOCH

fail() {
    echo "${0#"$PWD"/}: $*" >&2
    exit 1
}
[ -n "$version" ] || fail "Sources/Commands/Terminal/Release.swift names no version"

wrong_call() {
    echo "${0#"$PWD"/}: $*; see ${0#"$PWD"/} --help" >&2
    exit 64
}

# maintained TEXT: whether it has the form of a Maintainer of Debian. published TEXT: whether it is an address of the web.
# Both go into a file by sed, so they have none of its signs.
maintained() { [[ $1 =~ ^[^'<>|&\\']+' <'[^'<>|&\\ ']+@[^'<>|&\\ ']+'>'$ ]]; }
published() { [[ $1 =~ ^https?://[^'|&\\ ']+$ ]]; }

# usage: prints the head of the script, up to its first line that is no comment.
usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }

# clean_tree: a release tells which commit it was made of, so it holds nothing else.
clean_tree() {
    [ -n "$(git status --porcelain 2>/dev/null)" ] || return 0
    git status --short | head -n 5 >&2
    fail "the tree differs from its commit: commit or stash the changes, or give --dirty for a build that is not published"
}
