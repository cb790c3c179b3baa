"""Two publishers, one release: transport, cryptography and the protocol between them (chapter 7 of Fung's thesis).

Both parties are assumed to follow the protocol, and to be curious. See docs/two-publishers.md.
"""
