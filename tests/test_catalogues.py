"""Catalogues name each class as it names itself, and import nothing before they are asked."""

import subprocess
import sys

import pytest

from sfumato.catalogue import Catalogue
from sfumato.method.catalogue import METHODS
from sfumato.requirement.catalogue import MODELS


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_listed_by_its_name(name: str) -> None:
    assert METHODS[name].name == name


@pytest.mark.parametrize("model", MODELS)
def test_a_model_is_listed_by_its_name(model: str) -> None:
    assert MODELS[model].model == model


def test_a_catalogue_is_a_mapping() -> None:
    known: Catalogue[Exception] = Catalogue("sfumato", {"infeasible": "errors.Infeasible"})
    assert "infeasible" in known
    assert "other" not in known
    assert len(known) == 1
    assert known.get("other") is None
    with pytest.raises(KeyError):
        known["other"]


def test_only_the_method_asked_for_is_imported() -> None:
    code = (
        "import sys; from sfumato.method.catalogue import METHODS; list(METHODS), METHODS['mondrian'];"
        "assert 'sfumato.method.mondrian' in sys.modules;"
        "print([m for m in sys.modules if m in ('sfumato.method.art.art', 'sfumato.method.rr.rr')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=True)
    assert done.stdout.strip() == "[]"
