"""What is handed over: tables and a public manifest."""
