"""One module a screen: each gives its routes, and only translates between forms and commands."""
