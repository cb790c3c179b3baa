"""The commands, one file per command or family, and what they share.

Each command imports what it needs when it runs, so that help appears at once.
"""
