"""The options of `torpor.local` are those of its two records, and have the same defaults."""

from dataclasses import fields
from inspect import signature
from pathlib import Path

import torpor
from torpor.hosting.attached_endpoint import read_options
from torpor.hosting.endpoint_options import EndpointOptions
from torpor.hosting.endpoint_process import Start
from torpor_endpoint.options import Options


def test_each_option_of_local_is_in_a_record_and_has_its_default() -> None:
    taken = {name: option.default for name, option in signature(torpor.local).parameters.items()}
    known = {field.name: field.default for record in (Start, EndpointOptions) for field in fields(record)}
    assert taken == {"models": None, "name": "local", **{name: known[name] for name in taken if name in known}}
    assert {field.name for field in fields(EndpointOptions)} <= taken.keys()


def test_the_start_parameters_of_a_process_are_options_of_the_endpoint() -> None:
    of_callers = {"services"}
    assert {field.name for field in fields(Start)} - of_callers <= {field.name for field in fields(Options)}


def test_a_whole_number_of_serverless_is_its_memory() -> None:
    plan = EndpointOptions(serverless=2048).plan("houses")
    assert plan.capacity == {"ServerlessConfig": {"MemorySizeInMB": 2048, "MaxConcurrency": 20}}


def test_an_amount_wins_over_the_environment() -> None:
    options = EndpointOptions({"TORPOR_MEMORY_MIB": "1", "A": "b"}, memory_mib=512, sleep_after_s=1.5)
    assert options.settings == {"TORPOR_MEMORY_MIB": "512", "A": "b", "TORPOR_IDLE_SECONDS": "1.5"}
    assert options.plan("houses").instances_min == 0


def test_every_option_that_is_a_path_is_one_in_the_process_of_the_endpoint() -> None:
    options = read_options('{"data_dir": "d", "kubernetes_file": "k.toml", "ca_bundle": "c.pem", "tls_cert": null}')
    assert (options.data_dir, options.kubernetes_file, options.ca_bundle) == (Path("d"), Path("k.toml"), Path("c.pem"))
    assert options.tls_cert is None
