"""Tables on a cluster, counted by Spark."""
