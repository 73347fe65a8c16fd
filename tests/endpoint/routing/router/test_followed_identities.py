"""A router's copy of who may call is never an older one than it was."""

import asyncio

from tests.endpoint.helpers.virtual_time import run
from tests.helpers.waiting import reached
from torpor_account.iam.identities.ids import KeyPair
from torpor_endpoint.routing.protocol.identities import TABLES, Identities
from torpor_endpoint.routing.router.control_client import ControlClient
from torpor_endpoint.routing.router.followed_identities import FollowedIdentities

NOBODY = Identities(KeyPair("root", "secret"), dict.fromkeys(TABLES, ()), ())
Found = tuple[str, Identities] | None


class Control(ControlClient):
    """A control whose answers a test gives, by the order of the questions."""

    def __init__(self) -> None:
        super().__init__("http://nowhere")
        self.asked: list[str | None] = []
        self.answers: list[asyncio.Future[Found]] = []

    async def identities(self, after: str | None, within_s: float) -> Found:
        self.asked.append(after)
        self.answers.append(asyncio.get_running_loop().create_future())
        return await self.answers[-1]


def test_an_older_answer_that_comes_late_does_not_count_and_is_asked_for_again() -> None:
    async def story() -> None:
        control = Control()
        identities = FollowedIdentities(control, "1", NOBODY, "123456789012", lambda: 0.0)
        following = asyncio.create_task(identities.run())
        await reached(lambda: control.asked == ["1"])
        looking = asyncio.create_task(identities.look_again())
        await reached(lambda: control.asked == ["1", "1"])
        control.answers[0].set_result(("3", NOBODY))
        await reached(lambda: control.asked == ["1", "1", "3"])
        control.answers[1].set_result(("2", NOBODY))
        await reached(lambda: control.asked == ["1", "1", "3", "3"])
        control.answers[3].set_result(None)
        await looking
        following.cancel()

    run(story())
