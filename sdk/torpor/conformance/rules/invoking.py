"""Invocations: their answers, their times, and the health checks meanwhile."""

from concurrent.futures import Future, ThreadPoolExecutor

from torpor.conformance.container import CheckedContainer
from torpor.conformance.container_client import ContainerAnswer
from torpor.conformance.judging import expect, expect_status, expect_success, skip
from torpor.conformance.rule import MULTI, Level, Source, rule
from torpor.conformance.sample_inputs import Sample

AT_ONCE = 6
LOAD = 32
"""Invocations of the load under which pings are sent, by WORKERS callers."""
WORKERS = 8


@rule(
    "invoke",
    Level.MUST,
    says="SageMaker passes the request to the container, and returns the inference result from the container to the "
    "client.",
    source=Source.HOSTING,
    mend="Answer POST /invocations (multi-model: POST /models/{model_name}/invoke) with 200 and the prediction.",
    needs=("load-model",),
)
def an_invocation_succeeds(container: CheckedContainer) -> None:
    answer = container.invoke()
    if container.material.sample.is_default and 400 <= answer.status < 500:
        skip(f"the default body 1,2,3,4 as text/csv got {answer.status}: give one with --body FILE")
    expect_success(answer)


@rule(
    "invoke-in-time",
    Level.MUST,
    says="A customer's model containers must respond to requests within 60 seconds.",
    source=Source.HOSTING,
    mend="Predict within 60 seconds; what takes longer belongs on an asynchronous endpoint or into batch transform.",
    needs=("invoke",),
)
def the_slow_invocation_ends_in_time(container: CheckedContainer) -> None:
    slow = container.material.slow
    expect_success(container.invoke(slow), " to --slow-body" if slow else "")


@rule(
    "invoke-unloaded-404",
    Level.MUST,
    says="If model_name is not loaded, this API should return 404.",
    source=Source.MULTI_MODEL,
    mend="Answer POST /models/{model_name}/invoke with 404 if no model of this name is loaded.",
    uses=MULTI,
)
def an_invocation_of_an_unloaded_model_is_404(container: CheckedContainer) -> None:
    expect_status(container.invoke(name=container.name("never loaded")), 404)


@rule(
    "target-model-is-no-name",
    Level.MUST,
    says="The customer container is expected to keep track of the loaded models using model_name as the mapping key.",
    source=Source.MULTI_MODEL,
    mend="Choose the model by the name in the path. X-Amzn-SageMaker-Target-Model is there for logs.",
    uses=MULTI,
    needs=("invoke",),
)
def the_header_target_model_chooses_nothing(container: CheckedContainer) -> None:
    answer = container.invoke(headers={"X-Amzn-SageMaker-Target-Model": "company_a/other model.tar.gz"})
    expect_success(answer, " with another X-Amzn-SageMaker-Target-Model")


@rule(
    "invoke-at-once",
    Level.MUST,
    says="Requests of several callers come at the same time; each gets the answer to its own.",
    source=Source.TORPOR,
    mend="Keep the state of a request out of what requests share, or let them wait for one another.",
    needs=("accepts-connections", "invoke"),
)
def invocations_at_once_get_their_own_answers(container: CheckedContainer) -> None:
    sample = container.material.sample
    bodies = [sample.repeated(times) if sample.has_lines else sample for times in range(1, AT_ONCE + 1)]
    alone = [container.invoke(body) for body in bodies]
    is_repeatable = container.invoke(bodies[0]).body == alone[0].body
    together = container.at_once([lambda body=body: container.invoke(body) for body in bodies])  # type: ignore[misc]
    for before, answer in zip(alone, together, strict=True):
        same = before.status == answer.status
        expect(
            same, f"one of {AT_ONCE} invocations at once answered {answer.status}, and {before.status} alone", answer
        )
        own = not is_repeatable or before.body == answer.body
        expect(own, f"one of {AT_ONCE} invocations at once got another answer than alone", answer)


@rule(
    "ping-under-load",
    Level.MUST,
    says="The request timeout on /ping attempts is 2 seconds.",
    source=Source.HOSTING,
    mend="Answer /ping beside the invocations: in a thread, a process or an event loop that they do not fill.",
    needs=("accepts-connections", "ping-in-time", "invoke"),
)
def ping_answers_under_load(container: CheckedContainer) -> None:
    container.invocation_path()  # loads the model, if it is not there
    with ThreadPoolExecutor(WORKERS) as pool:
        expect_pings_until(container, [pool.submit(container.invoke) for _ in range(LOAD)])


@rule(
    "ping-while-invoking",
    Level.MUST,
    says="The request timeout on /ping attempts is 2 seconds.",
    source=Source.HOSTING,
    mend="Answer /ping while an invocation runs: a server with one thread cannot.",
    needs=("ping-in-time", "invoke"),
)
def ping_answers_while_an_invocation_runs(container: CheckedContainer) -> None:
    slow = slow_sample(container)
    container.invocation_path()
    with ThreadPoolExecutor(1) as pool:
        expect_pings_until(container, [pool.submit(container.invoke, slow)])


@rule(
    "invoke-while-loading",
    Level.MUST,
    says="A container serves its loaded models while the platform loads another.",
    source=Source.TORPOR,
    mend="Hold no lock during a load that an invocation of another model needs.",
    uses=MULTI,
    needs=("invoke",),
)
def invocations_succeed_while_another_model_loads(container: CheckedContainer) -> None:
    container.invocation_path()
    name = container.name("loads meanwhile")
    with ThreadPoolExecutor(1) as pool:
        loading = pool.submit(container.load, name)
        try:
            while not loading.done():
                expect_success(container.invoke(), " while another model was loading")
        finally:
            loading.exception()
            container.forget(name)


def expect_pings_until(container: CheckedContainer, calls: "list[Future[ContainerAnswer]]") -> None:
    """Pings until all calls have ended, whatever they answer. Raises RuleBroken, NoContainerAnswer."""
    try:
        while not all(call.done() for call in calls):
            expect_status(container.ping(), 200)
    finally:
        for call in calls:
            if not call.cancel():
                call.exception()


def slow_sample(container: CheckedContainer) -> Sample:
    return container.material.slow or skip("give a body whose prediction takes seconds with --slow-body FILE")
