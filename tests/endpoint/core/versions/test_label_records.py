"""How the record of a model's labels changes with each move."""

from torpor_endpoint.core.versions.label_records import VersionLabels


def test_a_label_that_moves_leaves_the_others_and_remembers_where_it_was() -> None:
    labels = VersionLabels("houses", "iris", {"stable": 3})
    new = labels.moved("canary", 4)
    assert (new.labels, new.before) == ({"stable": 3, "canary": 4}, {"canary": 0})
    moved = new.moved("stable", 4)
    assert (moved.labels, moved.before) == ({"stable": 4, "canary": 4}, {"canary": 0, "stable": 3})


def test_a_label_that_is_removed_remembers_where_it_was() -> None:
    removed = VersionLabels("houses", "iris", {"stable": 3, "canary": 4}).moved("canary", None)
    assert (removed.labels, removed.before) == ({"stable": 3}, {"canary": 4})


def test_a_record_is_named_by_its_endpoint_and_its_model() -> None:
    assert VersionLabels("houses", "company/iris").name == "houses/company/iris"
