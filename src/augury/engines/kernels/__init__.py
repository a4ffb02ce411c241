"""What engines are made of: dull loops over flat arrays, the same source compiled or not."""
