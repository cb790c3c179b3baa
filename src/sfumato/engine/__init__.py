"""The verbs on rows: count, tally, recode, shuffle. One engine a place where rows can lie."""
