extension Array {
    /// The elements in order, at most `size` in each part.
    package func parts(of size: Int) -> [ArraySlice<Element>] {
        stride(from: 0, to: count, by: size).map { self[$0..<Swift.min($0 + size, count)] }
    }

    /// Divides the work for many tokens between calls of a script, because Redis serves nobody else while a script
    /// runs. There is at least one part, because a script also renews a lease or tells what is left.
    package var scriptParts: [ArraySlice<Element>] { isEmpty ? [[]] : parts(of: 125) }
}
