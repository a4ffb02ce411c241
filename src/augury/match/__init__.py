"""What engines give and users get: matches as flat arrays, and the rows made of them."""
