enum Release {
    /// The version of the program, the package and the image: bin/release and bin/package read it from this line.
    /// It is the newest version of CHANGELOG.md, or between releases the next one with `-dev`.
    static let version = "0.2.0-dev"
}
