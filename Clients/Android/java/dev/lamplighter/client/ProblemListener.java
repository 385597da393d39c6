package dev.lamplighter.client;

/** Gets what a developer should know. It may be called on any thread, and must return soon: the client waits for it. */
public interface ProblemListener {
    void onProblem(LamplighterException problem);
}
