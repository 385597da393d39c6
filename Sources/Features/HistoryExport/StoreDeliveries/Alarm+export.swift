extension Alarm.Kind {
    /// Finished pushes are not exported (`pushes.export`).
    public static let export = Alarm.Kind(
        "export", title: "Export of pushes",
        log: "finished pushes are not exported: look at the directory of pushes.export",
        meaning: "Finished pushes are not exported. What Redis forgets before that is lost to the export.",
        ends: "It ends with the next export that goes well.")
}
