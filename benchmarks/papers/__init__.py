"""Tables and figures of the papers, made again: ``python -m benchmarks.papers.<name>`` with ``SFUMATO_DATA`` set."""
