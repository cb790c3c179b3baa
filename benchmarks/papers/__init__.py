"""Tables and figures of the papers, made again: each runs by itself and writes into benchmarks/results/."""
