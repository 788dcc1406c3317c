"""Tables of any size written with a column that tells the side, and a manifest beside them."""
