"""What a publisher hands over: tables and a public manifest."""
