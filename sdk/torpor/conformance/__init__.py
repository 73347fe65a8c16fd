"""Plays SageMaker's side of the container contract, or the client of another protocol, and says rule by rule what is
broken.

To add a rule, write a function in a module of `rules`; the decorator is all that registers it:

    @rule(
        "ping-200",
        Level.MUST,
        says="The simplest requirement on the container is to respond with an HTTP 200 status code and an empty body.",
        source=Source.HOSTING,
        mend="Answer GET /ping with 200 as soon as the container can answer an invocation.",
    )
    def ping_answers_200(container: CheckedContainer) -> None:
        answer = container.get("/ping")
        expect(answer.status == 200, f"GET /ping answered {answer.status}, not 200", answer)

A check returns if the container keeps the rule. `expect` raises `RuleBroken`, `skip` says why the rule cannot be
judged, and a request without a whole answer breaks the rule by itself. `tests/sdk/helpers/broken_container.py` plants a
fault for each rule, and a test fails for a rule that has none. The rules of other protocols are in `protocols`, and
their faults in `tests/sdk/helpers/broken_protocols.py`.
"""
