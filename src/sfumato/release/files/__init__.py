"""Write and read the folder of a release, whole or not at all."""
