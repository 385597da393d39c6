extension Store {
    /// Sketches of cards, by attributes type.
    public var sketches: NamedRecords { NamedRecords(redis: redis, key: keys.sketches, maximum: 200) }
}

extension AppRecord {
    /// How the console draws the cards of an attributes type.
    static let sketch = AppRecord("sketch") { $0.sketches }
}

extension ActionKind {
    static let sketches: [ActionKind] = [setSketch, deleteSketch]

    public static let setSketch = ActionKind("set_sketch")
    public static let deleteSketch = ActionKind("delete_sketch")
}
