"""The schemes by name."""

from sfumato.release.scheme.base import Scheme
from sfumato.release.scheme.bucketization import Bucketization
from sfumato.release.scheme.generalization import Generalization
from sfumato.release.scheme.randomization import Randomization
from sfumato.release.scheme.sampling import Sampling

SCHEMES: dict[str, Scheme] = {s.name: s for s in (Generalization(), Bucketization(), Sampling(), Randomization())}
