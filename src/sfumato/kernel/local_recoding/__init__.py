"""Local recoding by peeling boxes, and moves that improve it."""
