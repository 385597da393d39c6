/// An error that says itself how a command ends with it. Errors of features do.
protocol ExitingError: Error {
    var failure: CommandFailure { get }
}
