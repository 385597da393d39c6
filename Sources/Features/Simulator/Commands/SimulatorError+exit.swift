import APNsSimulator

extension SimulatorError: ExitingError {
    var failure: CommandFailure {
        guard case .cannotListen(let host, let port, let why) = self else {
            return CommandFailure(.configuration, description)
        }
        return .cannotListen(at: host, port, why)
    }
}
