"""What games look like: text, pictures, a window and a web page; loaded when first asked for."""
