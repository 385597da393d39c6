/// Says who wrote a stored format that this version does not know, and what to do.
struct OtherFormat {
    let found: Int
    let known: Int

    private var isNewer: Bool { found > known }

    var words: String {
        "format \(found), of \(isNewer ? "a newer" : "an older") Lamplighter; \(Release.version) knows \(known) alone"
    }

    var remedy: String {
        isNewer
            ? "install that version here too"
            : "make a backup with that version, empty this Redis, and restore the backup with this one (docs/upgrading.md)"
    }
}
