/// The known name that the user probably meant. Nil if it takes more than two edits and changes more than a third.
func nearestName(to name: String, among known: [String]) -> String? {
    let distances = known.map { (name: $0, distance: editDistance(Array(name.utf8), Array($0.utf8))) }
    guard let best = distances.min(by: { $0.distance < $1.distance }) else { return nil }
    return best.distance <= max(2, best.name.utf8.count / 3) ? best.name : nil
}

/// How many insertions, deletions, substitutions and swaps of neighbours turn one text into the other.
func editDistance(_ from: [UInt8], _ into: [UInt8]) -> Int {
    var beforeLast: [Int] = []
    var last = Array(0...into.count)
    for (row, byte) in from.enumerated() {
        var current = [row + 1]
        for (column, other) in into.enumerated() {
            var cost = min(last[column + 1] + 1, current[column] + 1, last[column] + (byte == other ? 0 : 1))
            if row > 0, column > 0, byte == into[column - 1], from[row - 1] == other {
                cost = min(cost, beforeLast[column - 1] + 1)
            }
            current.append(cost)
        }
        beforeLast = last
        last = current
    }
    return last[into.count]
}
