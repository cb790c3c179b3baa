"""The map in docs/architecture.md names every module in its room, and nothing that is not there."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import sfumato

_ROOT = Path(sfumato.__file__).parent
_MAP = Path(__file__).parents[1] / "docs" / "architecture.md"


def rooms() -> dict[str, str]:
    """What the map says of each room: a folder, a folder in it, or a file of the package."""
    text = _MAP.read_text(encoding="utf-8")
    drawn = text[text.index("    src/sfumato/\n") : text.index("Where to add something new")]
    found: dict[str, str] = {}
    top = ""
    for line in drawn.splitlines()[1:]:
        if begins := re.match(r"( {6}| {8})(\w+)(?:/|\.py) ", line):
            top = begins[2] if len(begins[1]) == 6 else top
            found[begins[2] if begins[2] == top else f"{top}/{begins[2]}"] = ""
        if found:
            found[list(found)[-1]] += f" {line}"
    return found


def modules() -> list[Path]:
    return [p.relative_to(_ROOT) for p in _ROOT.rglob("*.py") if p.name != "__init__.py"]


def test_every_module_is_named_in_its_room() -> None:
    words = {room: set(re.findall(r"\w+", told)) for room, told in rooms().items()}
    missing = [
        str(module)
        for module in modules()
        if module.stem not in words.get("/".join(module.parts[:-1]) or module.stem, set())
    ]
    assert missing == []


def test_every_room_and_every_name_of_two_words_is_there() -> None:
    there = {part for module in modules() for part in module.with_suffix("").parts}
    assert {part for room in rooms() for part in room.split("/")} - there == {"__init__"}
    assert [room for room in rooms() if "/" in room and not (_ROOT / room).is_dir()] == []
    named = {name for told in rooms().values() for name in re.findall(r"\b[a-z]\w*_\w+\b", told)}
    assert named - there == set()


def test_every_file_that_the_map_refers_to_is_there() -> None:
    text = _MAP.read_text(encoding="utf-8")
    files = [name for name in re.findall(r"`([a-z_]+/[a-z_/]+\.py)`", text) if "NAME" not in name]
    lost = [name for name in files if not (_ROOT / name).exists() and not (_MAP.parents[1] / name).exists()]
    assert len(files) > 10
    assert lost == []


def _names(module: Path) -> Iterator[tuple[str, bool]]:
    """The public classes of a module, and its public aliases of types: name, and whether it is a class."""
    tree = ast.parse((_ROOT / module).read_text(encoding="utf-8"))
    yield from ((node.name, True) for node in ast.walk(tree) if isinstance(node, ast.ClassDef))
    for node in tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name = node.targets[0].id
            if name[:1].isupper() and not name.isupper():
                yield name, False


def test_the_name_of_a_public_class_occurs_once() -> None:
    """No other class has it, and no alias of a type either."""
    homes: dict[str, list[str]] = defaultdict(list)
    classes: set[str] = set()
    for module in modules():
        for name, is_class in _names(module):
            homes[name].append(str(module))
            classes |= {name} if is_class else set()
    assert {name: found for name, found in homes.items() if name in classes and len(found) > 1 and name[0] != "_"} == {}
