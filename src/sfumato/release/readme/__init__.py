"""README.html: what a recipient should know about a release, told from its manifest alone."""
