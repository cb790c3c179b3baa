"""All that leaves the house: tables and a public manifest."""
