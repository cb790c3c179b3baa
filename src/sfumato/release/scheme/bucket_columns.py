"""The columns that bucketization adds: the number of a group, and how often it holds a combination of values."""

GROUP, COUNT = "group", "count"
