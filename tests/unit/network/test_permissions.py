"""The table of permissions: it has a line for all that is served, and none for anything else."""

import pkgutil
from importlib import import_module

import pytest

import quizglass.v1
from quizglass_server.network.permissions import TABLE, needs


def served_methods():
    """Paths of every method of every service of the contract."""
    for module in pkgutil.iter_modules(quizglass.v1.__path__):
        if module.name.endswith("_pb2"):
            file = import_module(f"quizglass.v1.{module.name}").DESCRIPTOR
            for service in file.services_by_name.values():
                yield from (f"/{service.full_name}/{method.name}" for method in service.methods)


def test_every_method_of_the_contract_has_a_line_of_its_own():
    methods = set(served_methods())
    assert len(methods) > 15
    assert methods == {path for path in TABLE if path.startswith("/quizglass.")}


def test_all_of_them_need_a_token_but_the_one_that_gives_them():
    assert [path for path in served_methods() if needs(path) is None] == ["/quizglass.v1.PairingService/RedeemPairing"]


@pytest.mark.parametrize("path", ["/quizglass.v1.KnowledgeService/NotThere", "/debug", "/v1", "", "/quizglass.v1/*"])
def test_what_is_not_in_the_table_is_not_served(path):
    with pytest.raises(LookupError):
        needs(path)
