"""What keeps the docs true: code blocks that run, pictures drawn from them, claims copied from the classes."""
