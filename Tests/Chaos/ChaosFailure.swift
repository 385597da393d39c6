/// The run itself could not continue, so there is no result about the system under test.
struct ChaosFailure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}
