"""The names of the two copies of one model."""

from torpor_container.core.versions.copy_names import model_of, other_copy


def test_each_copy_of_a_model_leads_to_the_other_and_both_to_the_model() -> None:
    beside = other_copy("a/m.tar")
    assert beside == "a/m.tar/."
    assert other_copy(beside) == "a/m.tar"
    assert (model_of("a/m.tar"), model_of(beside)) == ("a/m.tar", "a/m.tar")
