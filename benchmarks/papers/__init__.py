"""Tables and figures of the papers, reproduced; each module runs on its own and writes to benchmarks/results/."""
