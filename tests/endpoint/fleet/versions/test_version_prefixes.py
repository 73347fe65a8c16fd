"""What lies below a prefix is known from listings and from what comes while they are made."""

import asyncio
from types import SimpleNamespace

from torpor_account.s3.access.embedded import StorageError
from torpor_endpoint.core.resource_records import Container, Variant
from torpor_endpoint.fleet.versions.version_prefixes import FOLLOWS_S, VersionPrefixes

VERSIONED = Container("torpor", "s3://b/shop", multi_model=True, environment={"TORPOR_VERSIONS": "all"})
SHOP = Variant("v", "m", (VERSIONED,))


def test_a_prefix_that_never_rests_is_listed_once() -> None:
    async def listed() -> list[tuple[str, list[int]]]:
        loop, listings = asyncio.get_running_loop(), 0

        async def tell() -> None:
            prefixes.told("b", "shop/iris/2/m.tar", there=True)
            prefixes.told("b", "shop/iris/1/m.tar", there=False)
            prefixes.told("b", "shop/rose/1/m.tar", there=True)

        def keys(role: str, endpoint_arn: str, bucket: str, beginning: str) -> list[str]:
            nonlocal listings
            listings += 1
            if listings > 1:
                raise StorageError("it was listed again")
            asyncio.run_coroutine_threadsafe(tell(), loop).result()
            return ["shop/iris/1/m.tar", "shop/lily/3/m.tar"]

        prefixes = VersionPrefixes(keys, lambda: 0.0, lambda prefix, name: found.append(prefix))
        found: list[object] = []
        await prefixes.prepare(SHOP, "arn")
        layout = prefixes._of(VERSIONED, "arn").layout
        return [(name, list(layout.versions_of(name))) for name in sorted(layout)]

    assert asyncio.run(listed()) == [("iris", [2]), ("lily", [3]), ("rose", [1])]


class Polled:
    """A pool, as far as its prefix asks."""

    settings = SimpleNamespace(versions_poll_s=30.0)


def test_a_names_first_version_has_the_prefix_listed_soon_for_the_keys_that_it_clashes_with() -> None:
    now, there = 100.0, ["shop/iris", "shop/lily/1/m.tar"]
    prefixes = VersionPrefixes(lambda *place: there, lambda: now, lambda prefix, name: None)
    asyncio.run(prefixes.prepare(SHOP, "arn"))
    prefix, pool = prefixes._of(VERSIONED, "arn"), Polled()
    prefix.pools.add(pool)  # type: ignore[arg-type]
    asyncio.run(prefixes.renew(prefix))
    assert prefixes.next_due_s() == 30.0
    assert not prefixes.told("b", "shop/lily/2/m.tar", there=True)
    assert not prefixes.told("b", "shop/rose.tar", there=True)
    assert not prefixes.told("other", "shop/iris/3/m.tar", there=True)
    there.append("shop/iris/3/m.tar")
    assert prefixes.told("b", "shop/iris/3/m.tar", there=True)
    assert not prefixes.told("b", "shop/iris/4/m.tar", there=True)
    assert prefixes.next_due_s() == FOLLOWS_S
    assert prefix.layout.fault_of("iris") == ""
    now += FOLLOWS_S
    asyncio.run(prefixes.renew(prefixes.due()[0]))
    assert "'iris' is the key of an object" in prefix.layout.fault_of("iris")
    assert prefixes.next_due_s() == 30.0
