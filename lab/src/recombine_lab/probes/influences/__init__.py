"""What an answer hangs on: input factors (`inputs` half) and training combinations (`teaching` half)."""
