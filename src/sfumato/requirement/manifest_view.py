"""What a promise may ask of the manifest of a release; `sfumato.release.manifest.Manifest` answers."""

from collections.abc import Mapping
from typing import Any, Protocol

from sfumato.table.distortion import Distortion
from sfumato.table.encode import Role


class ManifestView(Protocol):
    """The typed manifest, seen from below: requirements do not know the classes of a release."""

    @property
    def other_version(self) -> str | None:
        """The version of sfumato that wrote it; None if it was this one."""

    @property
    def sampled(self) -> bool:
        """Whether each row stands for a group of people."""

    @property
    def randomized(self) -> bool:
        """Whether values may have been drawn by stated matrices."""

    @property
    def settings(self) -> Mapping[str, Any]:
        """The public settings of the method."""

    @property
    def attributes(self) -> Mapping[str, Any]:
        """The attributes by name."""

    @property
    def matrices(self) -> Mapping[str, Any]:
        """How each randomized attribute was randomized."""

    @property
    def epsilon(self) -> Any:
        """What is stated about ε."""

    def with_role(self, role: Role) -> list[str]:
        """The names of the attributes that have a role."""

    def domain(self, name: str) -> list[str]:
        """The values of an attribute's domain as text."""

    def distortions(self) -> dict[str, Distortion]:
        """How each attribute with a domain was randomized; without a matrix nothing is changed."""
