"""The schemes by name."""

from sfumato.release.bucketization import Bucketization
from sfumato.release.label_groups import Generalization
from sfumato.release.randomization import Randomization
from sfumato.release.sampling import Sampling
from sfumato.release.scheme import Scheme

SCHEMES: dict[str, Scheme] = {s.name: s for s in (Generalization(), Bucketization(), Sampling(), Randomization())}
