"""From a declarative policy to a release with its private part."""
