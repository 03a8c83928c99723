"""World dimensions and the world clock."""
