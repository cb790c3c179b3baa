"""A scheme answers for itself: what it says of itself is what its releases show, and nobody asks for its name."""

import ast
from pathlib import Path
from typing import get_args

import pytest

import sfumato
from sfumato.release.manifest import AttributeEntry, LabelAttribute, Manifest, SchemeName, ValueAttribute
from sfumato.release.scheme.catalogue import SCHEMES
from sfumato.table.encode import Role

NAMES = get_args(SchemeName)


def test_the_catalogue_has_every_scheme_of_a_manifest() -> None:
    assert set(SCHEMES) == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_scheme_and_manifest_agree(name: SchemeName) -> None:
    scheme, manifest = SCHEMES[name], Manifest(scheme=name)
    assert scheme.randomizes == manifest.randomized
    assert scheme.rows_are_groups == manifest.sampled
    assert scheme.shows_labels == issubclass(scheme.attribute_type(Role.QUASI), LabelAttribute)
    assert scheme.attribute_type(Role.INSENSITIVE) is AttributeEntry
    assert scheme.attribute_type(Role.SENSITIVE) is scheme.attribute_type(Role.CLASS) is ValueAttribute
    assert scheme.separates == (set(scheme.columns_of(manifest)) == {"quasi", "sensitive"})
    assert scheme.people in scheme.columns_of(manifest)


def _compared(tree: ast.AST) -> bool:
    """Whether a comparison has the name of a scheme on one side."""
    words = {part.value for part in ast.walk(tree) if isinstance(part, ast.Constant) and isinstance(part.value, str)}
    return bool(words & {*NAMES})


def test_nobody_outside_the_schemes_compares_their_names() -> None:
    root = Path(sfumato.__file__).parent
    own = [root / "method" / "topdown" / "topdown.py"]  # which scheme a method's own setting allows
    found = [
        f"{path.relative_to(root)}:{node.lineno}"
        for path in root.rglob("*.py")
        if path not in own
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Compare) and _compared(node)
    ]
    assert found == []
    template = (root / "report" / "template.html.j2").read_text(encoding="utf-8")
    assert not any(f'scheme == "{name}"' in template for name in NAMES)
